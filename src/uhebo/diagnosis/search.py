"""What the log says: what became of the trials, random points, arms, repeats, bounds, numerical trouble."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from uhebo.belief import History, Trial
from uhebo.belief.repeats import replicates
from uhebo.diagnosis.bounds import Side, sides_of
from uhebo.optuna_.batches import usual_batch
from uhebo.optuna_.endings import is_left_out
from uhebo.optuna_.trial_log import infinite_values


@dataclass(frozen=True)
class Trials:
    """How many trials there are and what became of them."""

    total: int
    finished: int
    failed: int
    """Failed or pruned; not those that were skipped or dropped."""
    running: int
    usable: int
    """Finished, with a finite value, and inside the current ranges: what the model is fitted to."""
    infinite: int
    """Of the usable ones, how many have an infinite value, taken as the worst or best finite one."""
    infinite_best: tuple[int, ...] = ()
    """Those of them that count as the best."""
    batch: int | None = None
    """How many are usually begun together; None where none was asked for."""


@dataclass(frozen=True)
class Search:
    """What the log of trials says of the search itself. Figures that need our tags are None or empty without them."""

    roles: dict[str, int]
    """Finished trials: initial, random, model, other (not suggested by uhebo)."""
    model_steps: bool | None
    """Whether a model suggested any trial; None where uhebo suggested none, or was told to suggest at random."""
    random_share: float | None
    """Random points among those uhebo suggested after the initial design."""
    arm_weights: tuple[tuple[int, tuple[float, float]], ...]
    """(t, (probability of the random arm, of the model arm)) as they were when the arm of iteration t was drawn."""
    repeated: int
    """Suggestions equal to an earlier point; points the user enqueued or added are not counted."""
    repeated_numbers: tuple[int, ...]
    exhausted: bool
    """The space has no more points than were tried, so repeats cannot be avoided."""
    boundary_share: float | None
    """Share of model points (of all points in a study without tags) with a coordinate at a bound."""
    boundary_points: int
    boundary: tuple[tuple[str, Side, int], ...]
    """Parameter, bound, and how many points lie there; most first."""
    best_at_bound: tuple[tuple[str, Side], ...]
    """Of the best trial; under constraints, of the best feasible one."""
    jittered: int
    """Fits that needed a numerical correction on the diagonal of the covariance matrix."""
    fallbacks: dict[str, int] = field(default_factory=dict)
    """Rungs of the fit ladder that were taken instead of an ordinary fit, by name."""
    unconverged: int = 0


def count_trials(study: Study, usable: int) -> Trials:
    """What became of the trials of a study of which so many are usable."""
    trials = study.get_trials(deepcopy=False)
    states = Counter(trial.state for trial in trials)
    return Trials(
        total=len(trials),
        finished=states[TrialState.COMPLETE],
        failed=states[TrialState.FAIL] + states[TrialState.PRUNED] - sum(map(is_left_out, trials)),
        running=states[TrialState.RUNNING] + states[TrialState.WAITING],
        usable=usable,
        infinite=infinite_values(trials)[0] if usable else 0,
        infinite_best=tuple(trial.number for trial in trials if _is_infinite_best(study, trial)) if usable else (),
        batch=usual_batch(trials),
    )


def _is_infinite_best(study: Study, trial: FrozenTrial) -> bool:
    best = [np.inf if direction == StudyDirection.MAXIMIZE else -np.inf for direction in study.directions]
    told = trial.values if trial.state == TrialState.COMPLETE and trial.values else ()
    return any(value == end for value, end in zip(told, best, strict=False))


def review_search(study: Study, history: History) -> Search:
    """Read it off the log; nothing is fitted."""
    trials = history.trials
    tagged = [trial for trial in trials if trial.tags.get("role")]
    finished = history.finished
    roles = Counter(str(trial.tags.get("role", "other")) for trial in finished)
    later = roles["random"] + roles["model"]
    enqueued = {t.number for t in study.get_trials(deepcopy=False) if "fixed_params" in t.system_attrs}
    suggested = tagged or [trial for trial in trials if trial.number not in enqueued]
    repeats = _repeats(trials, {trial.number for trial in suggested})
    models = [trial for trial in (tagged or finished) if not tagged or trial.tags["role"] == "model"]
    rows = [trial.x for trial in models if trial.x is not None]
    sides = sides_of(history.space, rows)
    feasible = [trial for trial in finished if trial.feasible]
    best = max(feasible, key=lambda trial: trial.y if trial.y is not None else -np.inf, default=None)
    best_rows = [best.x] if best is not None and best.x is not None else []
    everywhere = Counter(pair for pairs in sides for pair in pairs)
    return Search(
        roles=dict(roles),
        model_steps=_model_steps(tagged),
        random_share=roles["random"] / later if later else None,
        arm_weights=tuple(_arm_weights(trials)),
        repeated=len(repeats),
        repeated_numbers=repeats,
        exhausted=history.space.size <= len(finished),
        boundary_share=sum(map(bool, sides)) / len(rows) if rows else None,
        boundary_points=len(rows),
        boundary=tuple((name, side, count) for (name, side), count in everywhere.most_common()),
        best_at_bound=tuple(pair for pairs in sides_of(history.space, best_rows) for pair in pairs),
        jittered=sum("jitter" in trial.tags for trial in trials),
        fallbacks=dict(Counter(str(t.tags["fallback"]) for t in trials if t.tags.get("fallback"))),
        unconverged=sum(trial.tags.get("converged") is False for trial in trials),
    )


def _model_steps(tagged: Sequence[Trial]) -> bool | None:
    roles = {str(trial.tags["role"]) for trial in tagged}
    # Random points beside the initial design are a bandit's, or the method's whole plan.
    by_choice = "random" in roles and not any("arm" in trial.tags for trial in tagged)
    return None if not roles or (by_choice and "model" not in roles) else bool(roles - {"initial", "random"})


def _repeats(trials: Iterable[Trial], suggested: set[int]) -> tuple[int, ...]:
    """Numbers of suggested trials whose point an earlier trial had."""
    placed = [(trial.number, trial.x) for trial in trials if trial.x is not None and len(trial.x)]
    if not placed:
        return ()
    _, first, place = np.unique(replicates(np.array([x for _, x in placed])), return_index=True, return_inverse=True)
    later = np.arange(len(placed)) > first[place]
    return tuple(number for (number, _), again in zip(placed, later, strict=True) if again and number in suggested)


def _arm_weights(trials: Iterable[Trial]) -> list[tuple[int, tuple[float, float]]]:
    """From what each draw recorded; a pair's second half repeats its first half's draw and is passed over."""
    found: list[tuple[int, tuple[float, float]]] = []
    for trial in trials:
        arm, p, t = trial.tags.get("arm"), trial.tags.get("p"), trial.tags.get("t")
        if arm is None or p is None or t is None:
            continue
        weights = (float(p), 1.0 - float(p)) if arm == 0 else (1.0 - float(p), float(p))
        # Methods that draw once in two iterations write the same arm and probability on both halves of a pair.
        if t % 2 or found[-1:] != [(t - 1, weights)]:
            found.append((int(t), weights))
    return found
