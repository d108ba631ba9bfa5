"""`uhebo amend`, `drop`, `restore`, `skip` and `log`: what was told, corrected; numbers never change."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from optuna.study import Study
from optuna.trial import FrozenTrial

from uhebo.cli import extending, options
from uhebo.cli.bounds import Bounds, leader, measured, measured_in, names_of, values_of
from uhebo.cli.output import say, write, write_json
from uhebo.cli.records import parsed, whole
from uhebo.cli.rows import with_error
from uhebo.cli.settings import bounds_of
from uhebo.cli.suspicion import warn_of_suspicious
from uhebo.errors import InvalidInputError
from uhebo.optuna_ import changes
from uhebo.optuna_.corrections import Change, trials_of
from uhebo.optuna_.fronts import objective_names
from uhebo.storage.explain import listed
from uhebo.storage.places import study_at

Number = Annotated[str, typer.Argument(metavar="NUMBER", help="Number of the trial.")]
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
        _confirm(loaded, made, made.text, as_json)
        warn_of_suspicious(loaded, file, study)


def drop(
    file: options.StudyFile,
    number: Number,
    reason: Reason = "",
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Leave a trial out, as if it had never been tried.

    Its value is no data, and suggestions may go to its place again. `uhebo restore` takes it back.

    \b
    Example:
      $ uhebo drop lab.db 0 --reason "wrong bottle"
    """
    with study_at(file, study) as loaded:
        made = changes.drop(loaded, _trial(loaded, number).number, reason)
        _confirm(loaded, made, f"dropped; uhebo restore {file} {made.trial} takes it back", as_json)


def restore(
    file: options.StudyFile,
    number: Number,
    reason: Reason = "",
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Take back the latest change of a trial: amend, drop or skip; again, the one before.

    A trial that was skipped while it waited for its value waits again.

    \b
    Example:
      $ uhebo drop lab.db 0
      $ uhebo restore lab.db 0
    """
    with study_at(file, study) as loaded:
        made = changes.restore(loaded, _trial(loaded, number).number, reason)
        waits = any(trial.number == made.trial and not trial.state.is_finished() for trial in trials_of(loaded))
        _confirm(loaded, made, "restored" + ", and waits for its value again" * waits, as_json)


def skip(
    file: options.StudyFile,
    number: Number,
    reason: Reason = "",
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Say that a trial was never run; unlike a failed one, it repels nothing.

    For an experiment that was suggested and not made: an empty bottle, no time. One told as failed by mistake, too.

    \b
    Example:
      $ uhebo skip lab.db 4 --reason "the bottle was empty"
    """
    with study_at(file, study) as loaded:
        made = changes.skip(loaded, _trial(loaded, number).number, reason)
        if made is None:
            raise InvalidInputError(f"trial {number} was skipped already")
        _confirm(loaded, made, "skipped", as_json)


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
            ((_moment(e.time), e.name, "extend", extending.was(e), extending.now(e), e.reason), extending.shown(e))
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


def _confirm(study: Study, change: Change, said: str, as_json: bool) -> None:
    if as_json:
        write_json(shown(change))
    say(f"trial {change.trial}: {said}{leader(study)}")
