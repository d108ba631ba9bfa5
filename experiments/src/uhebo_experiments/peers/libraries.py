"""Other optimisers behind two calls, `ask` and `tell`, so that one harness drives them all; larger is better.

Each runs at its defaults with its own random start switched off: the initial design, 3d uniform points by seed, is told
to all of them. For BoTorch and bayesian-optimization the space is relaxed to the unit cube: integers and logarithms
along one axis, a category as one axis a choice, and back by rounding. (BoTorch's SingleTaskGP knows real numbers alone;
its mixed models are not used. bayesian-optimization calls its own integers and categories experimental, and would put
raw integers beside unit intervals under its one lengthscale.)
"""

from __future__ import annotations

import importlib
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, IntDistribution

from uhebo.errors import InvalidInputError, UheboError
from uhebo.methods import Strategy
from uhebo.optuna_.sampler import UHESampler
from uhebo.types import Array
from uhebo_experiments.peers.relaxed import Params, Relaxed, Space


class Peer(Protocol):
    """An optimiser: it may be told points it never asked for."""

    def ask(self) -> Params: ...

    def tell(self, params: Params, value: float) -> None: ...


def package(name: str) -> Any:
    """A peer's package, or an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UheboError(f"{name} is not installed ({error}): pip install 'uhebo-experiments[peers]'") from error


class Random:
    """Uniform points (on the logarithm where the parameter is logarithmic)."""

    def __init__(self, space: Space, seed: int) -> None:
        self._relaxed = Relaxed(space)
        self._rng = np.random.default_rng([seed, 1])

    def ask(self) -> Params:
        return self._relaxed.decode(self._rng.random(self._relaxed.width))

    def tell(self, params: Params, value: float) -> None:
        pass


class OptunaPeer:
    """Any Optuna sampler; it is made when first asked, because CMA-ES starts from the best point told."""

    def __init__(self, space: Space, seed: int, make: Callable[[int, optuna.Study], Any]) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space, self._seed, self._make = dict(space), seed, make
        start = optuna.samplers.RandomSampler(seed)
        self._study = optuna.create_study(direction="maximize", sampler=start)
        self._trial: optuna.Trial | None = None
        self._started = False

    def ask(self) -> Params:
        if not self._started:
            self._study.sampler, self._started = self._make(self._seed, self._study), True
        self._trial = self._study.ask(self._space)
        return self._trial.params

    def tell(self, params: Params, value: float) -> None:
        if self._trial is not None:
            self._study.tell(self._trial, value)
            self._trial = None
        else:
            self._study.add_trial(
                optuna.trial.create_trial(params=params, distributions=self._space, value=float(value))
            )


class BoTorch:
    """SingleTaskGP at its default priors, with LogEI or qLogNEI."""

    def __init__(self, space: Space, seed: int, acquisition: str) -> None:
        self._torch = package("torch")
        self._acquisition = acquisition
        self._torch.set_num_threads(1)
        self._torch.manual_seed(seed)
        self._relaxed = Relaxed(space)
        self._X: list[Array] = []
        self._y: list[float] = []

    def ask(self) -> Params:
        torch, width = self._torch, self._relaxed.width
        fit, models = package("botorch.fit"), package("botorch.models")
        X = torch.tensor(np.array(self._X), dtype=torch.double)
        gp = models.SingleTaskGP(X, torch.tensor(self._y, dtype=torch.double)[:, None])
        fit.fit_gpytorch_mll(package("gpytorch.mlls").ExactMarginalLogLikelihood(gp.likelihood, gp))
        if self._acquisition == "logei":
            target = package("botorch.acquisition").LogExpectedImprovement(gp, best_f=max(self._y))
        else:
            logei = package("botorch.acquisition.logei")
            target = logei.qLogNoisyExpectedImprovement(gp, X_baseline=X, prune_baseline=True)
        cube = torch.tensor([[0.0] * width, [1.0] * width], dtype=torch.double)
        found, _ = package("botorch.optim").optimize_acqf(target, cube, q=1, num_restarts=10, raw_samples=512)
        return self._relaxed.decode(found[0].detach().numpy())

    def tell(self, params: Params, value: float) -> None:
        self._X.append(self._relaxed.encode(params))
        self._y.append(value)


class BayesOpt:
    """The bayesian-optimization package (Matérn-5/2, UCB)."""

    def __init__(self, space: Space, seed: int) -> None:
        self._relaxed = Relaxed(space)
        self._names = [f"x{i:03d}" for i in range(self._relaxed.width)]
        self._optimiser = package("bayes_opt").BayesianOptimization(
            None, dict.fromkeys(self._names, (0.0, 1.0)), random_state=seed, verbose=0, allow_duplicate_points=True
        )

    def ask(self) -> Params:
        point = self._optimiser.suggest()
        return self._relaxed.decode(np.array([point[name] for name in self._names], dtype=np.float64))

    def tell(self, params: Params, value: float) -> None:
        row = self._relaxed.encode(params)
        self._optimiser.register(dict(zip(self._names, map(float, row), strict=True)), float(value))


class ScikitOptimize:
    """scikit-optimize's GP (gp_hedge). It fits inside tell, so the initial points go in as one batch."""

    def __init__(self, space: Space, seed: int) -> None:
        skopt = package("skopt")
        spaces = package("skopt.space")
        self._names = list(space)
        self._optimiser = skopt.Optimizer(
            [skopt_dimension(spaces, d) for d in space.values()], "GP", n_initial_points=1, random_state=seed
        )
        self._space = space
        self._waiting: list[tuple[list[Any], float]] = []
        self._started = False

    def ask(self) -> Params:
        if not self._started and self._waiting:
            self._optimiser.tell([x for x, _ in self._waiting], [y for _, y in self._waiting])
        self._started = True
        return {n: plain(v) for n, v in zip(self._names, self._optimiser.ask(), strict=True)}

    def tell(self, params: Params, value: float) -> None:
        row = [params[name] for name in self._names]
        if self._started:
            self._optimiser.tell(row, -float(value))
        else:
            self._waiting.append((row, -float(value)))


class Smac:
    """SMAC3's BlackBoxFacade with no initial design of its own."""

    def __init__(self, space: Space, seed: int) -> None:
        smac, configspace = package("smac"), package("ConfigSpace")
        logging.getLogger("smac").setLevel(logging.ERROR)
        self._names = {f"p{i:03d}": name for i, name in enumerate(space)}
        self._configspace = configspace.ConfigurationSpace(seed=seed)
        self._configspace.add([smac_parameter(configspace, s, space[n]) for s, n in self._names.items()])
        self._folder = tempfile.TemporaryDirectory()
        scenario = smac.Scenario(
            self._configspace,
            output_directory=Path(self._folder.name),
            deterministic=True,
            n_trials=1_000_000,
            seed=seed,
        )
        facade = smac.BlackBoxFacade
        self._facade = facade(
            scenario,
            lambda config, seed=0: 0.0,  # noqa: ARG005 - never called: points are asked for and told
            initial_design=facade.get_initial_design(scenario, n_configs=0),
            overwrite=True,
            logging_level=False,
        )
        self._info: Any = None

    def ask(self) -> Params:
        self._info = self._facade.ask()
        return {name: plain(self._info.config[short]) for short, name in self._names.items()}

    def tell(self, params: Params, value: float) -> None:
        history = package("smac.runhistory.dataclasses")
        info, self._info = self._info, None
        if info is None:
            values = {short: params[name] for short, name in self._names.items()}
            config = package("ConfigSpace").Configuration(self._configspace, values=values)
            info = history.TrialInfo(config, seed=0)
        self._facade.tell(info, history.TrialValue(cost=-float(value)), save=False)


def skopt_dimension(spaces: Any, distribution: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return spaces.Categorical(list(distribution.choices))
    prior = "log-uniform" if distribution.log else "uniform"
    kind = spaces.Integer if isinstance(distribution, IntDistribution) else spaces.Real
    return kind(distribution.low, distribution.high, prior=prior)


def smac_parameter(configspace: Any, name: str, distribution: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return configspace.Categorical(name, list(distribution.choices))
    kind = configspace.Integer if isinstance(distribution, IntDistribution) else configspace.Float
    return kind(name, (distribution.low, distribution.high), log=distribution.log)


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value


def _optuna(name: str, *, deterministic: bool = False) -> Callable[[int, optuna.Study], Any]:
    def make(seed: int, study: optuna.Study) -> Any:
        samplers = optuna.samplers
        if name == "gp":
            package("torch").set_num_threads(1)  # loaded only here, so no limit set before holds for it
            return samplers.GPSampler(seed=seed, n_startup_trials=1, deterministic_objective=deterministic)
        if name == "tpe":
            return samplers.TPESampler(seed=seed, n_startup_trials=1)
        numbers = {k: v for k, v in study.best_params.items() if not isinstance(v, (str, bool))}
        return samplers.CmaEsSampler(seed=seed, x0=numbers or None, warn_independent_sampling=False)

    return make


def our_sampler(method: str | Strategy, trials: int | None) -> Callable[[int, optuna.Study], Any]:
    """Ours, with all that was told before its first suggestion as the initial design."""

    def make(seed: int, study: optuna.Study) -> Any:
        told = len(study.get_trials(deepcopy=False))
        return UHESampler(method=method, seed=seed, n_startup_trials=told, n_trials=trials)

    return make


OUR_METHODS = {"uhebo": "auto", "uhebo-open": "auto", "uhebo-uhe": "uhe", "uhebo-map": "map"}
"""Name -> method of ours."""
OPEN_ENDED = "uhebo-open"
"""Of ours, the one that is not told how many trials there are to be."""
OTHERS: dict[str, Callable[[Space, int], Peer]] = {
    "optuna-gp": lambda space, seed: OptunaPeer(space, seed, _optuna("gp")),
    "optuna-gp-det": lambda space, seed: OptunaPeer(space, seed, _optuna("gp", deterministic=True)),
    "optuna-tpe": lambda space, seed: OptunaPeer(space, seed, _optuna("tpe")),
    "optuna-cma": lambda space, seed: OptunaPeer(space, seed, _optuna("cma")),
    "botorch-logei": lambda space, seed: BoTorch(space, seed, "logei"),
    "botorch-qlognei": lambda space, seed: BoTorch(space, seed, "qlognei"),
    "bayes-opt": BayesOpt,
    "scikit-optimize": ScikitOptimize,
    "smac3": Smac,
    "random": Random,
}
"""Name -> maker of an optimiser for a space and a seed."""
WITH_NOISE = {"optuna-gp-det": "optuna-gp"}
"""Who is meant for exact values -> who takes its place where the objective is noisy."""
PEERS = (*OUR_METHODS, *OTHERS)
GAUSSIAN_PROCESSES = (
    "optuna-gp",
    "optuna-gp-det",
    "botorch-logei",
    "botorch-qlognei",
    "bayes-opt",
    "scikit-optimize",
    "smac3",
)
"""Those of the others that have the same kind of model as ours."""
PACKAGES = {
    "uhebo": "uhebo",
    "optuna": "optuna",
    "botorch": "botorch",
    "bayes": "bayesian-optimization",
    "scikit": "scikit-optimize",
    "smac3": "smac",
    "random": "numpy",
}
"""First part of a peer's name -> the package whose version is recorded."""


def make_peer(name: str, space: Space, seed: int, trials: int | None = None, *, noisy: bool = False) -> Peer:
    """A peer by name. Ours (but `OPEN_ENDED`) is told how many trials there are to be, as our users are asked to; of
    the others only SMAC3 takes a number, and stops there without searching differently."""
    if name not in PEERS:
        raise InvalidInputError(f"unknown library {name!r}; choose among {', '.join(PEERS)}")
    if name in OUR_METHODS:
        return OptunaPeer(space, seed, our_sampler(OUR_METHODS[name], None if name == OPEN_ENDED else trials))
    return OTHERS[WITH_NOISE.get(name, name) if noisy else name](space, seed)
