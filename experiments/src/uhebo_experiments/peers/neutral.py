"""Libraries of the neutral report, each in its best documented setting for the task, its own start-up included.

    uhebo            told the number of trials, and `deterministic=True` where values are exact
    optuna-gp        GPSampler, `deterministic_objective=True` where values are exact
    optuna-tpe       TPESampler, `multivariate=True`, `group=True`; `constant_liar=True` in batches
    optuna-cma       CmaEsSampler, on functions of numbers
    botorch          SingleTaskGP after Sobol points; LogEI on values told as exact (`train_Yvar`), else qLogNEI;
                     integers and choices by `optimize_acqf_mixed_alternating`
    smac3            BlackBoxFacade (a Gaussian process) on numbers, HyperparameterOptimizationFacade (a random forest)
                     on models and on integers; `deterministic` as the task is
    hebo             HEBO, as its README has it
    ax               Ax's Client, `method="fast"`
    bayes-opt        BayesianOptimization, after five random points; one at a time
    scikit-optimize  Optimizer with a Gaussian process and its ten random points, batches by `cl_min`
    random           uniform points

All minimise. A batch is asked for at once and told at once.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

from uhebo.errors import InvalidInputError
from uhebo.optuna_.sampler import UHESampler
from uhebo.types import Array
from uhebo_experiments.peers.libraries import BayesOpt, package, plain, skopt_dimension, smac_parameter
from uhebo_experiments.peers.neutral_others import Ax, Hebo
from uhebo_experiments.peers.relaxed import Params, Relaxed
from uhebo_experiments.peers.setting import Library, Setting

BAYES_OPT_START = 5
MOST_LEVELS = 30
"""Integers up to so many values are searched one by one by BoTorch; larger ranges are rounded."""


class Random:
    """Uniform points."""

    def __init__(self, of: Setting) -> None:
        self._relaxed, self._rng = Relaxed(of.space), np.random.default_rng([of.seed, 1])

    def ask(self, count: int) -> list[Params]:
        return [self._relaxed.decode(row) for row in self._rng.random((count, self._relaxed.width))]

    def tell(self, points: Sequence[Params], values: Sequence[float]) -> None:
        pass


class OptunaLibrary:
    """Any Optuna sampler, ours among them."""

    def __init__(self, of: Setting, sampler: optuna.samplers.BaseSampler) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space, self._study = dict(of.space), optuna.create_study(sampler=sampler)
        self._asked: list[optuna.Trial] = []

    def ask(self, count: int) -> list[Params]:
        self._asked = [self._study.ask(self._space) for _ in range(count)]
        return [trial.params for trial in self._asked]

    def tell(self, points: Sequence[Params], values: Sequence[float]) -> None:  # noqa: ARG002 - trials have the points
        for trial, value in zip(self._asked, values, strict=True):
            self._study.tell(trial, value)


class BoTorch:
    """A SingleTaskGP on the unit cube; a choice is an axis, and so is an integer, on a grid."""

    def __init__(self, of: Setting) -> None:
        self._torch, self._of, self._relaxed = package("torch"), of, Relaxed(of.space)
        self._torch.set_num_threads(1)
        self._torch.manual_seed(of.seed)
        draw = self._torch.quasirandom.SobolEngine(self._relaxed.width, scramble=True, seed=of.seed).draw
        self._start = draw(max(5, 2 * self._relaxed.width), dtype=self._torch.double).numpy()
        self._grids = grids(of.space)
        self._X: list[Array] = []
        self._y: list[float] = []

    def ask(self, count: int) -> list[Params]:
        done = len(self._X)
        if done < min(len(self._start), max(count, self._of.trials // 2)):
            rows = self._start[done : done + count]
            more = Random(self._of).ask(count - len(rows)) if len(rows) < count else []
            return [*map(self._relaxed.decode, rows), *more]
        torch, width = self._torch, self._relaxed.width
        X = torch.tensor(np.array(self._X), dtype=torch.double)
        y = torch.tensor(self._y, dtype=torch.double)[:, None]
        scale = float(y.std()) or 1.0
        # What BoTorch's tutorials tell of data without noise, in standardised units.
        exact = None if self._of.noisy else torch.full_like(y, 1e-6 * scale**2)
        gp = package("botorch.models").SingleTaskGP(X, y, exact)
        package("botorch.fit").fit_gpytorch_mll(package("gpytorch.mlls").ExactMarginalLogLikelihood(gp.likelihood, gp))
        logei = package("botorch.acquisition.logei")
        if self._of.noisy or count > 1:
            target = logei.qLogNoisyExpectedImprovement(gp, X_baseline=X, prune_baseline=True)
        else:
            target = package("botorch.acquisition").LogExpectedImprovement(gp, best_f=float(y.max()))
        cube = torch.tensor([[0.0] * width, [1.0] * width], dtype=torch.double)
        if self._grids:
            mixed = package("botorch.optim.optimize_mixed").optimize_acqf_mixed_alternating
            found, _ = mixed(target, cube, discrete_dims=self._grids, q=count)
        else:
            found, _ = package("botorch.optim").optimize_acqf(
                target, cube, q=count, num_restarts=10, raw_samples=512, sequential=True
            )
        return [self._relaxed.decode(row) for row in found.detach().numpy()]

    def tell(self, points: Sequence[Params], values: Sequence[float]) -> None:
        self._X += [self._relaxed.encode(point) for point in points]
        self._y += [-value for value in values]


def grids(space: Mapping[str, BaseDistribution]) -> dict[int, list[float]]:
    """Axis of the relaxed cube -> its values, for integers of few values and for choices."""
    relaxed, axis = Relaxed(space), 0
    found: dict[int, list[float]] = {}
    base = relaxed.decode(np.full(relaxed.width, 0.5))
    for name, distribution in space.items():
        if isinstance(distribution, CategoricalDistribution):
            found |= {axis + i: [0.0, 1.0] for i in range(len(distribution.choices))}
            axis += len(distribution.choices)
            continue
        if isinstance(distribution, IntDistribution) and distribution.high - distribution.low < MOST_LEVELS:
            values = range(distribution.low, distribution.high + 1)
            found[axis] = [float(relaxed.encode({**base, name: value})[axis]) for value in values]
        axis += 1
    return found


class Smac:
    """SMAC3, asked and told."""

    def __init__(self, of: Setting) -> None:
        smac, configspace = package("smac"), package("ConfigSpace")
        logging.getLogger("smac").setLevel(logging.ERROR)
        self._names = {f"p{i:03d}": name for i, name in enumerate(of.space)}
        space = configspace.ConfigurationSpace(seed=of.seed)
        space.add([smac_parameter(configspace, short, of.space[name]) for short, name in self._names.items()])
        self._folder = tempfile.TemporaryDirectory()
        scenario = smac.Scenario(
            space,
            output_directory=Path(self._folder.name),
            deterministic=not of.noisy,
            n_trials=of.trials,
            seed=of.seed,
        )
        smooth = of.continuous and not of.models
        facade = smac.BlackBoxFacade if smooth else smac.HyperparameterOptimizationFacade
        self._facade = facade(
            scenario,
            lambda config, seed=0: 0.0,  # noqa: ARG005 - never called: points are asked for and told
            overwrite=True,
            logging_level=False,
        )
        self._asked: list[Any] = []

    def ask(self, count: int) -> list[Params]:
        self._asked = [self._facade.ask() for _ in range(count)]
        return [{name: plain(info.config[short]) for short, name in self._names.items()} for info in self._asked]

    def tell(self, points: Sequence[Params], values: Sequence[float]) -> None:  # noqa: ARG002 - it has the points
        history = package("smac.runhistory.dataclasses")
        for info, value in zip(self._asked, values, strict=True):
            self._facade.tell(info, history.TrialValue(cost=float(value)), save=False)


class OneAtATime:
    """bayesian-optimization after its random points."""

    def __init__(self, of: Setting) -> None:
        if of.batch > 1:
            raise InvalidInputError("bayes-opt suggests one point at a time; leave it out where there are batches")
        self._random, self._peer, self._left = Random(of), BayesOpt(of.space, of.seed), BAYES_OPT_START

    def ask(self, count: int) -> list[Params]:
        self._left -= 1
        return self._random.ask(count) if self._left >= 0 else [self._peer.ask()]

    def tell(self, points: Sequence[Params], values: Sequence[float]) -> None:
        for point, value in zip(points, values, strict=True):
            self._peer.tell(point, -value)


class ScikitOptimize:
    """scikit-optimize's Gaussian process."""

    def __init__(self, of: Setting) -> None:
        self._names = list(of.space)
        dimensions = [skopt_dimension(package("skopt.space"), d) for d in of.space.values()]
        self._optimiser = package("skopt").Optimizer(dimensions, "GP", random_state=of.seed)

    def ask(self, count: int) -> list[Params]:
        found = [self._optimiser.ask()] if count == 1 else self._optimiser.ask(n_points=count)
        return [{n: plain(v) for n, v in zip(self._names, row, strict=True)} for row in found]

    def tell(self, points: Sequence[Params], values: Sequence[float]) -> None:
        rows = [[point[name] for name in self._names] for point in points]
        self._optimiser.tell(rows, list(map(float, values)))


def _ours(of: Setting) -> Library:
    return OptunaLibrary(of, UHESampler(seed=of.seed, n_trials=of.trials, deterministic=not of.noisy))


def _gp(of: Setting) -> Library:
    package("torch").set_num_threads(1)  # loaded only here, so no limit set before holds for it
    return OptunaLibrary(of, optuna.samplers.GPSampler(seed=of.seed, deterministic_objective=not of.noisy))


def _tpe(of: Setting) -> Library:
    liar = of.batch > 1
    sampler = optuna.samplers.TPESampler(seed=of.seed, multivariate=True, group=True, constant_liar=liar)
    return OptunaLibrary(of, sampler)


def _cma(of: Setting) -> Library:
    package("cmaes")
    return OptunaLibrary(of, optuna.samplers.CmaEsSampler(seed=of.seed))


LIBRARIES: dict[str, Callable[[Setting], Library]] = {
    "uhebo": _ours, "optuna-gp": _gp, "optuna-tpe": _tpe, "optuna-cma": _cma, "botorch": BoTorch, "smac3": Smac,
    "hebo": Hebo, "ax": Ax, "bayes-opt": OneAtATime, "scikit-optimize": ScikitOptimize, "random": Random,
}  # fmt: skip
"""Name -> maker of a library for a setting; ours first."""
PACKAGES = {"uhebo": "uhebo", "optuna": "optuna", "botorch": "botorch", "smac3": "smac", "hebo": "HEBO",
            "ax": "ax-platform", "bayes": "bayesian-optimization", "scikit": "scikit-optimize",
            "random": "numpy"}  # fmt: skip
"""First part of a name -> the package whose version is recorded."""


PLANNERS = ("uhebo", "botorch", "smac3")
"""Libraries whose search depends on the number of trials to come. The others do the same whatever it is, so that a long
run of theirs, read early, is the shorter one."""


def takes(name: str, of: Setting) -> bool:
    """Whether a library is meant for it: CMA-ES for functions of numbers, bayesian-optimization for no batches."""
    if name == "optuna-cma":
        return of.continuous and not of.models
    return name != "bayes-opt" or of.batch == 1


def make_library(name: str, of: Setting) -> Library:
    """A library by name."""
    if name not in LIBRARIES:
        raise InvalidInputError(f"unknown library {name!r}; choose among {', '.join(LIBRARIES)}")
    return LIBRARIES[name](of)
