"""Test problems by name: the paper's, classics, sample paths, and models to be tuned."""

from __future__ import annotations

import re
from collections.abc import Callable

from uhebo.errors import InvalidInputError
from uhebo_experiments.problems.classics import FAMILIES, classic
from uhebo_experiments.problems.learning import LEARNING
from uhebo_experiments.problems.real import lr_vehicle, rf_wilt, xgboost_on
from uhebo_experiments.problems.synthetic import Problem, branin, deceptive, gp_path, h1, hartmann3, warped_path

PROBLEMS: dict[str, Callable[[int | None], Problem]] = {
    "branin": lambda _: branin(),
    "hartmann3": lambda _: hartmann3(),
    "deceptive": lambda _: deceptive(),
    "h1": lambda _: h1(),
    "h1-100": lambda _: h1(100.0),
    "h1-outside": lambda _: h1(outside=True),
    "lr-vehicle": lambda fidelity: lr_vehicle(fidelity or 1000),
    "xgboost-australian": lambda fidelity: xgboost_on("australian", fidelity or 2000),
    "xgboost-kc1": lambda fidelity: xgboost_on("kc1", fidelity or 2000),
    "rf-wilt": lambda fidelity: rf_wilt(fidelity or 512),
}
"""Name -> problem at a fidelity (None: the full one). `gp-<d>d-<lengthscale>` (or `gp-2d-0.05x1`,
one along each axis), `warped-<d>d-<lengthscale>` and `deceptive-<d>d` are names too."""


def problem(name: str, *, seed: int = 0, fidelity: int | None = None) -> Problem:
    """A problem by name; `seed` picks the path of a `gp-…` or `warped-…` problem and changes nothing elsewhere."""
    if name in PROBLEMS:
        return PROBLEMS[name](fidelity)
    if path := re.fullmatch(r"gp-(\d+)d-([0-9.]+(?:x[0-9.]+)*)", name):
        scales = tuple(float(scale) for scale in path[2].split("x"))
        return gp_path(int(path[1]), scales if len(scales) > 1 else scales[0], seed=seed)
    if path := re.fullmatch(r"warped-(\d+)d-([0-9.]+)", name):
        return warped_path(int(path[1]), float(path[2]), seed=seed)
    if name in LEARNING:
        return LEARNING[name]()
    if "~" in name:
        base, _, share = name.rpartition("~")
        if not re.fullmatch(r"0?\.\d+", share):
            raise InvalidInputError(f"noise {share!r} of {name!r}: expected a share of the range such as ~0.1")
        return problem(base, seed=seed, fidelity=fidelity).noisy(float(share))
    if known := classic(name):
        return known
    if wide := re.fullmatch(r"deceptive-(\d+)d", name):
        return deceptive(int(wide[1]))
    raise InvalidInputError(
        f"unknown problem {name!r}; choose one of {', '.join(problem_names())}, "
        f"{', '.join(f'{name}-<d>d' for name, family in FAMILIES.items() if not family.dimension)}, "
        "gp-<d>d-<lengthscale>, warped-<d>d-<lengthscale>, deceptive-<d>d; a suffix ~0.1 adds noise of 10 % of the "
        "range"
    )


def problem_names() -> list[str]:
    """Names of problems of one dimension; there are also families such as levy-<d>d and gp-<d>d-<lengthscale>."""
    return [*PROBLEMS, *LEARNING, *(name for name, family in FAMILIES.items() if family.dimension)]


__all__ = ["PROBLEMS", "Problem", "problem", "problem_names"]
