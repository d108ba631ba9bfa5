"""The front of a study with several objectives, as `best`, `tell` and `optimize` show it."""

from collections.abc import Mapping
from typing import Any

from optuna.study import Study

from uhebo.cli.bounds import measured_in
from uhebo.cli.objectives import Objectives
from uhebo.cli.output import write_json, write_table, write_text
from uhebo.cli.records import cells, parameter_names, record, values_in
from uhebo.optuna_.fronts import front_trials, hypervolumes, oriented, reference_point


def front_record(study: Study, objectives: Objectives) -> dict[str, Any]:
    """The front for JSON: its trials, the hypervolume and the point it is measured from, trade-offs in words."""
    volumes, reference = hypervolumes(study), reference_point(study)
    return {
        "front": [record(trial, list(objectives)) for trial in front_trials(study)],
        "hypervolume": float(volumes[-1]) if len(volumes) else 0.0,
        "reference_point": None if reference is None else dict(zip(objectives, reference.tolist(), strict=True)),
        "trade_offs": _trade_offs(study),
    }


def write_front(study: Study, objectives: Objectives, as_json: bool, about: Mapping[str, Any]) -> None:
    """One row per trial of the front, in order of the first objective, the best first; then what it costs to move."""
    if as_json:
        write_json({**about, "objectives": objectives, **front_record(study, objectives)})
        return
    trials = front_trials(study)
    order = oriented(study, trials)[:, 0].argsort(kind="stable")[::-1]
    trials = [trials[int(i)] for i in order]
    names = parameter_names(trials)
    others = list(dict.fromkeys(name for trial in trials for name in measured_in(trial)))
    rows = [
        [
            trial.number,
            *values_in(trial, list(objectives)).values(),
            *(measured_in(trial).get(name) for name in others),
            *cells(trial, names),
        ]
        for trial in trials
    ]
    titles = [f"{name} ({direction})" for name, direction in objectives.items()]
    write_table(["trial", *titles, *others, *names], rows)
    for sentence in _trade_offs(study):
        write_text(sentence)


def _trade_offs(study: Study) -> list[str]:
    from uhebo.diagnosis.tradeoffs import in_words  # where it is needed: importing it takes a while

    return in_words(study)
