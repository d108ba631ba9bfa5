"""HEBO and Ax, which are compared in the neutral report alone."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution, IntDistribution

from uhebo.errors import UheboError
from uhebo_experiments.peers.libraries import package, plain
from uhebo_experiments.peers.relaxed import Params
from uhebo_experiments.peers.setting import Setting


def needed(name: str, of: str) -> Any:
    """A package that not everybody has installed, or an error that says how to."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UheboError(f"{name} is not installed ({error}), which {of} needs: {INSTALL[of]}") from error


INSTALL = {
    "hebo": "pip install pymoo disjoint-set && pip install --no-deps HEBO",
    "ax": "pip install 'uhebo-experiments[neutral]'",
}
"""HEBO asks for versions of NumPy and pymoo that nobody else has any more, and runs with newer ones."""


class Hebo:
    """HEBO at its defaults."""

    def __init__(self, of: Setting) -> None:
        spaces, optimisers = needed("hebo.design_space.design_space", "hebo"), needed("hebo.optimizers.hebo", "hebo")
        package("torch").manual_seed(of.seed)
        np.random.seed(of.seed)  # noqa: NPY002 - HEBO draws from the global stream
        self._names = list(of.space)
        space = spaces.DesignSpace().parse([hebo_parameter(name, d) for name, d in of.space.items()])
        self._optimiser = optimisers.HEBO(space, scramble_seed=of.seed)
        self._asked: Any = None

    def ask(self, count: int) -> list[Params]:
        self._asked = self._optimiser.suggest(n_suggestions=count)
        return [{n: plain(row[n]) for n in self._names} for row in self._asked.to_dict("records")]

    def tell(self, points: Sequence[Params], values: Sequence[float]) -> None:  # noqa: ARG002 - it has the points
        self._optimiser.observe(self._asked, np.array(values, dtype=np.float64)[:, None])


def hebo_parameter(name: str, distribution: Any) -> dict[str, Any]:
    """A parameter as HEBO declares it."""
    if isinstance(distribution, CategoricalDistribution):
        return {"name": name, "type": "cat", "categories": list(distribution.choices)}
    kind = {(False, False): "num", (False, True): "pow", (True, False): "int", (True, True): "pow_int"}[
        isinstance(distribution, IntDistribution), distribution.log
    ]
    found = {"name": name, "type": kind, "lb": distribution.low, "ub": distribution.high}
    return found | ({"base": 10} if distribution.log else {})


class Ax:
    """Ax's client, which chooses a strategy by the space."""

    def __init__(self, of: Setting) -> None:
        logging.getLogger("ax").setLevel(logging.ERROR)
        client, configs = needed("ax.api.client", "ax"), needed("ax.api.configs", "ax")
        logging.getLogger("ax.api.client").setLevel(logging.ERROR)  # it sets its own when it is loaded
        package("torch").set_num_threads(1)
        # Its metrics and parameters are words in expressions, and some names of ours are not.
        self._names = {f"p{i:03d}": name for i, name in enumerate(of.space)}
        self._client = client.Client(random_seed=of.seed)
        self._client.configure_experiment([_ax_parameter(configs, s, of.space[n]) for s, n in self._names.items()])
        self._client.configure_optimization(objective="-loss")
        self._client.configure_generation_strategy(method="fast", initialization_random_seed=of.seed)
        self._asked: list[int] = []

    def ask(self, count: int) -> list[Params]:
        found: dict[int, Any] = {}
        while len(found) < count:  # it may hand out fewer than it is asked for
            more = self._client.get_next_trials(max_trials=count - len(found))
            if not more:
                raise UheboError(f"Ax gives {len(found)} points where {count} were asked for at once")
            found |= more
        self._asked = list(found)
        return [{name: plain(found[i][short]) for short, name in self._names.items()} for i in self._asked]

    def tell(self, points: Sequence[Params], values: Sequence[float]) -> None:  # noqa: ARG002 - it has the points
        for index, value in zip(self._asked, values, strict=True):
            self._client.complete_trial(trial_index=index, raw_data={"loss": float(value)})


def _ax_parameter(configs: Any, name: str, distribution: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        kind = "bool" if all(isinstance(choice, bool) for choice in distribution.choices) else "str"
        return configs.ChoiceParameterConfig(name=name, values=list(distribution.choices), parameter_type=kind)
    kind = "int" if isinstance(distribution, IntDistribution) else "float"
    scaling = "log" if distribution.log else "linear"
    bounds = (distribution.low, distribution.high)
    return configs.RangeParameterConfig(name=name, bounds=bounds, parameter_type=kind, scaling=scaling)
