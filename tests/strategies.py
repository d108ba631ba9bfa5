"""What the fuzzers make up, and what must hold of it: data sets for the model, and search spaces.

Used by tests/test_fuzz.py (a slice, in every run of the tests) and by benchmarks/fuzz.py (the full figures). Hypothesis
draws the shape of a case and one seed; the numbers come from NumPy, which is faster and fills arrays evenly.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import optuna
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from uhebo import Categorical, Float, Int, UHESampler
from uhebo.acquire.functions import surface
from uhebo.acquire.maximise import ENUMERATED, Explored, maximise, maximise_sample
from uhebo.acquire.pending import with_pending
from uhebo.errors import InvalidInputError
from uhebo.estimate import ESTIMATORS, Estimator, hmc_estimate
from uhebo.gp import KERNELS, Data, Theta, named_prior
from uhebo.space import SearchSpace
from uhebo.types import Array

SHORT_HMC = Estimator.of("hmc", partial(hmc_estimate, burn_in=4, kept=2, thin=1))
"""HMC in full takes a third of a second a fit, and is tested in full elsewhere."""
ESTIMATOR_NAMES = ["map"] * 8 + ["mle"] * 6 + ["consistent"] * 11 + ["hmc"]
PRIORS = ["paper", "paper-scale", "paper-ev", "flat", "dim-scaled", "precise", "shared-scale"]
COLUMNS: dict[str, BaseDistribution] = {
    "float": FloatDistribution(-3.0, 5.0),
    "log": FloatDistribution(1e-8, 1e3, log=True),
    "step": FloatDistribution(0.0, 2.0, step=0.1),
    "int": IntDistribution(0, 7),
    "log int": IntDistribution(1, 10_000, log=True),
    "huge int": IntDistribution(-(2**52), 2**52),
    "categories": CategoricalDistribution(["a", "b", "c"]),
    "many": CategoricalDistribution(list(range(50))),
}
seeds = st.integers(0, 2**32 - 1)

# ------------------------------------------------------------------------------------------------------------ data sets


@dataclass(frozen=True)
class DataSet:
    """A data set and everything else that a suggestion from it depends on."""

    space: SearchSpace
    data: Data
    estimator: str
    prior: str
    kernel: str
    acquisition: str
    warm: Theta | None
    pending: Array
    deterministic: bool
    seed: int


Targets = Callable[[Array, np.random.Generator], Array]
LARGEST = float(np.finfo(np.float64).max)


def signs(n: int, rng: np.random.Generator) -> Array:
    return rng.choice([-1.0, 1.0], n)


KINDS: dict[str, Targets] = {
    "of x": lambda X, rng: np.sin(6 * X).sum(axis=1),  # noqa: ARG005
    "smooth": lambda X, rng: -((X - 0.4) ** 2).sum(axis=1),  # noqa: ARG005
    "noise": lambda X, rng: rng.standard_normal(len(X)),
    "constant": lambda X, rng: np.full(len(X), rng.standard_normal()),
    "rounding": lambda X, rng: 1.0 + np.finfo(np.float64).eps * rng.integers(0, 4, len(X)),
    "two values": lambda X, rng: rng.integers(0, 2, len(X)).astype(float),
    "one differs": lambda X, rng: np.where(np.arange(len(X)) == 0, 1.0, 0.0),  # noqa: ARG005
    "outlier": lambda X, rng: np.where(np.arange(len(X)) == len(X) // 2, 1e6, 1.0) * rng.standard_normal(len(X)),
    "heavy tails": lambda X, rng: rng.standard_cauchy(len(X)) ** 5,
    "magnitudes": lambda X, rng: signs(len(X), rng) * 10.0 ** rng.uniform(-300, 300, len(X)),
    "offset": lambda X, rng: 1e12 + 1e-3 * rng.standard_normal(len(X)),
    "zero or tiny": lambda X, rng: rng.choice([0.0, -0.0, 5e-324, 1e-310], len(X)),
    "largest": lambda X, rng: signs(len(X), rng) * LARGEST,
}
"""Values of every kind that has ever broken a Gaussian process."""


SIZES = (4, 1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 20, 60)
COUNTS = (2, 1, 1, 2, 3, 1, 2, 4, 8)
"""Points and columns; the first of each is what Hypothesis falls back on, and so the commonest."""


@st.composite
def data_sets(draw: st.DrawFn) -> DataSet:
    """1 to 60 points in 1 to 8 columns of every type: spread, repeated, clustered, in corners; values of every kind."""
    n, count, seed = draw(st.sampled_from(SIZES)), draw(st.sampled_from(COUNTS)), draw(seeds)
    rng = np.random.default_rng(seed)
    columns = [str(kind) for kind in rng.choice(["float", "float", "float", *COLUMNS], count)]
    space = SearchSpace.of({f"{kind} {i}": COLUMNS[kind] for i, kind in enumerate(columns)})
    X = arranged(space, n, rng)
    y = KINDS[str(rng.choice(list(KINDS)))](X, rng)
    if np.abs(y).max() < 1e50:
        y = y * 10.0 ** int(rng.choice([0, 0, 0, -300, -8, 8, 250]))
    warm = float(rng.choice([0.0, 0.0, 1.0, 30.0]))
    acquisitions = ["ucb", "log-ei", "pi", "ucb", "log-ei", "pi", "ucb", "log-ei", "pi", "thompson"]
    return DataSet(
        space,
        Data.of(X, y, space.domain),
        str(rng.choice(ESTIMATOR_NAMES)),
        str(rng.choice(PRIORS)),
        list(KERNELS)[int(rng.integers(len(KERNELS)))],
        str(rng.choice(acquisitions)),
        Theta.from_log(warm * rng.standard_normal(count + 2)) if warm else None,
        space.snap(space.domain.uniform(rng, int(rng.choice([0, 0, 0, 1, 3])))),
        bool(rng.random() < 0.5),
        seed,
    )


def arranged(space: SearchSpace, n: int, rng: np.random.Generator) -> Array:
    """Uniform points, and up to two things done to them."""
    X, numeric = space.domain.uniform(rng, n), space.domain.numeric
    for change in rng.choice(["none", "repeat", "cluster", "corners", "line"], 2):
        if change == "repeat":
            X = X[rng.integers(0, max(1, n // 3), n)]
        elif change == "cluster":
            some = np.ix_(rng.random(n) < rng.choice([0.5, 1.0]), numeric)
            X[some] = 0.5 + (X[some] - 0.5) * 10.0 ** -float(rng.integers(1, 17))
        elif change == "corners":
            X[:, numeric] = np.rint(X[:, numeric])
        elif change == "line" and len(numeric):
            X[:, numeric] = X[:, numeric[:1]]
    return space.snap(X) if rng.random() < 0.5 else X


def check_data_set(case: DataSet) -> None:
    """Fit, posterior, suggestion: all finite, the suggestion in the space and not a known point if that is asked."""
    rng, space, data = np.random.default_rng(case.seed), case.space, case.data
    run = SHORT_HMC if case.estimator == "hmc" else ESTIMATORS[case.estimator]
    fit = run(data, kernel=case.kernel, prior=named_prior(case.prior, data.dimension), rng=rng, warm=case.warm)
    assert np.isfinite(fit.log_posterior)
    query = np.concatenate([data.X[:8], space.domain.uniform(rng, 8)])
    for posterior in fit.posteriors:
        mean, variance, *gradients = posterior.predict_with_gradient(query)
        assert all(np.isfinite(values).all() for values in (mean, variance, *gradients, posterior.theta.to_log()))
        assert (variance >= 0.0).all()
        assert (variance <= posterior.theta.v * (1 + 1e-9)).all()
    posteriors = with_pending(fit.posteriors, case.pending, case.data.y.max() if case.deterministic else np.inf)
    taken = np.concatenate([data.X, case.pending]) if case.deterministic else np.empty((0, data.dimension))
    explored = Explored(space, data.X[np.argsort(-data.y, kind="stable")[:4]], taken)
    if case.acquisition == "thompson":
        point = maximise_sample(posteriors[0], explored, rng)
    else:
        target = surface(case.acquisition, posteriors, beta=2.0, best=float(data.y.max()))
        assert np.isfinite(target(query)).all()
        point = maximise(target, explored, rng)
    assert point.shape == (data.dimension,)
    assert np.isfinite(point).all()
    inside(space.distributions, space.decode(point))
    if case.deterministic and space.size <= ENUMERATED:
        places = {tuple(row) for row in np.round(taken, 12)}
        if len(places) < space.size:
            assert tuple(np.round(point, 12)) not in places


def inside(distributions: dict[str, BaseDistribution], params: dict[str, Any]) -> None:
    """Every parameter is there with a value of its distribution, by Optuna's own word and type."""
    assert list(params) == list(distributions)
    for name, distribution in distributions.items():
        value = params[name]
        assert distribution._contains(distribution.to_internal_repr(value)), f"{name}={value!r} not in {distribution}"
        if isinstance(distribution, (FloatDistribution, IntDistribution)):
            assert distribution.low <= value <= distribution.high
            assert math.isfinite(value)
            assert type(value) is (int if isinstance(distribution, IntDistribution) else float)


# --------------------------------------------------------------------------------------------------------------- spaces

ODD_CHOICES: list[Any] = [None, True, False, 0, 1, 2**60, -1, 0.5, 1.0, -0.0, math.inf, math.nan, "", " ", "None", "a",
                          "🔥", "שלום", "'; drop table trials; --", "<b>", "\u202e", "x" * 300]  # fmt: skip
widths = st.sampled_from([5e-324, 1e-300, 1e-18, 1e-9, 1e-3, 1.0, 7.0, 1e3, 1e9, 1e18, 1e300, 1.7e308])
finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def parameters(draw: st.DrawFn) -> BaseDistribution | None:
    """A distribution as a user would declare it; None where it was refused, which must be by our error."""
    kind = draw(st.sampled_from(["float", "wide", "log", "step", "int", "huge", "log int", "choices", "single"]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a step that does not divide the range
            return _parameter(draw, kind)
    except InvalidInputError:
        return None


def _parameter(draw: st.DrawFn, kind: str) -> BaseDistribution:
    if kind == "float":
        low = draw(st.sampled_from([0.0, -1.0, 1e-3, 1e6, -1e6]) | finite)
        return Float(low, low + draw(widths))
    if kind == "wide":
        low, high = sorted([draw(finite), draw(finite)])
        return Float(low, high)
    if kind == "log":
        low = draw(st.sampled_from([5e-324, 1e-300, 1e-8, 1.0, 1e5]) | st.floats(1e-320, 1e300))
        return Float(low, low * (1.0 + draw(widths)), log=True)
    if kind == "step":
        low, step = draw(st.sampled_from([0.0, 0.1, -3.0, 1e5]) | finite), draw(widths | st.floats(1e-6, 1e6))
        return Float(low, low + step * draw(st.integers(0, 10**9)) * draw(st.sampled_from([1.0, 1.3])), step=step)
    if kind == "int":
        low = draw(st.integers(-100, 100))
        return Int(low, low + draw(st.integers(0, 500)), step=draw(st.integers(1, 7)))
    if kind == "huge":
        low, high = sorted([draw(st.integers(-(2**53), 2**53)), draw(st.integers(-(2**53), 2**53))])
        return Int(low, high, step=draw(st.sampled_from([1, 1, 3, 10**6])))
    if kind == "log int":
        low = draw(st.integers(1, 2**40))
        return Int(low, low + draw(st.integers(0, 2**40)), log=True)
    if kind == "choices":
        return Categorical(draw(st.lists(st.sampled_from(ODD_CHOICES) | st.text(max_size=5), min_size=1, max_size=12)))
    return draw(st.sampled_from([Float(0.3, 0.3), Int(4, 4), Categorical(["only"]), Float(1.0, 1.0, step=0.5)]))


@dataclass(frozen=True)
class SpaceCase:
    """A declared space and how it is searched."""

    distributions: dict[str, BaseDistribution]
    method: str
    deterministic: bool
    seed: int


@st.composite
def spaces(draw: st.DrawFn) -> SpaceCase:
    """Up to six parameters of every type, width and name; a parameter that is refused is left out."""
    names = draw(
        st.lists(st.text(min_size=1, max_size=8) | st.sampled_from(["x", "lr", "🔥"]), unique=True, max_size=6)
    )
    drawn = {name: draw(parameters()) for name in names}
    return SpaceCase(
        {name: distribution for name, distribution in drawn.items() if distribution is not None},
        draw(st.sampled_from(["map", "uhe", "auto", "consistent-only", "ra", "random"])),
        draw(st.booleans()),
        draw(seeds),
    )


def check_space(case: SpaceCase) -> None:
    """Rows and values determine each other, and a study in the space gets suggestions that Optuna takes."""
    space = SearchSpace.of(case.distributions)
    rng = np.random.default_rng(case.seed)
    rows = np.concatenate([space.domain.uniform(rng, 3), np.zeros((1, len(space.names)))])
    for row in space.snap(rows):
        params = space.decode(row)
        inside(case.distributions, params)
        assert space.contains(params)
        again = space.decode(space.encode(params))
        for name, distribution in case.distributions.items():
            same(params[name], again[name], distribution)
        for column in range(len(space.names)):
            for neighbour in space.neighbours(row, column)[:3]:
                inside(case.distributions, space.decode(neighbour))
    sampler = UHESampler(
        method=case.method,
        seed=case.seed,
        n_startup_trials=2,
        deterministic=case.deterministic,
        when_exhausted="repeat",
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for value in (0.0, *rng.standard_normal(2)):
        trial = study.ask(case.distributions)
        inside(case.distributions, trial.params)
        study.tell(trial, float(value))


def same(one: Any, other: Any, distribution: BaseDistribution) -> None:
    """Equal; a float up to what the unit cube resolves; integers beyond 10^13 in the log up to the same."""
    if isinstance(distribution, FloatDistribution) and distribution.step is None:
        slack = 1e-9 * (distribution.high / 2 - distribution.low / 2) * 2 if not distribution.log else 1e-9 * one
        assert math.isclose(one, other, rel_tol=1e-9, abs_tol=slack)
    elif isinstance(one, float) and math.isnan(one):
        assert math.isnan(other)
    elif isinstance(distribution, IntDistribution) and distribution.log:
        assert abs(one - other) <= 1e-9 * one
    elif isinstance(distribution, (IntDistribution, FloatDistribution)):
        assert abs(one - other) <= 1e-12 * (distribution.high - distribution.low)
    else:
        assert type(one) is type(other)
        assert one == other
