"""What the evidence on constraints says, as findings and sentences."""

from uhebo.diagnosis.feasibility import Feasibility
from uhebo.diagnosis.words import SURROGATE, Finding, count, doubtful


def nothing_feasible(found: Feasibility | None, ahead: int) -> Finding | None:
    """No trial keeps the constraints; `ahead` more are to be run."""
    if found is None or found.feasible:
        return None
    above = ", ".join(f"{name} is missed by {value:.4g}" for name, value in found.missed)
    hardest = min(found.constraints, key=lambda item: item.kept)
    kept = ", ".join(f"{item.name} by {item.kept} of {item.told}" for item in found.constraints)
    return doubtful(
        "nothing-feasible",
        bool(found.poor),
        f": none of {count(found.trials, 'trial')} keeps the constraints, so there is no best one yet.",
        (
            "No trial has a value for every constraint."
            if found.nearest is None
            else f"The nearest is trial {found.nearest}: {above}.",
            f"Constraints are kept as follows: {kept}.",
        ),
        f"Run {ahead} more trials, which go where feasibility is likeliest; if none is feasible "
        f"then, relax {hardest.name} or change the ranges.",
    )


def blind(found: Feasibility | None, ahead: int) -> Finding | None:
    """It is not known which trials keep a constraint."""
    poor = found.poor if found is not None else ()
    if not poor:
        return None
    worst = max(poor, key=lambda item: item.told - item.right)
    return doubtful(
        "constraints",
        False,
        f": {SURROGATE} predicts the values, but not which trials keep the constraint {worst.name}.",
        (
            f"Of {count(worst.told, 'trial')}, {worst.kept} keep it; predicted from the others, "
            f"{worst.told - worst.right} come out on the wrong side, as many as without a model.",
        ),
        f"Run {ahead} more trials, and repeat the best point before you rely on it.",
    )


def say_feasibility(found: Feasibility | None) -> list[str]:
    """How many trials keep the constraints."""
    if found is None or not found.feasible:
        return []
    which = f"the constraint {found.constraints[0].name}" if len(found.constraints) == 1 else "all constraints"
    return [
        f"{count(found.feasible, 'trial')} of {found.trials} "
        f"{'is' if found.feasible == 1 else 'are'} feasible: what is called best keeps {which}."
    ]


def say_sides(found: Feasibility | None) -> list[str]:
    """Whether it is known where the constraints are kept."""
    if found is None:
        return []
    right = ", ".join(f"{item.right} of {item.told} for {item.name}" for item in found.constraints)
    return [f"Predicting each trial from all the others, the side of the constraint is right in {right}."]
