"""`uhebo create`, `suggest` and `tell`: a study made, what to try next in it, and what came of it."""

from typing import Annotated

import typer
from optuna.study import Study
from optuna.trial import TrialState, create_trial

from uhebo.cli import options
from uhebo.cli.bounds import Bounds, best_of, leader, names_of, values_of
from uhebo.cli.files import Known, Trials, read_results, running_number
from uhebo.cli.front import front_record
from uhebo.cli.look import description
from uhebo.cli.objectives import told
from uhebo.cli.output import only_one, say, write, write_json
from uhebo.cli.records import cells, parameter_names, record, short_reason
from uhebo.cli.settings import ask, asked_for, bounds_of, kept_in, named_objectives, new_study, with_sampler
from uhebo.errors import InvalidInputError
from uhebo.optuna_.constraints import named_attributes, store_named
from uhebo.optuna_.endings import FAILURE
from uhebo.space import SearchSpace
from uhebo.storage.explain import explain, listed
from uhebo.storage.places import opened, place_of, study_at

MAX_BATCH = 1000


def create(
    file: options.StudyFile,
    space: options.SpaceFile = None,
    param: options.Params = None,
    direction: options.DirectionOption = None,
    objective: options.ObjectiveOption = None,
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


def tell(
    file: options.StudyFile,
    number: Annotated[str | None, typer.Argument(metavar="NUMBER", help="Number of a suggested trial.")] = None,
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="What was measured; NAME=NUMBER where it has a name.")
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=NUMBER]…", help="What else was measured: other objectives, constraints."),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="The trial gave no value.")] = False,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="Many results: see docs/shell.md. - is standard input.")
    ] = None,
    value_column: Annotated[
        str | None,
        typer.Option("--value-column", help="Column of the values. Default: value, or its name."),
    ] = None,
    ignore_extra: Annotated[bool, typer.Option("--ignore-extra", help="Pass over columns that are not known.")] = False,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell a value for a suggested trial, or a whole CSV of results.

    In a study with constraints what they are about follows the value: uhebo tell lab.db 3 0.82 purity=96.1.
    Objectives with names are told by name: uhebo tell lab.db 3 yield=81.2 cost=4.1.

    A CSV has the columns number and value, or the parameters and value for experiments of your own; or it is what
    uhebo history --csv printed of another study. It is checked as a whole first: one wrong row, and nothing is stored.
    Objectives with names have a column each, in place of value.

    \b
    Example:
      $ uhebo tell lab.db 3 0.82
      $ uhebo tell lab.db 4 --failed
      $ uhebo tell lab.db --csv results.csv
    """
    option = next(
        (text for text in (number, value, *(others or ())) if text is not None and text.startswith("--")), None
    )
    if option is not None:
        raise typer.BadParameter(f"no such option: {option}")
    if (csv is None) == (number is None) or (csv is None and (value is None) != failed):
        raise typer.BadParameter("give a trial number and its value, a number and --failed, or --csv FILE")
    with study_at(file, study) as loaded:
        trials = {trial.number: trial for trial in loaded.get_trials(deepcopy=False)}
        objectives, space = named_objectives(loaded), SearchSpace.of({})
        passed_over: list[int] = []
        if csv is None:
            assert number is not None
            bounds = bounds_of(loaded)
            given = None if value is None else told(objectives, bounds, [value, *(others or ())])
            values, found = given or (None, {})
            known = [Known(0, running_number(number, trials), {}, values, measured=found)]
        else:
            kept = kept_in(loaded)
            space, bounds = kept.search_space, kept.constraints
            names = list(objectives)
            known, passed_over = read_results(csv, space, trials, value_column, ignore_extra, bounds, names)
        _store(loaded, known, space, bounds, trials)
        _confirm(loaded, known, passed_over, as_json)


def _store(study: Study, known: list[Known], space: SearchSpace, bounds: Bounds, trials: Trials) -> None:
    """Every row, in order; where the storage gives up in the middle, the rows that are not in it are named."""
    done = 0
    try:
        for row in known:
            values = values_of(bounds, row.measured) if row.measured else {}
            if row.number is None:
                state = TrialState.FAIL if row.values is None else TrialState.COMPLETE
                reason = {FAILURE: short_reason(row.failure)} if row.failure else {}
                there = {name: space.distributions[name] for name in row.params}
                trial = create_trial(
                    state=state,
                    values=row.values,
                    params=row.params,
                    distributions=there,
                    user_attrs={**reason, **row.measured},
                    system_attrs=named_attributes(values),
                )
                study.add_trial(trial)
            elif row.values is None:
                study.tell(row.number, state=TrialState.FAIL)
            else:
                store_named(study, trials[row.number], values, row.measured)
                study.tell(row.number, list(row.values))
            done += 1
    except Exception as error:
        lost = listed(known[done:])
        raise InvalidInputError(f"{explain(error)}; stored {done} of {len(known)}, not stored: {lost}") from error


def _confirm(study: Study, known: list[Known], left: list[int], as_json: bool) -> None:
    finished = len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
    best = best_of(study)
    answered = sum(row.number is not None for row in known)
    if left:
        say(f"passed over {len(left)} without a result, under way then or failed without a point: line {listed(left)}")
    if as_json:
        counts = {"told": answered, "added": len(known) - answered, "passed_over": len(left)}
        objectives = named_objectives(study)
        several = len(objectives) > 1
        found = front_record(study, objectives) if several else {"best": record(best) if best else None}
        write_json({**counts, "finished": finished, **found})
    parts = [f"told {answered}"] * bool(answered) + [f"added {len(known) - answered}"] * (answered < len(known))
    say(f"{', '.join(parts)}; {finished} finished{leader(study)}")
