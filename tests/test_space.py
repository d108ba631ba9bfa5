"""Search spaces: what is refused, and that rows and values stand for each other."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import chisquare

from uhebo.errors import InvalidInputError, UheboWarning
from uhebo.space import ALL_NEIGHBOURS, Categorical, Float, Int, SearchSpace, as_distributions

LARGEST = sys.float_info.max
finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=5e-324, allow_infinity=False)
primitive = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


def quietly(build: Callable[[], BaseDistribution]) -> BaseDistribution:
    """A step that does not divide the range is warned about elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UheboWarning)
        return build()


@st.composite
def floats(draw: st.DrawFn) -> BaseDistribution:
    log = draw(st.booleans())
    low, high = sorted(draw(st.tuples(positive, positive) if log else st.tuples(finite, finite)))
    return Float(low, high, log=log)


@st.composite
def steps(draw: st.DrawFn) -> BaseDistribution:
    step = draw(st.sampled_from([0.1, 0.25, 0.3, 1e-3, 7.0, 1e-5, 1e10]))
    low = step * draw(st.integers(-1000, 1000))
    return quietly(lambda: Float(low, low + step * draw(st.floats(0.0, 3000.0)), step=step))


@st.composite
def ints(draw: st.DrawFn) -> BaseDistribution:
    log, largest = draw(st.booleans()), draw(st.sampled_from([5, 1000, 10**12]))
    low, high = sorted(draw(st.tuples(*[st.integers(1 if log else -largest, largest)] * 2)))
    step = 1 if log else draw(st.integers(1, 20))
    return quietly(lambda: Int(low, high, log=log, step=step))


categoricals = st.lists(primitive, min_size=1, max_size=40, unique_by=lambda c: "nan" if c != c else c).map(Categorical)
spaces = st.dictionaries(st.text(min_size=1, max_size=5), floats() | steps() | ints() | categoricals, max_size=6)
units = st.floats(0.0, 1.0)


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and (one == other or (one != one and other != other))


# Rows and values


@given(spaces, st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no failure
def test_any_row_decodes_to_a_point_of_the_space_that_encodes_to_the_snapped_row(
    distributions: dict[str, BaseDistribution], data: st.DataObject
) -> None:
    space = SearchSpace.of(distributions)
    row = np.array([data.draw(units) * max(k - 1, 1) for k in space.domain.categories])
    params = space.decode(row)
    assert list(params) == list(distributions)
    for name, distribution in distributions.items():
        value = params[name]
        assert distribution._contains(distribution.to_internal_repr(value))
        if isinstance(distribution, CategoricalDistribution):
            assert any(value is choice for choice in distribution.choices)
        else:
            assert type(value) is (int if isinstance(distribution, IntDistribution) else float)
    assert space.contains(params)
    again = space.encode(params)
    assert np.all((again >= 0.0) & (again <= np.maximum(1, np.array(space.domain.categories) - 1)))
    discrete = np.array(space.values, dtype=bool)
    np.testing.assert_array_equal(again[discrete], space.snap(row)[discrete])
    decoded = space.decode(again)
    assert all(same(decoded[n], params[n]) for n, k in zip(space.names, space.values, strict=True) if k)


@given(floats(), units)
def test_floats_survive_the_round_trip(distribution: FloatDistribution, unit: float) -> None:
    space = SearchSpace.of({"x": distribution})
    low, high = distribution.low, distribution.high
    start, end = (math.log(low), math.log(high)) if distribution.log else (low, high)
    between = start * (1 - unit) + end * unit
    value = min(max(float(np.exp(between)) if distribution.log else between, low), high)
    found = space.decode(space.encode({"x": value}) if space.names else [])["x"]
    assert low <= found <= high
    # As precise as the bounds allow: relative after a log, else relative to the larger bound.
    assert abs(found - value) <= 1e-12 * (value if distribution.log else max(abs(low), abs(high))) + 5e-324


@given(ints(), st.data())
def test_integers_survive_the_round_trip(distribution: IntDistribution, data: st.DataObject) -> None:
    space = SearchSpace.of({"x": distribution})
    count = (distribution.high - distribution.low) // distribution.step
    value = distribution.low + distribution.step * data.draw(st.integers(0, count))
    assert same(space.decode(space.encode({"x": value}))["x"], value)
    assert space.size == count + 1


@given(categoricals)
def test_categories_survive_the_round_trip(distribution: CategoricalDistribution) -> None:
    space = SearchSpace.of({"x": distribution})
    for choice in distribution.choices:
        assert same(space.decode(space.encode({"x": choice}))["x"], choice)
        assert space.contains({"x": choice})


def test_stepped_floats_are_the_decimals_the_user_meant() -> None:
    space = SearchSpace.of({"x": Float(0.0, 1.0, step=0.1)})
    found = [space.decode(space.snap([(i + 0.5) / 11]))["x"] for i in range(11)]
    assert found == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert [space.decode(space.encode({"x": x}))["x"] for x in found] == found
    assert space.contains({"x": 0.3 + 5e-10})  # as near as Optuna allows
    assert not space.contains({"x": 0.3 + 5e-9})
    assert space.encode({"x": 3 * 0.1}) == space.encode({"x": 0.3})  # Optuna's own samplers give 0.30000000000000004


@pytest.mark.parametrize(
    ("low", "count", "step"),
    [(-1e6, 2 * 10**8, 0.01), (0.0, 152_354_031, 1e300), (-3e307, 8 * 10**7, 1e300), (-5e-4, 6 * 10**7, 7e-4)],
)
def test_very_many_steps_stay_on_what_optuna_takes_for_the_grid(low: float, count: int, step: float) -> None:
    distribution = quietly(lambda: Float(low, low + count * step, step=step))
    space, rng = SearchSpace.of({"x": distribution}), np.random.default_rng(0)
    assert all(distribution._contains(space.decode(rng.random(1))["x"]) for _ in range(3000))


def test_uniform_rows_are_uniform_values() -> None:
    space = SearchSpace.of(
        {
            "i": Int(-3, 6),
            "s": Int(0, 12, step=4),
            "f": Float(0, 1, step=0.25),
            "c": Categorical(["a", None, 2]),
        }
    )
    points = [space.decode(row) for row in space.domain.uniform(np.random.default_rng(0), 6000)]
    for name in space.names:
        _, counts = np.unique([str(point[name]) for point in points], return_counts=True)
        assert len(counts) == space.values[space.names.index(name)]
        assert chisquare(counts).pvalue > 1e-3


def test_uniform_rows_are_log_integers_as_optuna_samples_them() -> None:
    space = SearchSpace.of({"i": Int(1, 8, log=True)})
    found = [space.decode(row)["i"] for row in np.random.default_rng(0).random((20_000, 1))]
    edges = np.log(np.arange(1, 10) - 0.5)
    expected = np.diff(edges) / (edges[-1] - edges[0])
    assert chisquare(np.bincount(found, minlength=9)[1:], 20_000 * expected).pvalue > 1e-3


def test_rows_are_linear_in_the_value_or_its_log() -> None:
    space = SearchSpace.of(
        {"x": Float(2.0, 4.0), "l": Float(1e-4, 1.0, log=True), "i": Int(0, 3), "c": Categorical(["a", None])}
    )
    np.testing.assert_allclose(space.encode({"x": 2.5, "l": 1e-3, "i": 1, "c": None}), [0.25, 0.25, 0.375, 1.0])
    assert space.domain.categories == (0, 0, 0, 2)
    assert space.values == (0, 0, 4, 2)
    assert space.size == math.inf


def test_many_points_are_encoded_as_one_by_one() -> None:
    space = SearchSpace.of(
        {"x": Float(-1, 1), "i": Int(1, 99, log=True), "c": Categorical(list("abc")), "k": Int(2, 2)}
    )
    points = [space.decode(row) for row in space.domain.uniform(np.random.default_rng(1), 50)]
    np.testing.assert_array_equal(space.encode_many(points), [space.encode(point) for point in points])
    assert space.encode_many([]).shape == (0, 3)
    assert space.contains_many(points).all()


def test_numpy_scalars_are_taken_and_never_given() -> None:
    space = SearchSpace.of(
        {
            "x": Float(np.float32(0), np.float64(1)),  # type: ignore[arg-type]
            "i": Int(np.int64(0), np.int32(9)),  # type: ignore[arg-type]
            "c": Categorical(np.array(["a", "b"])),  # type: ignore[arg-type]
            "b": Categorical([np.bool_(True), np.bool_(False)]),
        }
    )
    row = space.encode({"x": np.float16(0.5), "i": np.int8(3), "c": np.str_("b"), "b": np.bool_(False)})
    assert [type(value) for value in space.decode(row).values()] == [float, int, str, bool]
    assert space.decode(row) == {"x": 0.5, "i": 3, "c": "b", "b": False}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "'x' is missing in point 1"),
        ({"x": 1.5, "i": 1, "c": "a"}, "'x' is 1.5"),
        ({"x": math.nan, "i": 1, "c": "a"}, "'x' is nan"),
        ({"x": "0.5", "i": 1, "c": "a"}, "'x' is '0.5'"),
        ({"x": 10**400, "i": 1, "c": "a"}, "'x' is 1000"),
        ({"x": 0.5, "i": 1.5, "c": "a"}, "'i' is 1.5"),
        ({"x": 0.5, "i": 2, "c": "a"}, "'i' is 2"),
        ({"x": 0.5, "i": 1, "c": "z"}, "'c' is 'z'"),
        ({"x": 0.5, "i": 1, "c": ["a"]}, "'c' is"),
        ({"x": 0.5, "i": 1, "c": None}, "'c' is None"),
    ],
)
def test_points_outside_the_space_are_refused_by_name(params: dict[str, Any], message: str) -> None:
    space = SearchSpace.of({"x": Float(0, 1), "i": Int(1, 5, step=2), "c": Categorical(["a", "b"])})
    good = {"x": 0.5, "i": 1, "c": "a", "other": 3}
    assert space.contains(good)
    assert not space.contains(params)
    assert space.contains_many([good, params]).tolist() == [True, False]
    with pytest.raises(InvalidInputError, match=message):
        space.encode_many([good, params])


@pytest.mark.parametrize("row", [[0.5], [0.5, 0.5, 0.5], [0.5, math.nan], 0.5, [[0.5, 0.5]], [[0.5, 0.5]] * 2])
def test_a_row_that_is_none_is_refused(row: Any) -> None:
    space = SearchSpace.of({"x": Float(0, 1), "y": Float(0, 1)})
    with pytest.raises(InvalidInputError, match=r"expected (2 columns without NaN|\(2,\))"):
        space.decode(row)


def test_rows_outside_the_cube_are_clipped() -> None:
    space = SearchSpace.of({"x": Float(0, 1), "i": Int(1, 9, log=True), "c": Categorical(["a", "b", "c"])})
    assert space.decode([-1, -math.inf, -5]) == {"x": 0.0, "i": 1, "c": "a"}
    assert space.decode([2, math.inf, 7]) == {"x": 1.0, "i": 9, "c": "c"}
    given_rows = np.full((2, 3), 0.55)
    snapped = space.snap(given_rows)
    assert np.all(given_rows == 0.55)
    assert snapped.shape == (2, 3)
    assert snapped[0, 2] == 1.0


# Neighbours


def test_neighbours_are_all_other_values_of_a_small_column() -> None:
    space = SearchSpace.of({"i": Int(0, 8, step=2), "c": Categorical(["a", "b", None]), "x": Float(0, 1)})
    row = np.array([0.5, 1.0, 0.123])
    assert [space.decode(near)["i"] for near in space.neighbours(row, 0)] == [0, 2, 6, 8]
    assert [space.decode(near)["c"] for near in space.neighbours(row, 1)] == ["a", None]
    assert np.all(space.neighbours(row, 0)[:, 1:] == row[1:])
    assert space.neighbours(row, 2).shape == (0, 3)


@pytest.mark.parametrize("log", [False, True])
def test_neighbours_in_a_long_column_are_powers_of_two_away(log: bool) -> None:
    space = SearchSpace.of({"i": Int(1, 1000, log=log)})
    found = [space.decode(near)["i"] for near in space.neighbours(space.encode({"i": 10}), 0)]
    assert found == [2, 6, 8, 9, 11, 12, 14, 18, 26, 42, 74, 138, 266, 522]
    assert space.values[0] > ALL_NEIGHBOURS


# The table of faults


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: Float(2, 1), "low=2.0 is above high=1.0"),
        (lambda: Int(2, 1), "low=2 is above high=1"),
        (lambda: Float(math.nan, 1), "low is nan; expected a finite number"),
        (lambda: Float(0, math.inf), "high is inf; expected a finite number"),
        (lambda: Float(0, 10**400), "high is 1000.*expected a finite"),
        (lambda: Float(0, 1, step=math.nan), "step is nan; expected a finite number"),
        (lambda: Float(0, 1, log=True), "low=0.0 with log=True"),
        (lambda: Float(-1, 1, log=True), "low=-1.0 with log=True"),
        (lambda: Int(0, 1, log=True), "low=0 with log=True"),
        (lambda: Float(1, 2, log=True, step=0.1), "step=0.1 with log=True"),
        (lambda: Int(1, 9, log=True, step=2), "step=2 with log=True"),
        (lambda: Float(0, 1, step=0), "step is 0; expected a finite number > 0"),
        (lambda: Int(0, 1, step=-1), "step is -1; expected an integer >= 1"),
        (lambda: Float("0", 1), "low is '0'; expected a finite number; use Categorical"),  # type: ignore[arg-type]
        (lambda: Float(0, None), "high is None; expected a finite number"),  # type: ignore[arg-type]
        (lambda: Float(False, 1), "low is .*False.*; expected a finite number"),
        (lambda: Float(np.bool_(False), 1), "low is .*False.*; expected a finite number"),  # type: ignore[arg-type]
        (lambda: Float(Fraction(1, 3), 1), "expected a finite number"),  # type: ignore[arg-type]
        (lambda: Int(0.0, 1), "low is 0.0; expected an integer; use Float"),  # type: ignore[arg-type]
        (lambda: Int(False, True), "low is False; expected an integer"),
        (lambda: Int(0, 4, step=0.5), "step is 0.5; expected an integer >= 1"),  # type: ignore[arg-type]
        (lambda: Float(-LARGEST, LARGEST, step=1e300), "too fine for doubles"),
        (lambda: Float(1e16, 1e16 + 10, step=0.1), "too fine for doubles"),
        (lambda: Categorical([]), "no choices"),
        (lambda: Categorical("abc"), "choices are 'abc'"),
        (lambda: Categorical({1, 2}), "choices are {1, 2}"),  # type: ignore[arg-type]
        (lambda: Categorical([[1], [2]]), "not hashable"),
    ],
)
def test_row_16_impossible_declarations_are_refused(declare: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        declare()


@pytest.mark.parametrize(
    ("given_space", "message"),
    [
        ({"x": (2, 1)}, "parameter 'x': low=2 is above high=1"),
        ({"x": (0.0, math.nan)}, "parameter 'x': high is nan"),
        ({"x": ("a", "b")}, r"parameter 'x': got \('a', .*; for choices write a list"),
        ({"x": (1, 2, 3)}, r"parameter 'x': got \(1, 2, 3\)"),
        ({"x": []}, "parameter 'x': there are no choices"),
        ({"x": 3}, "parameter 'x': got 3, expected"),
        ({"x": FloatDistribution(math.nan, 1)}, "parameter 'x': low is nan"),
        ({"x": FloatDistribution(0, math.inf)}, "parameter 'x': high is inf"),
        ({"x": IntDistribution(0, 2**60)}, "parameter 'x': .* beyond 2"),
        ({"x": CategoricalDistribution([1, True])}, "parameter 'x': the choices 1 and True"),
        ({"": (0, 1)}, "named ''"),
        ({3: (0, 1)}, "named 3"),
        ([("x", (0, 1))], "expected a dict"),
    ],
)
def test_row_16_impossible_spaces_are_refused_by_name(given_space: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        as_distributions(given_space)
    with pytest.raises(InvalidInputError, match=message):
        SearchSpace.of(given_space)


def test_shorthands() -> None:
    own = FloatDistribution(1, 2, log=True)
    assert as_distributions({"i": (1, 5), "f": (1, 5.0), "c": [1, "a", None], "d": own}) == {
        "i": IntDistribution(1, 5),
        "f": FloatDistribution(1, 5),
        "c": CategoricalDistribution((1, "a", None)),
        "d": own,
    }


def test_row_17_what_cannot_vary_is_a_constant_and_not_modelled() -> None:
    fixed = {"f": Float(2, 2), "g": Float(3, 3, log=True), "i": Int(7, 7, log=True), "c": Categorical([None])}
    space = SearchSpace.of({"f": fixed["f"], "x": Float(0, 1), **fixed})
    assert space.constants == {"f": 2.0, "g": 3.0, "i": 7, "c": None}
    assert space.names == ("x",)
    assert space.domain.dimension == 1
    assert space.decode([0.5]) == {"f": 2.0, "x": 0.5, "g": 3.0, "i": 7, "c": None}
    assert list(space.decode([0.5])) == ["f", "x", "g", "i", "c"]
    assert not space.contains({**space.decode([0.5]), "i": 8})
    only = SearchSpace.of(fixed)
    assert (only.names, only.size, only.decode([])) == ((), 1, only.constants)


@pytest.mark.parametrize(
    ("low", "high", "log"),
    [
        (0.0, 1e-300, False),
        (0.0, 5e-324, False),
        (1.0, math.nextafter(1.0, 2.0), False),
        (-1e300, 1e300, False),
        (-LARGEST, LARGEST, False),
        (0.0, LARGEST, False),
        (1e-300, 1e300, True),
        (5e-324, LARGEST, True),
        (1e-6, LARGEST, True),  # the exponential of the rounded end overflows
        (1e300, math.nextafter(1e300, LARGEST), True),
        (5e-324, 1e-323, True),
        (1.0, 1.0 + 1e-12, True),
    ],
)
def test_row_18_extreme_widths_stay_inside_the_bounds(low: float, high: float, log: bool) -> None:
    space = SearchSpace.of({"x": Float(low, high, log=log)})
    found = [space.decode([u])["x"] for u in (0.0, 1e-300, 0.25, 0.5, 0.75, 1.0)]
    assert all(low <= x <= high for x in found)
    assert found == sorted(found)
    assert found[0] == pytest.approx(low, rel=1e-12)
    assert found[-1] == pytest.approx(high, rel=1e-12)
    rows = space.encode_many([{"x": x} for x in (low, *found, high)])
    assert np.all((rows >= 0.0) & (rows <= 1.0))
    assert (rows[0], rows[-1]) == (0.0, 1.0)


def test_row_19_a_step_that_does_not_divide_the_range_is_adjusted_and_warned_once() -> None:
    with pytest.warns(UheboWarning, match="high is now 9, ") as caught:
        assert Int(0, 10, step=3) == IntDistribution(0, 9, step=3)
    assert len(caught) == 1
    with pytest.warns(UheboWarning, match=r"high is now 0\.9, ") as caught:
        assert Float(0, 1, step=0.3) == FloatDistribution(0, 0.9, step=0.3)
    assert len(caught) == 1
    with pytest.warns(UheboWarning, match="high is now 0.0, "):
        assert Float(0, 1, step=5).single()
    assert Float(0, 1, step=0.1).high == 1.0  # divides, as decimals do


def test_row_20_integers_beyond_what_doubles_hold_are_refused() -> None:
    for low, high in ((0, 2**53 + 1), (-(2**53) - 1, 0), (-(2**53), 2**53), (2**70, 2**70 + 5)):
        with pytest.raises(InvalidInputError, match="beyond 2"):
            Int(low, high)
    for low, high in ((2**53 - 7, 2**53), (-(2**53), -(2**53) + 9)):
        space = SearchSpace.of({"i": Int(low, high)})
        assert [space.decode(space.encode({"i": i}))["i"] for i in range(low, high + 1)] == list(range(low, high + 1))
    wide = SearchSpace.of({"i": Int(0, 2**51 - 1)})
    for i in (0, 1, 2**50 + 1, 2**51 - 2, 2**51 - 1):
        assert wide.decode(wide.encode({"i": i})) == {"i": i}


def test_row_21_a_discrete_space_knows_its_size_exactly() -> None:
    space = SearchSpace.of(
        {"c": Categorical(["a", "b"]), "i": Int(0, 9, step=3), "f": Float(0, 1, step=0.5), "k": Int(1, 1)}
    )
    assert space.size == 2 * 4 * 3
    assert SearchSpace.of({str(i): Int(1, 10**15) for i in range(30)}).size == 10**450  # beyond any double


def test_row_22_the_empty_space_has_one_empty_point() -> None:
    space = SearchSpace.of({})
    assert (space.names, space.size, space.decode([])) == ((), 1, {})
    assert space.encode({}).shape == (0,)
    assert space.contains({})


def test_row_23_a_thousand_categories() -> None:
    choices = [f"c{i}" for i in range(1000)]
    space = SearchSpace.of({"c": Categorical(choices)})
    assert [space.decode(row)["c"] for row in space.encode_many([{"c": c} for c in choices])] == choices
    assert len(space.neighbours([7.0], 0)) == 999


@pytest.mark.parametrize(
    "choices", [[1, True], [1, 1.0], [0, False], ["a", "a"], [math.nan, float("nan")], [1, 2, np.int64(1)]]
)
def test_row_24_choices_that_python_takes_for_equal_are_refused(choices: list[Any]) -> None:
    with pytest.raises(InvalidInputError, match="are equal in Python"):
        Categorical(choices)


def test_row_24_other_choices_are_kept_apart() -> None:
    choices = [None, 1, "1", "None", False, 2.5, math.nan, "", "🙂"]
    space = SearchSpace.of({"c": Categorical(choices)})
    assert space.encode_many([{"c": c} for c in choices])[:, 0].tolist() == list(range(len(choices)))
    assert all(same(space.decode([code])["c"], choice) for code, choice in enumerate(choices))


def test_row_25_points_of_an_earlier_range_are_told_from_those_that_still_fit() -> None:
    space = SearchSpace.of({"x": Float(0, 1), "n": Int(0, 8, step=4)})
    earlier: list[dict[str, Any]] = [
        {"x": 0.5, "n": 4},
        {"x": 1.5, "n": 4},
        {"x": 0.5, "n": 3},
        {"x": 0.5},
        {"x": 0.5, "n": 8, "was": "more"},
    ]
    assert space.contains_many(earlier).tolist() == [True, False, False, False, True]


def test_row_26_any_text_is_a_name() -> None:
    names = ["🦜 rate", "معدل", "x'; DROP TABLE trials;--", " ", "a\nb"]
    space = SearchSpace.of(as_distributions(dict.fromkeys(names, (0, 5))))
    assert space.names == tuple(names)
    assert list(space.decode(np.full(5, 0.5))) == names
