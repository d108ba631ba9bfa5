"""COCO's suites `bbob-noisy` and `bbob-mixint`, by the package `coco-experiment` (module `cocoex`); needs no network.

COCO gives noisy functions without their noise-free values. Its noiseless suite has the same functions, instance by
instance, but for the scale of one and for the ellipsoids, whose conditioning differs: so 27 of the 30 noisy functions
have a noise-free value here, and the ellipsoids (116 to 118) are left out. Noise is drawn by COCO, from a stream that
its own process has; a run is not repeated digit by digit.

Functions of integers and numbers are those of the noiseless suite times a factor; the smallest value is the same one
times the factor.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from uhebo.errors import UheboError
from uhebo.space import Float, Int
from uhebo.types import Rng
from uhebo_experiments.problems.neutral_task import Params, Task

BASES: dict[int, tuple[int, float]] = {
    101: (1, 1.0), 104: (8, 1.0), 107: (1, 1.0), 110: (8, 1.0), 113: (7, 1.0), 119: (14, 1.0), 122: (17, 1.0),
    125: (19, 0.1), 128: (21, 1.0),
}  # fmt: skip
"""First noisy function of three (normal, uniform, seldom Cauchy noise) -> its noiseless function, and the scale of what
is above the smallest value."""
FACTORS = (
    1.0, 1e-3, 0.1, 0.1, 1.0, 1e-2, 1.0, 1e-2, 1e-2, 1e-3, 1e-2, 1e-4, 0.1, 1.0, 0.1, 1.0, 10.0, 1.0, 10.0, 0.1, 1.0,
    1.0, 10.0, 0.1,
)  # fmt: skip
"""Of the functions 1 to 24 of `bbob-mixint`."""
DIMENSIONS = (3, 5, 10)
"""Of noisy functions, in turn, each kind of noise with each of them."""
MIXED_DIMENSIONS = (5, 10)
"""Of mixed ones, in turn; four of five parameters are integers, with 2, 4, 8 and 16 values."""
INSTANCES = 15
"""Instances that COCO has; further seeds begin again with the first."""


def _name(function: int, dimension: int) -> str:
    return f"f{function}-{dimension}d"


NOISY = tuple(
    _name(first + kind, DIMENSIONS[(place + kind) % len(DIMENSIONS)])
    for place, first in enumerate(BASES)
    for kind in range(3)
)
MIXINT = tuple(_name(i + 1, MIXED_DIMENSIONS[i % len(MIXED_DIMENSIONS)]) for i in range(len(FACTORS)))


def cocoex() -> Any:
    """COCO's module, or an error that says how to install it."""
    try:
        return importlib.import_module("cocoex")
    except ImportError as error:
        raise UheboError(f"cocoex is not installed ({error}): pip install 'uhebo-experiments[neutral]'") from error


def _parts(name: str, seed: int) -> tuple[int, int, int]:
    function, _, dimension = name[1:-1].partition("-")
    return int(function), int(dimension), seed % INSTANCES + 1


def _problem(suite: str, function: int, dimension: int, instance: int) -> tuple[Any, Any]:
    """A suite and a problem of it, which lives as long as the suite does."""
    whole = cocoex().Suite(suite, "", f"dimensions:{dimension} instance_indices:{instance}")
    return whole, whole.get_problem_by_function_dimension_instance(function, dimension, instance)


def noisy(name: str, seed: int) -> Task:
    """A noisy function; the seed picks the instance."""
    function, dimension, instance = _parts(name, seed)
    kept = _problem("bbob-noisy", function, dimension, instance)
    base, scale = BASES[function - (function - 101) % 3]
    exact = cocoex().BareProblem("bbob", base, dimension, instance)
    optimum = float(exact.best_value())
    names = [f"x{i}" for i in range(dimension)]

    def evaluate(params: Params, _: Rng) -> tuple[float, float]:
        x = np.array([params[name] for name in names])
        return float(kept[1](x)), optimum + scale * (float(exact(x)) - optimum)

    bounds = zip(names, kept[1].lower_bounds, kept[1].upper_bounds, strict=True)
    space = {name: Float(float(low), float(high)) for name, low, high in bounds}
    return Task(name, "bbob-noisy", space, evaluate, optimum, noisy=True)


def mixint(name: str, seed: int) -> Task:
    """A function of integers and numbers; the seed picks the instance."""
    function, dimension, instance = _parts(name, seed)
    kept = _problem("bbob-mixint", function, dimension, instance)
    problem = kept[1]
    optimum = FACTORS[function - 1] * float(cocoex().BareProblem("bbob", function, dimension, instance).best_value())
    integers = int(problem.number_of_integer_variables)
    names = [f"x{i}" for i in range(dimension)]

    def evaluate(params: Params, _: Rng) -> tuple[float, float]:
        value = float(kept[1](np.array([float(params[name]) for name in names])))
        return value, value

    space = {
        name: Int(round(low), round(high)) if i < integers else Float(float(low), float(high))
        for i, (name, low, high) in enumerate(zip(names, problem.lower_bounds, problem.upper_bounds, strict=True))
    }
    return Task(name, "bbob-mixint", space, evaluate, optimum, noisy=False)
