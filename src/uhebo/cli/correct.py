"""`uhebo amend`, `drop`, `restore`, `skip` and `log`: what was told, corrected; numbers never change."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from optuna.study import Study
from optuna.trial import FrozenTrial

from uhebo.cli import extending, options
from uhebo.cli.bounds import Bounds, leader, measured, measured_in, names_of, values_of
from uhebo.cli.output import say, write, write_json
from uhebo.cli.outside import say_outside
from uhebo.cli.records import numbered, parsed, shown_state, whole
from uhebo.cli.rows import refuse_spaces, with_error
from uhebo.cli.settings import bounds_of
from uhebo.cli.suspicion import warn_of_suspicious
from uhebo.errors import InvalidInputError
from uhebo.optuna_ import changes
from uhebo.optuna_.corrections import Change, trials_of
from uhebo.optuna_.fronts import objective_names
from uhebo.storage.explain import listed
from uhebo.storage.places import study_at

SPAN = re.compile(r"\+?(\d+)(?:\s*[-\N{EN DASH}]\s*(\d+))?")
"""Numbers of trials: 17, or 20-25."""
Number = Annotated[str, typer.Argument(metavar="NUMBER", help="Number of the trial.")]
Numbers = Annotated[list[str], typer.Argument(metavar="NUMBER…", help="Numbers of trials: 17, or 17 20-25.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept with the change.")]


def amend(
    file: options.StudyFile,
    number: Number,
    given: Annotated[
        list[str] | None,
        typer.Argument(metavar="[VALUE] [NAME=VALUE]…", help="What is right, by name if not the value."),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="It gave no value in truth.")] = False,
    reason: Reason = "",
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Correct a trial that has ended: its value, what else was measured, where it was made.

    Suggestions from now on are as if it had been right from the start. A trial that was told as failed or skipped, and
    has a value after all, is finished from now on. The value that it has already is confirmed, and nobody is warned of
    it any more. `uhebo log` shows every change, `uhebo restore` takes it back.

    \b
    Example:
      $ uhebo amend lab.db 0 0.41 --reason "typo: was 4.1"
      $ uhebo amend lab.db 0 depth=4
    """
    texts = [text for text in given or () if not text.startswith("--")]
    if len(texts) < len(given or ()):
        raise typer.BadParameter(f"no such option: {next(text for text in given or () if text.startswith('--'))}")
    with study_at(file, study) as loaded:
        trial = _trial(loaded, number)
        found = _amendment(loaded, trial, texts)
        made = changes.amend(loaded, trial.number, failed=failed, reason=reason, **found)
        _confirm(loaded, [made], made.text, as_json)
        warn_of_suspicious(loaded, file, study)


def drop(
    file: options.StudyFile,
    numbers: Numbers,
    reason: Reason = "",
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Leave a trial out, as if it had never been tried.

    Its value is no data, and suggestions may go to its place again. `uhebo restore` takes it back. Of several trials
    all are dropped or none.

    \b
    Example:
      $ uhebo drop lab.db 0 --reason "wrong bottle"
    """
    with study_at(file, study) as loaded:
        made = _made(loaded, "drop", numbers, reason)
        back = f"uhebo restore {file} {' '.join(numbers)} takes {'it' if len(made) == 1 else 'them'} back"
        _confirm(loaded, made, f"dropped; {back}", as_json)


def restore(
    file: options.StudyFile,
    numbers: Annotated[
        list[str], typer.Argument(metavar="NUMBER…", help="Numbers of trials: 17, or 17 20-25. Or a parameter's name.")
    ],
    reason: Reason = "",
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Take back the latest change of a trial: amend, drop or skip; again, the one before.

    A trial that was skipped while it waited for its value waits again. With the name of a parameter the latest `uhebo
    extend` of it is taken back, where no value of a trial is lost by that.

    \b
    Example:
      $ uhebo drop lab.db 0
      $ uhebo restore lab.db 0
    """
    with study_at(file, study) as loaded:
        if len(numbers) == 1 and not SPAN.fullmatch(numbers[0].strip()):
            back = changes.restore(loaded, numbers[0].strip(), reason)
            shown_back = extending.shown(back)
            write([shown_back], ("what", "was", "is"), [(back.name, extending.was(back), extending.now(back))], as_json)
            say_outside(loaded)
            return
        made = _made(loaded, "restore", numbers, reason)
        mine = {each.trial for each in made}
        waits = any(trial.number in mine and not trial.state.is_finished() for trial in trials_of(loaded))
        said = f", and wait{'s' * (len(made) == 1)} for {'its' if len(made) == 1 else 'their'} value again"
        _confirm(loaded, made, "restored" + said * waits, as_json)


def skip(
    file: options.StudyFile,
    numbers: Numbers,
    reason: Reason = "",
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Say that a trial was never run; unlike a failed one, it repels nothing.

    For experiments that were suggested and not made: an empty bottle, no time. One told as failed by mistake, too. Of
    several trials all are skipped or none.

    \b
    Example:
      $ uhebo skip lab.db 4 --reason "the bottle was empty"
    """
    with study_at(file, study) as loaded:
        _confirm(loaded, _made(loaded, "skip", numbers, reason), "skipped", as_json)


def _made(study: Study, what: str, texts: Sequence[str], reason: str) -> list[Change]:
    """One change of each of these trials, once all of them are known to be possible."""
    there = study.get_trials(deepcopy=False)
    numbers = [number for text in texts for number in _span(text, there)]
    twice = next((number for number in numbers if numbers.count(number) > 1), None)
    if twice is not None:
        raise InvalidInputError(f"trial {twice} is given twice; drop one")
    skipped = {trial.number for trial in there if shown_state(trial) == "skipped"}
    for number in numbers:
        changes.check_change(study, what, number)
        if what == "skip" and number in skipped:
            raise InvalidInputError(f"trial {number} was skipped already")
    do = {"drop": changes.drop, "skip": changes.skip, "restore": changes.restore}[what]
    return [made for number in numbers if isinstance(made := do(study, number, reason), Change)]


def _span(text: str, trials: Sequence[FrozenTrial]) -> range:
    """The numbers that 17 or 20-25 stands for."""
    found = SPAN.fullmatch(text.strip())
    if found is None:
        raise InvalidInputError(f"the trial number is {text!r}, expected a whole number such as 3, or several: 20-25")
    first, last = int(found[1]), int(found[2] or found[1])
    if not first <= last < len(trials):
        wrong = last if first <= last else None
        said = f"there is no trial {wrong}" if wrong is not None else f"{text} is no span: {first} comes after {last}"
        raise InvalidInputError(f"{said}; the study has 0 to {len(trials) - 1}")
    return range(first, last + 1)


def log(file: options.StudyFile, study: options.StudyName = None, as_json: options.AsJson = False) -> None:
    """Show every change of trials and of the space: when, what it was before, and why.

    \b
    Example:
      $ uhebo log lab.db
    """
    with study_at(file, study) as loaded:
        rows: list[tuple[tuple[str, ...], dict[str, Any]]] = [
            ((_moment(each.time), str(each.trial), each.what, _was(each), _now(each), each.reason), shown(each))
            for each in changes.changes(loaded)
        ]
        rows += [
            (
                (_moment(e.time), e.name, extending.shown(e)["what"], extending.was(e), extending.now(e), e.reason),
                extending.shown(e),
            )
            for e in changes.extensions(loaded)
        ]
        rows.sort(key=lambda row: row[0][0])
        columns = ("time (UTC)", "trial or name", "change", "was", "is", "reason")
        write([record for _, record in rows], columns, [cells for cells, _ in rows], as_json)
        if not rows:
            say("nothing has been changed")


def _moment(time: str) -> str:
    return time.partition("+")[0].replace("T", " ")


def shown(change: Change) -> dict[str, Any]:
    """A change for JSON."""
    return {name: value for name, value in asdict(change).items() if name != "trials" and (value or name == "trial")}


def _was(change: Change) -> str:
    return ", ".join(f"{name} {value}" for name, value in change.was.items())


def _now(change: Change) -> str:
    return ", ".join(f"{name} {value}" for name, value in change.now.items())


def _trial(study: Study, text: str) -> FrozenTrial:
    try:
        number = whole(text)
    except (ValueError, OverflowError):
        raise InvalidInputError(f"the trial number is {text!r}, expected a whole number such as 3") from None
    by_number = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
    if number not in by_number:
        raise InvalidInputError(f"there is no trial {number}; the study has 0 to {len(by_number) - 1}")
    return by_number[number]


def _amendment(study: Study, trial: FrozenTrial, texts: Sequence[str]) -> dict[str, Any]:
    """The arguments of `changes.amend` that the words on the command line stand for."""
    refuse_spaces(texts)
    bounds = bounds_of(study)
    objectives = objective_names(study)
    notes = {name for each in study.get_trials(deepcopy=False) for name in each.user_attrs if ":" not in name}
    notes = (notes | {"note"}) - set(names_of(bounds))
    found: dict[str, dict[str, Any]] = {"value": {}, "params": {}, "measured": {}, "attributes": {}}
    noise: dict[str, float | None] = {}
    part: str
    value: Any
    for text in texts:
        name, equals, right = (part.strip() for part in text.partition("="))
        if not equals:
            if len(study.directions) > 1:
                raise InvalidInputError(f"{text!r} is of one objective; name it: {objectives[0]}={text}")
            name, right = objectives[0], text
        if name in objectives:
            part, (value, error) = "value", with_error(right, name)
            noise |= {} if error is None else {name: error}
        elif name in trial.distributions:
            part, value = "params", parsed(name, right, trial.distributions[name])
        elif name in names_of(bounds):
            part, value = "measured", right
        elif name in notes:
            part, value = "attributes", right
        else:
            known = [*objectives, *names_of(bounds), *trial.distributions, *sorted(notes)]
            raise InvalidInputError(f"there is nothing called {name!r} in trial {trial.number}; it has {listed(known)}")
        if name in found[part]:
            raise InvalidInputError(f"{name} is given twice; drop one")
        found[part][name] = value
    limits = _limits(bounds, trial, found["measured"], bool(found["value"]))
    values = found["value"]
    single = next(iter(values.values()), None) if len(study.directions) == 1 else values or None
    attributes = {**limits, **found["attributes"]}
    return {
        "value": single,
        "noise": noise or None,
        "params": found["params"],
        "constraints": values_of(bounds, limits) if limits else {},
        "attributes": {name: attributes[name] for name in attributes if trial.user_attrs.get(name) != attributes[name]},
    }


def _limits(bounds: Bounds, trial: FrozenTrial, given: dict[str, Any], with_value: bool) -> dict[str, float]:
    """Every quantity that a constraint is about, of those not given what the trial has; empty where none is needed."""
    had = measured_in(trial)
    needed = bool(given) or (with_value and any(name not in had for name in names_of(bounds)))
    return measured(bounds, {**had, **given}) if bounds and needed else {}


def _confirm(study: Study, made: Sequence[Change], said: str, as_json: bool) -> None:
    """What was done; as JSON one change, or a list of several."""
    if as_json:
        write_json(shown(made[0]) if len(made) == 1 else [shown(each) for each in made])
    say(f"{numbered([each.trial for each in made])}: {said}{leader(study)}")
