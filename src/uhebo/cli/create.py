"""`uhebo create`: a study made, and what was understood of it."""

from typing import Annotated

import typer

from uhebo.cli import options
from uhebo.cli.look import description
from uhebo.cli.output import say, write_json, write_table
from uhebo.cli.settings import asked_for, new_study
from uhebo.cli.space_file import SPACE_COLUMNS, space_rows
from uhebo.storage.places import opened, place_of


def create(
    file: options.StudyFile,
    space: options.SpaceFile = None,
    param: options.Params = None,
    direction: options.DirectionOption = None,
    objective: options.ObjectiveOption = None,
    reference: options.ReferenceOption = None,
    method: options.Method = None,
    seed: options.Seed = None,
    n_trials: Annotated[int | None, typer.Option("--trials", metavar="N", help="How many are planned.")] = None,
    n_startup_trials: options.Startup = None,
    acquisition: options.Acquisition = None,
    deterministic: options.Deterministic = None,
    constraint: options.Constraints = None,
    subject_to: options.SubjectTo = None,
    when_exhausted: options.WhenExhausted = None,
    unit: options.Units = None,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Make a study in a file. Its parameters and settings are kept in it.

    \b
    Example:
      $ uhebo create lab.db --space space.toml --direction maximize
      $ uhebo create lab.db --param dose=1:9 --param gas=cat:argon,neon --constraint 'purity >= 95'

    * may be given several times; docs/shell.md says more of each.
    """
    wanted = asked_for(locals())
    place = place_of(file)
    with opened(place, create=True) as storage:
        made = new_study(storage, place, study, wanted)
        if as_json:
            write_json(description(made, place))
        else:
            write_table(SPACE_COLUMNS, space_rows(wanted))
        count = len(wanted.space)
        goal = ", ".join(f"{way} {name}" for name, way in wanted.objectives.items()) or made.direction.name.lower()
        say(
            f"made study {made.study_name!r} in {place.shown}: {count} parameter{'s' * (count != 1)}, "
            f"{''.join(f'{bound}, ' for bound in wanted.constraints)}"
            f"{goal}; next: uhebo suggest {place.shown}"
        )
