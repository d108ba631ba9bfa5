"""Six constrained problems, 2 to 7 parameters, with an active constraint at each optimum; formulas from the literature.

Sources: Gramacy et al. (2016), Technometrics 58:1-11 (`gramacy`); Gardner et al. (2014), ICML, second simulation
(`islands`); Hock & Schittkowski (1981), problems 43 (`rosen-suzuki`) and 100 (`hs100`); Kannan & Kramer (1994)
(`pressure-vessel`). Boxes of the two of Hock & Schittkowski, which have none, are ours.
"""

from __future__ import annotations

import math

from uhebo.space import Float, Int
from uhebo_experiments.problems.practical import Evaluation, Params, Practical

STEP = 0.0625
"""Inches: sheets of steel for the pressure vessel come in multiples of it."""


def product(p: Params) -> Evaluation:
    """min x + y where x y ≥ 1."""
    return Evaluation(p["x"] + p["y"], (1.0 - p["x"] * p["y"],))


def gramacy(p: Params) -> Evaluation:
    """min x + y where 3/2 - x - 2y - sin(2π(x² - 2y))/2 ≤ 0 and x² + y² ≤ 3/2."""
    x, y = p["x"], p["y"]
    wave = 1.5 - x - 2.0 * y - 0.5 * math.sin(2.0 * math.pi * (x * x - 2.0 * y))
    return Evaluation(x + y, (wave, x * x + y * y - 1.5))


def islands(p: Params) -> Evaluation:
    """min sin x + y where sin x sin y ≤ -0.95: two small islands."""
    x, y = p["x"], p["y"]
    return Evaluation(math.sin(x) + y, (math.sin(x) * math.sin(y) + 0.95,))


def rosen_suzuki(p: Params) -> Evaluation:
    """A quadratic under three quadratics, two of them active."""
    a, b, c, d = (p[name] for name in "abcd")
    value = a * a + b * b + 2 * c * c + d * d - 5 * a - 5 * b - 21 * c + 7 * d
    first = a * a + b * b + c * c + d * d + a - b + c - d - 8
    second = a * a + 2 * b * b + c * c + 2 * d * d - a - d - 10
    third = 2 * a * a + b * b + c * c + 2 * a - b - d - 5
    return Evaluation(value, (first, second, third))


def pressure_vessel(p: Params) -> Evaluation:
    """Cost of a vessel: shell and head in steps of a sixteenth of an inch, radius, length."""
    shell, head, radius, length = STEP * p["shell"], STEP * p["head"], p["radius"], p["length"]
    cost = (
        0.6224 * shell * radius * length
        + 1.7781 * head * radius**2
        + 3.1661 * shell**2 * length
        + 19.84 * shell**2 * radius
    )
    volume = math.pi * radius**2 * length + 4.0 / 3.0 * math.pi * radius**3
    return Evaluation(cost, (0.0193 * radius - shell, 0.00954 * radius - head, 1_296_000.0 - volume))


def hs100(p: Params) -> Evaluation:
    """Seven parameters, four constraints, two of them active."""
    a, b, c, d, e, f, g = (p[name] for name in "abcdefg")
    value = (
        (a - 10) ** 2
        + 5 * (b - 12) ** 2
        + c**4
        + 3 * (d - 11) ** 2
        + 10 * e**6
        + 7 * f**2
        + g**4
        - 4 * f * g
        - 10 * f
        - 8 * g
    )
    return Evaluation(
        value,
        (
            2 * a**2 + 3 * b**4 + c + 4 * d**2 + 5 * e - 127,
            7 * a + 3 * b + 10 * c**2 + d - e - 282,
            23 * a + b**2 + 6 * f**2 - 8 * g - 196,
            4 * a**2 + b**2 - 3 * a * b + 2 * c**2 + 5 * f - 11 * g,
        ),
    )


CONSTRAINED = {
    case.name: case
    for case in (
        Practical(
            "product",
            {"x": Float(0.0, 3.0), "y": Float(0.0, 3.0)},
            product,
            2.0,
            {"x": 1.0, "y": 1.0},
            "a line under a hyperbola",
        ),
        Practical(
            "gramacy",
            {"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)},
            gramacy,
            0.59978805201,
            {"x": 0.1951226886, "y": 0.4046653635},
            "a line under a wave",
        ),
        Practical(
            "islands",
            {"x": Float(0.0, 6.0), "y": Float(0.0, 6.0)},
            islands,
            math.asin(0.95) - 1.0,
            {"x": 1.5 * math.pi, "y": math.asin(0.95) + 1e-12},
            "two islands, 1.7 % of the space",
        ),
        Practical(
            "rosen-suzuki",
            {name: Float(-3.0, 3.0) for name in "abcd"},
            rosen_suzuki,
            -44.0,
            {"a": 0.0, "b": 1.0, "c": 2.0, "d": -1.0},
            "a quadratic, three constraints",
        ),
        Practical(
            "pressure-vessel",
            {"shell": Int(1, 99), "head": Int(1, 99), "radius": Float(10.0, 200.0), "length": Float(10.0, 200.0)},
            pressure_vessel,
            6059.714335,
            {"shell": 13, "head": 7, "radius": 42.0984455958, "length": 176.63659585},
            "two integers, three constraints",
        ),
        Practical(
            "hs100",
            {name: Float(-5.0, 5.0) for name in "abcdefg"},
            hs100,
            680.6300573,
            {
                "a": 2.3304995251,
                "b": 1.9513723691,
                "c": -0.4775415442,
                "d": 4.3657262141,
                "e": -0.6244870208,
                "f": 1.0381310703,
                "g": 1.5942269396,
            },
            "seven parameters, four constraints",
        ),
    )
}
"""Name -> problem."""
