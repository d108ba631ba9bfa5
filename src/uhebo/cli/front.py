"""The front of several objectives: its trials, what noise and bounds have to do with them, and one to take."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from uhebo.cli.bounds import Bound, measured_in
from uhebo.cli.objectives import Objectives
from uhebo.cli.output import write_json, write_table, write_text
from uhebo.cli.records import parameter_names, record, values_in
from uhebo.cli.rows import value_of
from uhebo.cli.settings import kept_in
from uhebo.cli.spreadsheets import shown_cells, with_unit
from uhebo.cli.standing import on_bounds
from uhebo.errors import InvalidInputError
from uhebo.optuna_.fronts import front_trials, given_reference, hypervolumes, oriented, reference_point, signs_of
from uhebo.optuna_.replicates import measured_again
from uhebo.pareto_result import ParetoResult, Pick
from uhebo.storage.explain import plus_minus

if TYPE_CHECKING:  # it is imported where it is needed: that takes a while
    from uhebo.diagnosis.expected import Opinions


def front_record(study: Study, objectives: Objectives) -> dict[str, Any]:
    """The front for JSON: its trials, the hypervolume and the point it is measured from, trade-offs in words."""
    volumes, reference = hypervolumes(study), reference_point(study)
    return {
        "front": [record(trial, list(objectives)) for trial in front_trials(study)],
        "hypervolume": float(volumes[-1]) if len(volumes) else 0.0,
        "reference_point": None if reference is None else dict(zip(objectives, reference.tolist(), strict=True)),
        "trade_offs": _trade_offs(study),
    }


def write_front(
    study: Study, objectives: Objectives, as_json: bool, about: Mapping[str, Any], named: str = "STUDY"
) -> None:
    """One row per trial of the front, in order of the first objective, the best first; then what it costs to move, and
    what to know of these trials. `named` is what the shell calls the study."""
    opinions = _opinions(study)
    if as_json:
        expected = [] if opinions is None else [vars(each) for each in opinions.front()]
        lucky = [] if opinions is None else opinions.lucky()
        found = {**front_record(study, objectives), "recommended": expected, "lucky": lucky}
        write_json({**about, "objectives": objectives, **found})
        return
    trials, units = _in_order(study), kept_in(study).units
    names = parameter_names(trials)
    others = list(dict.fromkeys(name for trial in trials for name in measured_in(trial)))
    rows = [
        [
            trial.number,
            *values_in(trial, list(objectives)).values(),
            *(measured_in(trial).get(name) for name in others),
            *shown_cells(trial, names),
        ]
        for trial in trials
    ]
    titles = [f"{with_unit(name, units)} ({direction})" for name, direction in objectives.items()]
    write_table(["trial", *titles, *(with_unit(name, units) for name in (*others, *names))], rows)
    said = [*_trade_offs(study), *_repeats(study, trials, objectives), *_not_beyond(study, trials, objectives)]
    for sentence in [*said, *([] if opinions is None else opinions.lucky_in_words())]:
        write_text(sentence)
    for sentence, command in _at_bounds(study, trials, named):
        write_text(sentence)
        write_text(f"  $ {command}")


def picked(study: Study, weights: Sequence[str], within: Sequence[str], by: Any) -> Pick:
    """One point of the front: `NAME=NUMBER` of weights, and `NAME <= NUMBER` of what is acceptable."""
    shares = {}
    for text in weights:
        name, equals, value = (part.strip() for part in text.rpartition("="))
        if not equals:
            raise InvalidInputError(f"--weight is {text!r}; expected NAME=NUMBER, such as yield=2")
        shares[name] = value_of(value, f"the weight of {name}")
    limits: dict[str, tuple[float | None, float | None]] = {}
    for text in within:
        bound = Bound.parse(text, called="--within")
        low, high = limits.get(bound.name, (None, None))
        limits[bound.name] = (low, bound.bound) if bound.sense == "<=" else (bound.bound, high)
    return ParetoResult(study).pick(shares or None, within=limits or None, by=by)


def write_pick(study: Study, found: Pick, as_json: bool, about: Mapping[str, Any]) -> None:
    """The point with what was measured and what is expected there."""
    if as_json:
        write_json({**about, **vars(found)})
        return
    units = kept_in(study).units
    trial = study.get_trials(deepcopy=False)[found.number]
    numbers = ", ".join(map(str, found.numbers))
    rows: list[tuple[str, Any]] = [("trials" if len(found.numbers) > 1 else "trial", numbers)]
    for name, value in found.values.items():
        mean, low, high = found.predicted[name]
        rows.append((with_unit(name, units), value))
        rows.append(("expected there, second opinion", f"{mean:.4g} (90 %: {low:.4g} to {high:.4g})"))
        rows.append(("expected there, model", plus_minus(*found.by_model[name])))
    rows += [(with_unit(name, units), value) for name, value in measured_in(trial).items()]
    names = list(found.params)
    rows += zip((with_unit(name, units) for name in names), shown_cells(trial, names), strict=True)
    write_table(["of the front", "measured" if len(found.numbers) < 2 else "mean of what was measured"], rows)


def _in_order(study: Study) -> list[FrozenTrial]:
    trials = front_trials(study)
    order = oriented(study, trials)[:, 0].argsort(kind="stable")[::-1]
    return [trials[int(i)] for i in order]


def _trade_offs(study: Study) -> list[str]:
    from uhebo.diagnosis.tradeoffs import in_words  # where it is needed: importing it takes a while

    return in_words(study)


def _opinions(study: Study) -> "Opinions | None":
    from uhebo.diagnosis.expected import opinions_if_any

    return opinions_if_any(study)


def _repeats(study: Study, trials: Sequence[FrozenTrial], objectives: Objectives) -> list[str]:
    """Points of the front that were measured more than once: the best reading alone is on it."""
    said: dict[tuple[int, ...], str] = {}
    for trial in trials:
        again = measured_again(study, trial)
        numbers = tuple(each.number for each in again)
        if len(again) > 1 and numbers not in said:
            means = []
            for index, name in enumerate(objectives):
                told = [each.values[index] for each in again]
                error = stdev(told) / len(told) ** 0.5
                means.append(f"{name} {plus_minus(fmean(told), error) if error else f'{told[0]:.6g}'}")
            listed = f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
            said[numbers] = f"Trials {listed} measured the same point, on average {', '.join(means)}."
    return list(said.values())


def _not_beyond(study: Study, trials: Sequence[FrozenTrial], objectives: Objectives) -> list[str]:
    """Trials that are not better than the reference point in every objective: they were said not to be worth having."""
    given = given_reference(study)
    if given is None:
        return []
    beyond = (oriented(study, trials) > signs_of(study) * np.array(given)).all(axis=1)
    left = [trial.number for trial, counts in zip(trials, beyond.tolist(), strict=True) if not counts]
    at = ", ".join(f"{name} {value:g}" for name, value in zip(objectives, given, strict=True))
    if not left:
        return []
    numbers = f"trial{'s' * (len(left) > 1)} {', '.join(map(str, left))}"
    return [f"Not better than the reference point ({at}) in every objective: {numbers}."]


def _at_bounds(study: Study, trials: Sequence[FrozenTrial], named: str) -> list[tuple[str, str]]:
    """Bounds of ranges on which trials of the front are, with the command that moves them."""
    found = {each: None for trial in trials for each in on_bounds(study, trial, None)}
    return [(f"On the front, {each}:", each.command(named)) for each in found]
