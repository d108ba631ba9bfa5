"""Which cells each figure of the paper needs, at full size and at a small one (`--quick`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from uhebo_experiments.cells import Cell

SYNTHETIC = ("branin", "hartmann3", "deceptive", "h1")
REAL = ("lr-vehicle", "xgboost-australian", "xgboost-kc1", "rf-wilt")
METHODS = ("uhe", "map", "hmc", "a-gp-ucb", "wang-de-freitas", "portfolio", "random")
"""UHE-BO and the six baselines of figure 2."""
ABLATION = ("uhe", "ra", "random-exp3")
EXACT = ("uhe", "ra")
"""Methods with the consistent loss: the paper's is never split into blocks."""
LONG = ("uhe", "map", "random")
SOURCES = {"BO (MAP)": "map", "RA-BO": "ra", "i.i.d.": "random"}
"""Figure 6: where data come from, and the method that gives them."""
PATH = "gp-2d-0.2"
"""Sample paths of a known GP, one per seed, for figures 6 and 7."""
VARIANTS: dict[str, tuple[tuple[str, Any], ...]] = {
    "prior: shape 1e-3, scale 10": (("prior", "paper-scale"),),
    "prior: mean 1e-3, variance 10": (("prior", "paper-ev"),),
    "prior: flat": (("prior", "flat"),),
    "prior: log-normal, grows with √d": (("prior", "dim-scaled"),),
    "reward clipped to [0, 1]": (("reward_clip", "both"),),
    "reward not clipped": (("reward_clip", "none"),),
    "β = √1.96": (("beta", 1.4),),
}
"""Other readings of the paper, as options of the sampler."""
H1_READINGS = {"h1-100": "h1 on the box ±100", "h1-outside": "h1 with the +1 outside the root"}
"""Other readings of h1: problem -> how it is read."""


@dataclass(frozen=True)
class Scale:
    """Size of the whole reproduction."""

    seeds: int = 20
    synthetic_budget: int = 100
    real_budget: int = 50
    long_budget: int = 500
    long_seeds: int = 10
    fidelities: tuple[tuple[str, int], ...] = (("rf-wilt", 64),)
    """Problems that do not run at full fidelity."""
    real: tuple[str, ...] = REAL
    checkpoints: tuple[int, ...] = (5, 10, 20, 40, 70, 100)
    """Iterations at which the surrogate is compared with the truth."""
    thinning: int = 1
    """Factor by which the dense grid has fewer points along each axis."""
    path_sizes: tuple[int, ...] = (10, 20, 40, 80, 160)
    path_seeds: int = 20
    variants: tuple[str, ...] = tuple(VARIANTS)


FULL = Scale()
QUICK = Scale(
    seeds=3,
    synthetic_budget=12,
    real_budget=6,
    long_budget=32,
    long_seeds=2,
    fidelities=(("lr-vehicle", 50), ("xgboost-australian", 50), ("rf-wilt", 16)),
    real=("lr-vehicle", "xgboost-australian", "rf-wilt"),
    checkpoints=(4, 12),
    thinning=10,
    path_sizes=(10, 20, 30),
    path_seeds=3,
    variants=("prior: flat", "β = √1.96"),
)
"""Everything is drawn and nothing is concluded: minutes, not hours."""


def cell(problem: str, method: str, seed: int, budget: int, fidelity: int | None = None, **options: Any) -> Cell:
    """A cell as the paper runs it."""
    if method in EXACT:
        options["exact"] = True
    return Cell(problem, method, seed, budget, fidelity, tuple(sorted(options.items())))


def synthetic(scale: Scale, methods: Iterable[str] = METHODS) -> list[Cell]:
    """Upper row of figure 2; figures 3, 4 and 5 are computed from the same runs."""
    return [
        cell(problem, method, seed, scale.synthetic_budget)
        for seed in range(scale.seeds)
        for problem in SYNTHETIC
        for method in methods
    ]


def real(scale: Scale, methods: Iterable[str] = METHODS) -> list[Cell]:
    """Lower row of figure 2. Seeds come first: the methods of one seed share the models of their initial design."""
    fidelities = dict(scale.fidelities)
    return [
        cell(problem, method, seed, scale.real_budget, fidelities.get(problem))
        for problem in scale.real
        for seed in range(scale.seeds)
        for method in methods
    ]


def ablation(scale: Scale) -> list[Cell]:
    """Figure 5: what the two parts of UHE-BO contribute."""
    return synthetic(scale, ABLATION)


def known_paths(scale: Scale) -> list[Cell]:
    """Figure 6: data from a search, from RA-BO and i.i.d., on functions whose theta is known."""
    budget = max(scale.path_sizes)
    return [cell(PATH, method, seed, budget) for seed in range(scale.path_seeds) for method in SOURCES.values()]


def long_runs(scale: Scale) -> list[Cell]:
    """Figure 7. The consistent loss goes in blocks here, as the sampler does by default at this size."""
    return [Cell(PATH, method, seed, scale.long_budget) for seed in range(scale.long_seeds) for method in LONG]


def variants(scale: Scale) -> list[Cell]:
    """Other readings of the paper: UHE-BO, and the MAP baseline where the reading concerns it too."""
    otherwise_h1 = [
        cell(problem, method, seed, scale.synthetic_budget)
        for seed in range(scale.seeds)
        for problem in H1_READINGS
        for method in ("uhe", "map")
    ]
    return otherwise_h1 + [
        cell(problem, method, seed, scale.synthetic_budget, **dict(VARIANTS[name]))
        for name in scale.variants
        for seed in range(scale.seeds)
        for problem in SYNTHETIC
        for method in ("uhe", "map")
        if method == "uhe" or "reward_clip" not in dict(VARIANTS[name])
    ]
