"""Rules on the inputs: the language, points that keep to them, and optima on the edge."""

from __future__ import annotations

import logging
import math
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution
from optuna.trial import create_trial

import uhebo
from uhebo import METHODS, Categorical, Float, Int, UHESampler
from uhebo.errors import InvalidInputError
from uhebo.optuna_.believe import believe
from uhebo.space import SearchSpace, When
from uhebo.space.rules import parse_rule
from uhebo.space.sampling import pulled, uniform

MIXED: dict[str, Any] = {
    "a": Float(0, 2),
    "b": Float(0.1, 10, log=True),
    "n": Int(1, 9),
    "s": Float(0, 1, step=0.1),
    "kind": Categorical(["x", "y", "z"]),
    "size": Categorical([16, 32, 64]),
    "flag": Categorical([True, False]),
}

# The language: what it says is what Python says

numbers = st.sampled_from(["a", "b", "n", "s", "size", "0.5", "2", "3.25", "10"])
sums = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda x: f"(-{x})"),
        inner.map(lambda x: f"({x} ** 2)"),
    ),
    max_leaves=5,
)
comparisons = st.one_of(
    st.tuples(sums, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), sums).map(" ".join),
    st.tuples(sums, st.just("<"), sums, st.just("<="), sums).map(" ".join),
    st.sampled_from(
        ["kind == 'x'", "'y' != kind", "kind in ['x', 'z']", "kind not in ('y',)", "flag", "flag == False"]
    ),
    st.sampled_from(["size == 32", "flag == False", "n in [1, 2, 5]", "s == 0.3", "size not in [16, 64]"]),
)
sentences = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda x: f"not ({x})"),
    ),
    max_leaves=4,
)


def by_python(text: str, params: dict[str, Any]) -> bool | None:
    """What Python makes of it; None where it has no answer or another kind of number."""
    try:
        return bool(eval(text, {"__builtins__": {}}, params))
    except (ZeroDivisionError, OverflowError):
        return None


@given(sentences, st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=150)
def test_a_rule_says_what_python_says(text: str, seed: int) -> None:
    text = f"({text}) and (a >= 0 or n == 1)"
    space = SearchSpace.of(MIXED, rules=[text])
    rows = space.domain.rows(np.random.default_rng(seed), 12)
    for row, allowed in zip(rows, space.allowed(rows), strict=True):
        expected = by_python(text, space.decode(row))
        assert expected is None or allowed == expected, space.decode(row)


alphabet = st.sampled_from(
    [
        *"ab() +-*/<>=!,.[]{}'\"`:;@~^&|%0.19\n\\",
        "n",
        "kind",
        " and ",
        " or ",
        "not ",
        " in ",
        "lambda ",
        " if ",
        " is ",
    ]
)


@given(st.lists(alphabet, max_size=20).map("".join) | st.text(max_size=20))
@settings(deadline=None, max_examples=300)
def test_no_text_raises_anything_but_our_error(text: str) -> None:
    with suppress(InvalidInputError):
        space = SearchSpace.of(MIXED, rules=[text])
        space.allowed(space.domain.rows(np.random.default_rng(0), 3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a + foo <= 1", r"no parameter 'foo'; the parameters are a, b, n, s, kind, size, flag \(character 5\)"),
        ("abs(a) <= 1", r"a call is not part of a rule.*\(character 1\)"),
        ("a <= n.real", r"an attribute is not part of a rule.*\(character 6\)"),
        ("[1, 2][0] < a", "an index is not part of a rule"),
        ("a < 1 if flag else b < 1", "not part of a rule"),
        ("(lambda: a)", "a lambda is not part of a rule"),
        ("kind < 3", "only numbers have an order"),
        ("kind + 1 == 2", "only numbers can be calculated with"),
        ("kind == 'q'", r"'kind' is one of 'x', 'y', 'z' \(character 9\)"),
        ("a == 'x'", "a number is never equal to a word"),
        ("a", "expected something that is true or false"),
        ("a < 1 and b", "expected something that is true or false"),
        ("kind is 'x'", "use == or != in place of is"),
        ("n in a", "a list of values"),
        ("a <", "cannot be read"),
        ("", "cannot be read"),
        ("1 < 2", "reads no parameter"),
        ("a <= 1; import os", "cannot be read"),
        ("not " * 200 + "a < 1", "nested too deeply"),
        ("-" * 99 + "a < 1", "nested too deeply"),
        ("a < 1" * 1000, "expected at most 2000"),
    ],
)
def test_what_is_not_a_rule_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SearchSpace.of(MIXED, rules=[text])


def test_names_that_are_not_words_stand_in_backticks() -> None:
    space = SearchSpace.of({"flow rate": (0.0, 1.0), "µ": (0.0, 1.0), "class": (0.0, 1.0)}, rules=["`flow rate` < µ"])
    assert space.allowed(np.array([[0.2, 0.3, 0.5], [0.4, 0.3, 0.5]])).tolist() == [True, False]
    with pytest.raises(InvalidInputError, match="no parameter 'flow'"):
        SearchSpace.of({"flow rate": (0.0, 1.0)}, rules=["`flow` < 1"])
    with pytest.raises(InvalidInputError, match="backticks"):
        SearchSpace.of({"class": (0.0, 1.0)}, rules=["class < 1"])


def test_a_rule_survives_pickling() -> None:
    space = pickle.loads(pickle.dumps(SearchSpace.of(MIXED, rules=["a + b <= 1 or kind == 'x'"])))
    assert space.rules[0].names == ("a", "b", "kind")
    assert space.allowed(space.domain.uniform(np.random.default_rng(0), 20)).all()


def broken(a: float) -> bool:
    raise ZeroDivisionError(f"no {a}")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda a, q: a < q, "has an argument 'q', and there is no such parameter"),
        (lambda: True, "has no argument"),
        (lambda a, /: a < 1, "arguments without names"),
        (lambda a: a, "returned .* expected True or False"),
        (broken, r"the rule broken\(\) failed with ZeroDivisionError"),
        (3, "a rule is 3"),
    ],
)
def test_functions_that_are_no_rules(rule: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        UHESampler(space={"a": (0.0, 1.0), "b": (0.0, 1.0)}, subject_to=[rule])


def test_what_is_not_active_forbids_nothing() -> None:
    space = SearchSpace.of(
        {"kind": ["x", "y"], "a": When("kind == 'x'", (0.0, 1.0)), "b": (0.0, 1.0)},
        rules=["a < 0.5", lambda a, b: a + b < 1],
    )
    points = [{"kind": "y", "b": 0.9}, {"kind": "x", "a": 0.4, "b": 0.9}, {"kind": "x", "a": 0.4, "b": 0.1}]
    assert space.allowed(space.encode_many(points)).tolist() == [True, False, True]


# Points


@pytest.mark.parametrize(
    ("space", "rules", "share"),
    [
        ({"a": (0.0, 1.0), "b": (0.0, 1.0)}, ["a + b <= 1"], 0.5),
        ({"a": (0.0, 1.0), "b": (0.0, 1.0)}, [lambda a, b: a * b <= 0.25], 0.25 * (1 + math.log(4))),
        ({"n": (0, 9), "m": (0, 9)}, ["n + m == 9"], 0.1),
    ],
)
def test_uniform_points_keep_to_the_rules_and_fill_the_region(
    space: dict[str, Any], rules: list[Any], share: float
) -> None:
    free, bound = SearchSpace.of(space), SearchSpace.of(space, rules=rules)
    rng = np.random.default_rng(0)
    rows = bound.domain.uniform(rng, 800)
    assert bound.allowed(rows).all()
    every = free.domain.uniform(rng, 20_000)
    assert bound.allowed(every).mean() == pytest.approx(share, abs=0.02)
    np.testing.assert_allclose(rows.mean(axis=0), every[bound.allowed(every)].mean(axis=0), atol=0.06)


def test_a_thin_region_is_walked() -> None:
    """A slab of 1e-7 of the cube, across its diagonal: no draw hits it."""
    space = SearchSpace.of(dict.fromkeys("abc", (0.0, 1.0)), rules=["0.9999999 <= a + b + c <= 1"])
    rows = uniform(space, np.random.default_rng(0), 50)
    assert space.allowed(rows).all()
    assert np.ptp(rows, axis=0).min() > 0.1  # not one place


@pytest.mark.parametrize(
    ("space", "rule", "message"),
    [
        ({"a": (0.0, 1.0), "b": (0.0, 1.0)}, "a + b == 1", "'a \\+ b == 1', .*measure zero"),
        ({"a": (0.0, 1.0), "b": (0.0, 1.0)}, "a + b > 3", "'a \\+ b > 3', .*; widen the ranges"),
        ({"n": (0, 9), "k": ["x", "y"]}, "n > 9 and k == 'x'", "no point of the space"),
    ],
)
def test_rules_that_allow_nothing_are_an_error_at_once(space: dict[str, Any], rule: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        UHESampler(space=space, subject_to=rule)


def test_the_last_allowed_point_of_a_segment() -> None:
    space = SearchSpace.of({"a": (0.0, 1.0), "b": (0.0, 1.0)}, rules=["a + b <= 1"])
    edge = pulled(space, np.array([[0.1, 0.1]]), np.array([[0.9, 0.9]]))
    assert space.allowed(edge).all()
    np.testing.assert_allclose(edge, 0.5, atol=1e-8)


# Searches


def parabola(trial: optuna.Trial) -> float:
    """The best of a + b + c <= 1 is 1/12, on the edge."""
    a, b, c = (trial.suggest_float(name, 0, 1) for name in "abc")
    return (a - 0.5) ** 2 + (b - 0.6) ** 2 + (c - 0.4) ** 2


def search(objective: Callable[[optuna.Trial], float], n_trials: int, **options: Any) -> optuna.Study:
    study = optuna.create_study(sampler=UHESampler(seed=0, n_trials=n_trials, **options))
    study.optimize(objective, n_trials=n_trials)
    return study


CUBE: dict[str, Any] = dict.fromkeys("abc", (0.0, 1.0))


@pytest.mark.parametrize("rule", ["a + b + c <= 1", lambda a, b, c: a + b + c <= 1], ids=["text", "function"])
def test_an_optimum_on_the_edge_is_reached(rule: Any) -> None:
    study = search(parabola, 20, space=CUBE, subject_to=rule, n_startup_trials=8)
    assert all(sum(trial.params.values()) <= 1 for trial in study.trials)
    assert study.best_value == pytest.approx(1 / 12, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.usefixtures("short_chains")
def test_no_method_proposes_what_a_rule_forbids(method: str) -> None:
    space = {"x": Float(0, 1), "n": Int(0, 9), "kind": Categorical(["u", "v"]), "w": When("kind == 'u'", Float(0, 1))}
    rules = ["x + n / 9 <= 0.8", "kind == 'v' or n < 5", "w < 0.7"]

    def objective(trial: optuna.Trial) -> float:
        x, n = trial.suggest_float("x", 0, 1), trial.suggest_int("n", 0, 9)
        w = trial.suggest_float("w", 0, 1) if trial.suggest_categorical("kind", ["u", "v"]) == "u" else 0.2
        return -x - n / 9 - w

    acquisition = {"acquisition": "thompson"} if method == "mle" else {}
    study = search(objective, 9, method=method, space=space, subject_to=rules, n_startup_trials=4, **acquisition)
    for point in (trial.params for trial in study.trials):
        assert point["x"] + point["n"] / 9 <= 0.8
        assert point["kind"] == "v" or point["n"] < 5
        assert point.get("w", 0.0) < 0.7


def test_without_a_declared_space_the_rules_hold_as_soon_as_they_can() -> None:
    study = search(parabola, 12, subject_to="a + b + c <= 1", n_startup_trials=4)
    assert all(sum(trial.params.values()) <= 1 for trial in study.trials[1:])


def test_a_rule_about_a_parameter_that_no_trial_has_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="uhebo"):
        search(parabola, 4, subject_to="a + z <= 1", n_startup_trials=3)
    said = [record.getMessage() for record in caplog.records if "does not apply" in record.getMessage()]
    assert said == ["the rule 'a + z <= 1' does not apply yet: no trial has had a parameter 'z' (there are a, b, c)"]


def test_points_of_the_user_outside_the_rules_are_data(caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=UHESampler(seed=0, space=CUBE, subject_to="a + b + c <= 1", n_startup_trials=2))
    inside: dict[str, BaseDistribution] = {name: Float(0, 1) for name in "abc"}
    study.add_trial(create_trial(params=dict.fromkeys("abc", 0.9), distributions=inside, value=0.2))
    with caplog.at_level(logging.WARNING, logger="uhebo"):
        study.optimize(parabola, n_trials=4)
    assert all(sum(trial.params.values()) <= 1 for trial in study.trials[1:])
    assert len(believe(study).numbers) == 5
    assert [record.getMessage() for record in caplog.records if "break a rule" in record.getMessage()] == [
        "trials of your own break a rule (a + b + c <= 1): 0; they are data, and no suggestion is like them"
    ]


def test_a_reader_of_the_study_knows_the_rules_and_the_branches() -> None:
    space = {"kind": ["u", "v"], "w": When("kind == 'u'", (0.0, 1.0)), "x": (0.0, 1.0)}
    study = optuna.create_study(sampler=UHESampler(seed=0, space=space, subject_to=["x <= 0.5", lambda x: x > 0.1]))
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    trial.suggest_categorical("kind", ["u", "v"])
    study.tell(trial, 1.0)
    study.sampler = optuna.samplers.RandomSampler()
    found = believe(study).space
    assert {name: rule.text for name, rule in found.conditions.items()} == {"w": "kind == 'u'"}
    assert [rule.text for rule in found.rules] == ["x <= 0.5"]


def test_a_study_with_rules_goes_on_where_it_was(tmp_path: Any) -> None:
    options: dict[str, Any] = {"space": CUBE, "subject_to": "a + b + c <= 1", "n_startup_trials": 4}
    whole = [trial.params for trial in search(parabola, 9, **options).trials]
    for part in (6, 3):
        sampler = UHESampler(seed=0, n_trials=9, **options)
        study = optuna.create_study(
            storage=f"sqlite:///{tmp_path / 'x.db'}", study_name="x", sampler=sampler, load_if_exists=True
        )
        study.optimize(parabola, n_trials=part)
    assert [trial.params for trial in study.trials] == whole


def test_parse_rule_lets_a_parsed_one_through() -> None:
    rule = parse_rule("a < 1", ["a"])
    assert parse_rule(rule, []) is rule


def test_a_report_says_that_importances_know_nothing_of_rules() -> None:
    def study(**options: Any) -> optuna.Study:
        return uhebo.minimize(lambda x, y: x + y**2, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 8, seed=0, **options).study

    assert "over the whole ranges" in uhebo.diagnose(study(subject_to="x + y <= 1"), hmc=False).account()
    assert "over the whole ranges" not in uhebo.diagnose(study(), hmc=False).account()
