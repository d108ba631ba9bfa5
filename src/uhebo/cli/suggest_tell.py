"""`uhebo create` and `suggest`: a study made, and what to try next in it."""

from typing import Annotated

import typer

from uhebo.cli import options
from uhebo.cli.bounds import names_of
from uhebo.cli.look import description
from uhebo.cli.output import only_one, say, write, write_json, write_table
from uhebo.cli.records import cells, parameter_names
from uhebo.cli.settings import ask, asked_for, new_study, with_sampler
from uhebo.cli.space_file import SPACE_COLUMNS, space_rows
from uhebo.errors import InvalidInputError
from uhebo.storage.places import opened, place_of, study_at

MAX_BATCH = 1000


def create(
    file: options.StudyFile,
    space: options.SpaceFile = None,
    param: options.Params = None,
    direction: options.DirectionOption = None,
    objective: options.ObjectiveOption = None,
    reference: options.ReferenceOption = None,
    method: options.Method = None,
    seed: options.Seed = None,
    n_trials: Annotated[int | None, typer.Option("--trials", help="How many trials are planned, if known.")] = None,
    n_startup_trials: options.Startup = None,
    acquisition: options.Acquisition = None,
    deterministic: options.Deterministic = None,
    constraint: options.Constraints = None,
    subject_to: options.SubjectTo = None,
    when_exhausted: options.WhenExhausted = None,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Make a study in a file. Its parameters and settings are kept in it.

    \b
    Example:
      $ uhebo create lab.db --space space.toml --direction maximize
      $ uhebo create lab.db --param lr=float:1e-5:0.1:log --param depth=int:2:12
      $ uhebo create lab.db --param dose=1:9 --constraint 'purity >= 95'
      $ uhebo create lab.db --param a=0.0:1.0 --param b=0.0:1.0 --subject-to 'a + b <= 1'
      $ uhebo create lab.db --param dose=1:9 --objective yield:maximize --objective cost:minimize
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


def suggest(
    file: options.StudyFile,
    count: Annotated[int, typer.Option("-n", "--count", help="How many, to be tried at the same time.")] = 1,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
    as_csv: options.AsCsv = False,
) -> None:
    """Suggest what to try next; each suggestion is a trial that waits for its value.

    The CSV has an empty column `value`, or one for each objective, and one for what each constraint is about: fill them
    in and give the file to `uhebo tell`.

    \b
    Example:
      $ uhebo suggest lab.db -n 4
      $ uhebo suggest lab.db -n 4 --csv
    """
    only_one(as_json, as_csv)
    if not 1 <= count <= MAX_BATCH:
        raise InvalidInputError(f"-n is {count}; expected 1 to {MAX_BATCH}")
    with study_at(file, study) as loaded:
        kept = with_sampler(loaded)
        made: list[int] = []
        try:
            made.extend(ask(loaded, kept).number for _ in range(count))
        finally:  # what was suggested before a failure is in the study, and so is shown
            if made:
                trials = [trial for trial in loaded.get_trials(deepcopy=False) if trial.number in made]
                names = parameter_names(trials, kept.space)
                found = [{"number": trial.number, "params": trial.params} for trial in trials]
                empty = [*(kept.objectives or ("value",)), *names_of(kept.constraints)] if as_csv else []
                rows = [[trial.number, *cells(trial, names), *[""] * len(empty)] for trial in trials]
                write(found, ["number", *names, *empty], rows, as_json, as_csv)
        if not (as_json or as_csv):
            others = "".join(f" {name}=NUMBER" for name in (*kept.objectives, *names_of(kept.constraints)))
            value = "" if kept.objectives else " VALUE"
            say(f"when a value is known: uhebo tell {file} {made[0]}{value}{others}")
