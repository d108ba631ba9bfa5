"""Libraries on problems with several objectives: each at its defaults, its own start-up included.

uhebo, Optuna's GPSampler, NSGAIISampler, TPESampler   a study with several directions, `trial.set_constraint`
BoTorch (qLogNEHVI)   one SingleTaskGP per outcome after ten Sobol points; 128 samples, as in its tutorial; the
                      reference point by its own rule, because nobody is told the one that counts
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import optuna

from uhebo.optuna_.sampler import UHESampler
from uhebo.types import Array
from uhebo_experiments.peers.libraries import package
from uhebo_experiments.peers.practical import SOBOL_POINTS, suggested
from uhebo_experiments.peers.relaxed import Relaxed
from uhebo_experiments.problems.practical import Params
from uhebo_experiments.problems.several import Outcome, Several

SAMPLES = 128
"""Of the posterior, in BoTorch's acquisition."""


class Entry(Protocol):
    """An optimiser that minimises several objectives; it may be told points that it has not asked for."""

    def ask(self) -> Params: ...

    def tell(self, params: Params, found: Outcome) -> None: ...


class OptunaEntry:
    """Any Optuna sampler, ours among them: parameters are asked for one by one, as an objective would."""

    def __init__(self, case: Several, sampler: optuna.samplers.BaseSampler) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._case = case
        self.study = optuna.create_study(directions=["minimize"] * case.objectives, sampler=sampler)
        self._trial: optuna.Trial | None = None

    def ask(self) -> Params:
        self._trial = trial = self.study.ask()
        return {name: suggested(trial, name, distribution) for name, distribution in self._case.space.items()}

    def tell(self, params: Params, found: Outcome) -> None:
        constraints = {f"c{i}": value for i, value in enumerate(found.constraints)}
        if self._trial is None:
            space = dict(self._case.space)
            self.study.add_trial(
                optuna.create_trial(
                    params=dict(params), distributions=space, values=found.values, constraints=constraints or None
                )
            )
            return
        for name, value in constraints.items():
            self._trial.set_constraint(name, value)
        self.study.tell(self._trial, found.values)
        self._trial = None


class BoTorch:
    """qLogNEHVI under one SingleTaskGP per outcome, the constraints among them."""

    def __init__(self, case: Several, seed: int) -> None:
        self._torch = package("torch")
        self._torch.set_num_threads(1)
        self._torch.manual_seed(seed)
        self._case, self._relaxed = case, Relaxed(case.space)
        draw = self._torch.quasirandom.SobolEngine(self._relaxed.width, scramble=True, seed=seed).draw
        self._start = draw(SOBOL_POINTS, dtype=self._torch.double).numpy()
        self._X: list[Array] = []
        self._outcomes: list[tuple[float, ...]] = []

    def ask(self) -> Params:
        if len(self._X) < SOBOL_POINTS:
            return self._relaxed.decode(self._start[len(self._X)])
        torch, width, m = self._torch, self._relaxed.width, self._case.objectives
        models, of_several = package("botorch.models"), "botorch.acquisition.multi_objective"
        X = torch.tensor(np.array(self._X), dtype=torch.double)
        Y = torch.tensor(self._outcomes, dtype=torch.double)
        gps = models.ModelListGP(*(models.SingleTaskGP(X, Y[:, [i]]) for i in range(Y.shape[1])))
        likelihood = package("gpytorch.mlls").SumMarginalLogLikelihood(gps.likelihood, gps)
        package("botorch.fit").fit_gpytorch_mll(likelihood)
        target = package(f"{of_several}.logei").qLogNoisyExpectedHypervolumeImprovement(
            gps,
            ref_point=self._reference(Y),
            X_baseline=X,
            sampler=package("botorch.sampling").SobolQMCNormalSampler(torch.Size([SAMPLES])),
            objective=package(f"{of_several}.objective").IdentityMCMultiOutputObjective(outcomes=list(range(m))),
            constraints=[lambda Z, i=i: Z[..., i] for i in range(m, Y.shape[1])] or None,
            prune_baseline=True,
        )
        cube = torch.tensor([[0.0] * width, [1.0] * width], dtype=torch.double)
        found, _ = package("botorch.optim").optimize_acqf(target, cube, q=1, num_restarts=10, raw_samples=512)
        return self._relaxed.decode(found[0].detach().numpy())

    def _reference(self, Y: Any) -> Any:
        """BoTorch's rule, on the front of the feasible points; on that of all of them while none is."""
        tools, m = "botorch.utils.multi_objective", self._case.objectives
        feasible = Y[(Y[:, m:] <= 0.0).all(dim=1)]
        values = (feasible if len(feasible) else Y)[:, :m]
        front = values[package(f"{tools}.pareto").is_non_dominated(values)]
        return package(f"{tools}.hypervolume").infer_reference_point(front)

    def tell(self, params: Params, found: Outcome) -> None:
        self._X.append(self._relaxed.encode(dict(params)))
        self._outcomes.append((*(-value for value in found.values), *found.constraints))


def _gp(case: Several, seed: int, _: int) -> Entry:
    package("torch").set_num_threads(1)  # loaded only here, so no limit set before holds for it
    return OptunaEntry(case, optuna.samplers.GPSampler(seed=seed))


ENTRIES: dict[str, Callable[[Several, int, int], Entry]] = {
    "uhebo": lambda case, seed, trials: OptunaEntry(case, UHESampler(seed=seed, n_trials=trials)),
    "optuna-gp": _gp,
    "optuna-nsga2": lambda case, seed, _: OptunaEntry(case, optuna.samplers.NSGAIISampler(seed=seed)),
    "optuna-tpe": lambda case, seed, _: OptunaEntry(case, optuna.samplers.TPESampler(seed=seed)),
    "botorch": lambda case, seed, _: BoTorch(case, seed),
}
"""Name -> maker of an optimiser for a problem, a seed and a number of trials, which only ours is told."""
