"""Which cells each figure of the paper needs, at full size and at a small one (`--quick`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from uhebo.estimate import DEFAULT_READING, Reading
from uhebo.optuna_.believe import EARLIER_READING
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
NOISY_PATH = f"{PATH}~0.05"
"""The same with noise, 5 % of the range: lengthscale, signal and noise are known."""
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


@dataclass(frozen=True)
class Column:
    """One way of reading the paper, under which its claims are judged."""

    about: str
    reading: Reading = DEFAULT_READING
    """Of the consistent loss."""
    variants: Mapping[str, str] = field(default_factory=dict)
    """Methods that are run as a variant of themselves (`uhebo_experiments.variants`)."""


COLUMNS: dict[str, Column] = {
    "observed": Column("inputs x̂', copies kept: the printed equation and Algorithm 1", "observed"),
    "distinct": Column("inputs x̂', each once", "distinct"),
    "drawn": Column("inputs x', labels of x̂': the proof of Proposition 1", "drawn"),
    "arm-2-map": Column("arm 2 by MAP, arm 1 by the consistent loss (section 5.1)", variants={"uhe": "uhe/arm-2-map"}),
    "own-scale": Column("labels of the loss standardised on their own", variants={"uhe": "uhe/own-scale"}),
    "predictive": Column(
        "UCB with the deviation of an observation, noise included, for UHE-BO and MAP",
        variants={"uhe": "uhe/predictive", "map": "map/predictive"},
    ),
    "raw-units": Column(
        "κ and p(t) of the rivals in units of y",
        variants={"a-gp-ucb": "a-gp-ucb/raw", "wang-de-freitas": "wang-de-freitas/raw"},
    ),
}
"""The matrix claim × reading. The last four have the default reading of the loss, where they do not say otherwise."""
WHOLE = ("observed", "distinct", "drawn")
"""Columns in which every claim is judged; in the others those about regret, on the synthetic problems."""
MAIN = DEFAULT_READING
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
    clock_seeds: int = 6
    """Runs whose seconds are taken: the fewest from which anything is concluded."""


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
    clock_seeds=1,
)
"""Everything is drawn and nothing is concluded: minutes, not hours."""


def cell(
    problem: str,
    method: str,
    seed: int,
    budget: int,
    fidelity: int | None = None,
    column: str = MAIN,
    **options: Any,
) -> Cell:
    """A cell as the paper runs it, read as the column says."""
    read = COLUMNS[column]
    if method in EXACT:
        options["exact"] = True
        if read.reading != EARLIER_READING:  # records of cells that name none have that one
            options["reading"] = read.reading
    return Cell(problem, read.variants.get(method, method), seed, budget, fidelity, tuple(sorted(options.items())))


def synthetic(scale: Scale, methods: Iterable[str] = METHODS, column: str = MAIN) -> list[Cell]:
    """Upper row of figure 2; figures 3, 4 and 5 are computed from the same runs."""
    return [
        cell(problem, method, seed, scale.synthetic_budget, column=column)
        for seed in range(scale.seeds)
        for problem in SYNTHETIC
        for method in methods
    ]


def real(scale: Scale, methods: Iterable[str] = METHODS, column: str = MAIN) -> list[Cell]:
    """Lower row of figure 2. Seeds come first: the methods of one seed share the models of their initial design."""
    fidelities = dict(scale.fidelities)
    return [
        cell(problem, method, seed, scale.real_budget, fidelities.get(problem), column)
        for problem in scale.real
        for seed in range(scale.seeds)
        for method in methods
    ]


def timed(scale: Scale, problems: Iterable[str], column: str = MAIN) -> list[Cell]:
    """Running time of figure 5. Seeds come first: whatever else the machine does is fair to all methods."""
    chosen = [name for name in problems if name in SYNTHETIC or name in scale.real]
    fidelities = dict(scale.fidelities)
    return [
        cell(
            problem,
            method,
            seed,
            scale.synthetic_budget if problem in SYNTHETIC else scale.real_budget,
            fidelities.get(problem),
            column,
        )
        for seed in range(min(scale.clock_seeds, scale.seeds))
        for problem in chosen
        for method in METHODS
    ]


def ablation(scale: Scale, column: str = MAIN) -> list[Cell]:
    """Figure 5: what the two parts of UHE-BO contribute."""
    return synthetic(scale, ABLATION, column)


def known_paths(scale: Scale, column: str = MAIN) -> list[Cell]:
    """Figure 6: data from a search, from RA-BO and i.i.d., on functions whose theta is known."""
    budget = max(scale.path_sizes)
    return [
        cell(PATH, method, seed, budget, column=column)
        for seed in range(scale.path_seeds)
        for method in SOURCES.values()
    ]


def noisy_paths(scale: Scale) -> list[Cell]:
    """Independent points on functions whose lengthscale, signal and noise are known."""
    return [cell(NOISY_PATH, "random", seed, max(scale.path_sizes)) for seed in range(scale.path_seeds)]


def long_runs(scale: Scale, column: str = MAIN) -> list[Cell]:
    """Figure 7. The consistent loss goes in blocks here, as the sampler does by default at this size."""
    seeds = range(scale.long_seeds)
    cells = [cell(PATH, method, seed, scale.long_budget, column=column) for seed in seeds for method in LONG]
    return [replace(c, options=tuple(o for o in c.options if o[0] != "exact")) for c in cells]


def variants(scale: Scale, column: str = MAIN) -> list[Cell]:
    """Other readings of the paper: UHE-BO, and the MAP baseline where the reading concerns it too."""
    otherwise_h1 = [
        cell(problem, method, seed, scale.synthetic_budget, column=column)
        for seed in range(scale.seeds)
        for problem in H1_READINGS
        for method in ("uhe", "map")
    ]
    return otherwise_h1 + [
        cell(problem, method, seed, scale.synthetic_budget, column=column, **dict(VARIANTS[name]))
        for name in scale.variants
        for seed in range(scale.seeds)
        for problem in SYNTHETIC
        for method in ("uhe", "map")
        if method == "uhe" or "reward_clip" not in dict(VARIANTS[name])
    ]
