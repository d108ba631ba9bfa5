"""Libraries on practical problems: each at its defaults, its own start-up included, told of constraints, failures and
conditions in its own way.

    uhebo, Optuna's GPSampler and TPESampler   `trial.set_constraint`, a failed trial, parameters asked for as needed
    SMAC3 (HyperparameterOptimizationFacade)   conditions of ConfigSpace; it has no outcome constraints
    BoTorch (qLogNEI with constraints)         one SingleTaskGP per outcome, after ten Sobol points
    random                                     uniform points, parents before children
"""

from __future__ import annotations

import importlib.metadata
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from uhebo.errors import InvalidInputError
from uhebo.optuna_.sampler import UHESampler
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.types import Array
from uhebo_experiments.peers.libraries import PACKAGES, package, plain, smac_parameter
from uhebo_experiments.peers.relaxed import Relaxed
from uhebo_experiments.problems.practical import Evaluation, Params, Practical
from uhebo_experiments.revision import revision

SOBOL_POINTS = 10
"""BoTorch has no start-up of its own: as many points as the other samplers start with."""


class Entry(Protocol):
    """An optimiser that minimises a practical problem."""

    @property
    def role(self) -> str:
        """Of the last suggestion, where the optimiser tells: "initial", "model", …"""
        ...

    def ask(self) -> Params: ...

    def tell(self, params: Params, found: Evaluation) -> None: ...


class Random:
    """Uniform points; parameters are drawn only where they are active."""

    role = ""

    def __init__(self, case: Practical, seed: int) -> None:
        self._case, self._rng = case, np.random.default_rng([seed, 1])

    def ask(self) -> Params:
        return self._case.decode(self._rng.random(len(self._case.space)))

    def tell(self, params: Params, found: Evaluation) -> None:
        pass


class OptunaEntry:
    """Any Optuna sampler, ours among them: parameters are asked for one by one, as an objective would."""

    def __init__(self, case: Practical, sampler: optuna.samplers.BaseSampler) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._case = case
        self.study = optuna.create_study(sampler=sampler)
        self._trial: optuna.Trial | None = None

    def ask(self) -> Params:
        self._trial = trial = self.study.ask()
        params: dict[str, Any] = {}
        for name, distribution in self._case.space.items():
            if self._case.active(name, params):
                params[name] = suggested(trial, name, distribution)
        return params

    def tell(self, params: Params, found: Evaluation) -> None:  # noqa: ARG002 - the trial has them
        assert self._trial is not None
        for i, value in enumerate(found.constraints):
            self._trial.set_constraint(f"c{i}", value)
        if found.value is None:
            self.study.tell(self._trial, state=TrialState.FAIL)
        else:
            self.study.tell(self._trial, found.value)

    def add(self, params: Params, found: Evaluation) -> None:
        """A point that was not asked for."""
        constraints = {f"c{i}": value for i, value in enumerate(found.constraints)}
        distributions = {name: self._case.space[name] for name in params}
        self.study.add_trial(
            optuna.create_trial(
                params=dict(params), distributions=distributions, value=found.value, constraints=constraints or None
            )
        )

    @property
    def role(self) -> str:
        last = self.study.get_trials(deepcopy=False)[-1]
        return str(last.system_attrs.get(ATTRIBUTE, {}).get("role", ""))


def suggested(trial: optuna.Trial, name: str, distribution: BaseDistribution) -> Any:
    """A parameter as a user's objective asks for it."""
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    assert isinstance(distribution, (FloatDistribution, IntDistribution))  # all that Optuna has
    suggest: Callable[..., Any] = (
        trial.suggest_int if isinstance(distribution, IntDistribution) else trial.suggest_float
    )
    return suggest(name, distribution.low, distribution.high, log=distribution.log)


class BoTorch:
    """A SingleTaskGP per outcome at its default priors, and qLogNEI weighed by the probability of feasibility."""

    role = ""

    def __init__(self, case: Practical, seed: int) -> None:
        self._torch = package("torch")
        self._torch.set_num_threads(1)
        self._torch.manual_seed(seed)
        self._relaxed = Relaxed(case.space)
        start = self._torch.quasirandom.SobolEngine(self._relaxed.width, scramble=True, seed=seed)
        self._start = start.draw(SOBOL_POINTS, dtype=self._torch.double).numpy()
        self._X: list[Array] = []
        self._outcomes: list[tuple[float, ...]] = []

    def ask(self) -> Params:
        if len(self._X) < SOBOL_POINTS:
            return self._relaxed.decode(self._start[len(self._X)])
        torch, width = self._torch, self._relaxed.width
        models, objectives = package("botorch.models"), package("botorch.acquisition.objective")
        X = torch.tensor(np.array(self._X), dtype=torch.double)
        Y = torch.tensor(self._outcomes, dtype=torch.double)
        gps = models.ModelListGP(*(models.SingleTaskGP(X, Y[:, [i]]) for i in range(Y.shape[1])))
        likelihood = package("gpytorch.mlls").SumMarginalLogLikelihood(gps.likelihood, gps)
        package("botorch.fit").fit_gpytorch_mll(likelihood)
        target = package("botorch.acquisition.logei").qLogNoisyExpectedImprovement(
            gps,
            X_baseline=X,
            objective=objectives.GenericMCObjective(lambda Z, X=None: Z[..., 0]),  # noqa: ARG005
            constraints=[lambda Z, i=i: Z[..., i] for i in range(1, Y.shape[1])] or None,
            prune_baseline=True,
        )
        cube = torch.tensor([[0.0] * width, [1.0] * width], dtype=torch.double)
        found, _ = package("botorch.optim").optimize_acqf(target, cube, q=1, num_restarts=10, raw_samples=512)
        return self._relaxed.decode(found[0].detach().numpy())

    def tell(self, params: Params, found: Evaluation) -> None:
        if found.value is None:
            raise InvalidInputError("BoTorch has no word for a failed evaluation")
        self._X.append(self._relaxed.encode(dict(params)))
        self._outcomes.append((-found.value, *found.constraints))


class Smac:
    """SMAC3's facade for hyperparameters (a random forest), with its own initial design and the real conditions."""

    role = ""

    def __init__(self, case: Practical, seed: int) -> None:
        smac, configspace = package("smac"), package("ConfigSpace")
        logging.getLogger("smac").setLevel(logging.ERROR)
        space = configspace.ConfigurationSpace(seed=seed)
        made = {name: smac_parameter(configspace, name, distribution) for name, distribution in case.space.items()}
        space.add(list(made.values()))
        space.add(
            [
                configspace.InCondition(made[name], made[condition.parent], list(condition.values))
                for name, condition in case.conditions.items()
            ]
        )
        self._folder = tempfile.TemporaryDirectory()
        scenario = smac.Scenario(
            space, output_directory=Path(self._folder.name), deterministic=True, n_trials=case.trials, seed=seed
        )
        self._facade = smac.HyperparameterOptimizationFacade(
            scenario,
            lambda config, seed=0: 0.0,  # noqa: ARG005 - never called: points are asked for and told
            overwrite=True,
            logging_level=False,
        )
        self._info: Any = None

    def ask(self) -> Params:
        self._info = self._facade.ask()
        return {name: plain(value) for name, value in dict(self._info.config).items()}

    def tell(self, params: Params, found: Evaluation) -> None:  # noqa: ARG002 - SMAC3 has them
        history = package("smac.runhistory.dataclasses")
        self._facade.tell(self._info, history.TrialValue(cost=found.value), save=False)


def _gp(case: Practical, seed: int) -> Entry:
    package("torch").set_num_threads(1)  # loaded only here, so no limit set before holds for it
    return OptunaEntry(case, optuna.samplers.GPSampler(seed=seed))


ENTRIES: dict[str, Callable[[Practical, int], Entry]] = {
    "uhebo": lambda case, seed: OptunaEntry(case, UHESampler(seed=seed, n_trials=case.trials)),
    "optuna-gp": _gp,
    "optuna-tpe": lambda case, seed: OptunaEntry(case, optuna.samplers.TPESampler(seed=seed)),
    "random": Random,
    "smac3": Smac,
    "botorch": BoTorch,
}
"""Name -> maker of an optimiser for a problem and a seed."""


def version(entry: str) -> str:
    """Of the package behind an entry."""
    name = PACKAGES[entry.partition("-")[0]]
    return revision() if name == "uhebo" else importlib.metadata.version(name)
