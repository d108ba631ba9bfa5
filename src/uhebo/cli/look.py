"""Commands that look and change nothing: status, diagnose, methods."""

import json
import shlex
from collections import Counter
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from optuna.distributions import distribution_to_json
from optuna.study import Study
from optuna.trial import TrialState

from uhebo.cli import options
from uhebo.cli.calls import shell_name
from uhebo.cli.output import say, write, write_json, write_table, write_text
from uhebo.cli.records import cells, counted, expected, origin_of, parameter_names, waiting_trials
from uhebo.cli.settings import kept_in, named_objectives
from uhebo.cli.space_file import Kept
from uhebo.cli.spreadsheets import rounded, with_unit
from uhebo.errors import InvalidInputError
from uhebo.methods import METHODS, Strategy
from uhebo.optuna_ import fronts
from uhebo.optuna_.constraints import constraints_of, is_feasible
from uhebo.optuna_.lease import Lease, progress
from uhebo.storage.places import Place, place_of, study_at

if TYPE_CHECKING:  # it is imported where it is needed: that takes a while
    from uhebo.diagnosis import Diagnosis

MOST_WAITING = 100
"""Waiting experiments that are listed."""
VERDICT_STYLES = {"trust": "bold green", "caution": "bold yellow", "do not trust": "bold red"}


def status(file: options.StudyFile, study: options.StudyName = None, as_json: options.AsJson = False) -> None:
    """Show parameters, settings, trials, which of them wait for a value, and who works on the study.

    Where workers do, also how long that will take.

    \b
    Example:
      $ uhebo status lab.db
    """
    with study_at(file, study) as loaded:
        shown = description(loaded, place_of(file))
        if as_json:
            write_json(shown)
            return
        rows = {key: str(value) for key, value in shown["settings"].items()}
        if "reference_point" in rows:
            named = zip(shown["objectives"], shown["settings"]["reference_point"], strict=True)
            rows["reference_point"] = ", ".join(f"{name} {value:g}" for name, value in named)
        rows["trials"] = ", ".join(f"{count} {state}" for state, count in shown["trials"].items()) or "none yet"
        if shown["origins"]:
            rows["finished, by origin"] = ", ".join(f"{count} {origin}" for origin, count in shown["origins"].items())
        if shown["constraints"]:
            rows["constraints"] = ", ".join(shown["constraints"])
        if shown["feasible"] is not None:
            rows["feasible"] = f"{shown['feasible']} of {shown['trials'].get('finished', 0)} finished"
        if "front" in shown:
            rows["front"] = f"{shown['front']} trial{'s' * (shown['front'] != 1)}"
        if shown["workers"]:
            silent = max(worker["heard_s"] for worker in shown["workers"])
            names = {worker["worker"] for worker in shown["workers"]}
            rows["workers"] = f"{len(names)} (the most silent one was heard {silent:.0f} s ago)"
        if shown["rate_per_minute"] is not None:
            rows["rate"] = rate_in_words(shown["rate_per_minute"])
        if shown["left_s"]:
            rows["time left"] = duration(shown["left_s"])
        goal = "objectives" if named_objectives(loaded) else "direction"
        wanted = ", ".join(f"{way} {name}" for name, way in shown["objectives"].items())
        says = wanted if goal == "objectives" else shown["direction"]
        write_table(("", ""), [("study", shown["study"]), (goal, says), *rows.items()])
        kept = kept_in(loaded)
        notes = {name: f" {unit}" for name, unit in kept.units.items()}
        notes |= {n: f"{notes.get(n, '')}, by its logarithm" for n, d in kept.space.items() if getattr(d, "log", False)}
        notes |= {name: f"{notes.get(name, '')}, where {condition}" for name, condition in kept.when.items()}
        write_table(("parameter", "values"), [(n, expected(d) + notes.get(n, "")) for n, d in kept.space.items()])
        _write_waiting(loaded, kept)


def _write_waiting(study: Study, kept: Kept) -> None:
    """The experiments that were asked for and not told yet, with their settings."""
    trials = waiting_trials(study)
    if not trials:
        return
    names = parameter_names(trials, kept.space)
    rows = []
    for trial in trials[:MOST_WAITING]:
        short = zip(cells(trial, names), (kept.space.get(name) for name in names), strict=True)
        rows.append([trial.number, *(rounded(*cell) for cell in short), origin_of(trial)])
    write_table(["waiting for a value", *(with_unit(name, kept.units) for name in names), "origin"], rows)
    if len(trials) > MOST_WAITING:
        say(f"and {len(trials) - MOST_WAITING} more: uhebo history shows them")


def rate_in_words(per_minute: float, short: bool = False) -> str:
    """Trials per minute, hour or day: whichever gives a number of 1 or more. In short 46/min."""
    rates = (("minute", "min", 1), ("hour", "h", 60), ("day", "d", 1440))
    unit, sign, minutes = next((rate for rate in rates if per_minute * rate[2] >= 1.0), rates[-1])
    count = f"{float(f'{per_minute * minutes:.2g}'):g}"
    return f"{count}/{sign}" if short else f"{count} trials per {unit}"


def duration(seconds: float) -> str:
    """So long, roughly."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {seconds:.0f} s"


def description(study: Study, place: Place) -> dict[str, Any]:
    """A study for JSON."""
    kept = kept_in(study)
    trials = study.get_trials(deepcopy=False)
    at_work = progress(trials, kept.settings.get("n_trials"))
    by_program = any(Lease.of(trial) is not None for trial in trials)  # people have no rate
    finished = [trial for trial in trials if trial.state == TrialState.COMPLETE and constraints_of(trial)]
    return {
        "study": study.study_name,
        "storage": place.shown,
        **({"direction": study.direction.name.lower()} if len(study.directions) == 1 else {}),
        "objectives": fronts.objectives_of(study),
        "settings": kept.settings,
        "parameters": {
            name: {"type": type(d).__name__.removesuffix("Distribution").lower()}
            | json.loads(distribution_to_json(d))["attributes"]
            | ({"when": kept.when[name]} if name in kept.when else {})
            for name, d in kept.space.items()
        },
        "constraints": [str(bound) for bound in kept.constraints],
        "feasible": sum(map(is_feasible, finished)) if finished else None,
        **({"front": len(fronts.front_trials(study))} if len(study.directions) > 1 else {}),
        "trials": counted(trials),
        "origins": dict(Counter(origin_of(trial) for trial in trials if trial.state == TrialState.COMPLETE)),
        "workers": [asdict(each) for each in at_work.busy],
        "waiting": [{"number": trial.number, "params": trial.params} for trial in waiting_trials(study)],
        "rate_per_minute": 60 * at_work.rate if by_program and at_work.rate is not None else None,
        "left_s": at_work.left_s if by_program else None,
    }


def diagnose(
    file: options.StudyFile,
    objective: Annotated[
        str | None, typer.Option("--objective", metavar="NAME", help="Only this one, where there are several.")
    ] = None,
    every_figure: Annotated[bool, typer.Option("--all", help="Every figure behind the verdict too.")] = False,
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Say whether the model behind the suggestions can be trusted, why, and what to do next.

    With it come the parameters that matter most. With several objectives each has a model of its own, and a verdict of
    its own.

    \b
    Example:
      $ uhebo diagnose lab.db
      $ uhebo diagnose lab.db --all
    """
    from uhebo.diagnosis import diagnose as examine
    from uhebo.diagnosis import diagnose_each

    named = shell_name(file, study)
    with study_at(file, study) as loaded:
        there = fronts.objectives_of(loaded)
        if objective is not None and objective not in there:
            raise InvalidInputError(f"there is no objective {objective!r}; the study has {', '.join(there)}")
        if len(there) == 1 or objective is not None:
            found = examine(loaded, objective=list(there).index(objective) if objective is not None else None)
            told_as = objective if len(there) > 1 else None
            if as_json:
                write_json(_as_record(found, named, told_as))
                return
            _write_verdict(found, named, told_as)
            if every_figure:
                _write_sections(found)
            else:
                which = f" --objective {shlex.quote(objective)}" if objective is not None else ""
                write_text(f"Every figure: uhebo diagnose {named}{which} --all; pictures: uhebo report {named}")
            return
        each = diagnose_each(loaded)
        if as_json:
            write_json({name: _as_record(found, named, name) for name, found in each.items()})
            return
        for name, found in each.items():
            write_text(f"{name} ({there[name]})", "bold underline")
            _write_verdict(found, named, name)
            if every_figure:
                _write_sections(found)
        if not every_figure:
            write_text(f"Every figure: uhebo diagnose {named} --all; pictures: uhebo report {named}")


def _write_sections(found: "Diagnosis") -> None:
    for section in found.sections():
        write_text(section.title, "bold")
        write_text(section.sentence)
        if section.rows:
            write_table(section.columns, section.rows)
        write_text("")


def _as_record(found: "Diagnosis", named: str, objective: str | None) -> dict[str, Any]:
    """A verdict for JSON, with the commands that follow from it."""
    right = found.confirmations(named, objective)
    return {**found.to_dict(), "commands": found.commands(named, objective)} | ({"if_right": right} if right else {})


def _write_verdict(found: "Diagnosis", named: str, objective: str | None) -> None:
    from uhebo.diagnosis.sections import what_matters

    write_text(f"Verdict: {found.verdict} ({found.kind})", VERDICT_STYLES.get(found.verdict, "bold"))
    write_text(found.headline)
    for reason in found.reasons:
        write_text(f"  • {reason}")
    write_text(f"Next: {found.next_action}")
    for command in found.commands(named, objective):
        write_text(f"  $ {command}")
    right = found.confirmations(named, objective)
    if right:
        write_text("If the value is right as it is:" if len(right) == 1 else "Of a value that is right as it is:")
    for command in right:
        write_text(f"  $ {command}")
    for line in what_matters(found.importance):
        write_text(line)
    write_text("")


def methods(as_json: options.AsJson = False) -> None:
    """List the methods that suggest points.

    \b
    Example:
      $ uhebo methods
    """
    found = {name: _sentence(method.propose) for name, method in METHODS.items()}
    write(found, ("method", "what it does"), list(found.items()), as_json)


def _sentence(strategy: Strategy) -> str:
    """The first line of the function's docstring, with the estimator where one function serves several methods."""
    function: Any = strategy.func if isinstance(strategy, partial) else strategy
    first = (function.__doc__ or "").strip().partition("\n")[0]
    estimator = strategy.keywords.get("estimator") if isinstance(strategy, partial) else None
    return f"{first} (hyperparameters: {estimator})" if estimator else first
