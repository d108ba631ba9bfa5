"""A slice of the fuzzing that `make fuzz` does in full: data sets, spaces, studies used in any order, files."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ask_tell_machine import AskTell
from tests.hostile_files import (
    READERS,
    check_file,
    check_shell_attribute,
    check_tags,
    damaged,
    readers,
    tag_methods,
    tags,
    values,
)
from tests.strategies import DataSet, SpaceCase, check_data_set, check_space, data_sets, spaces
from uhebo import Float
from uhebo.errors import InvalidInputError
from uhebo.gp import Data
from uhebo.space import SearchSpace


@given(data_sets())
@settings(max_examples=200)
def test_data_sets(case: DataSet) -> None:
    check_data_set(case)


@given(spaces())
@settings(max_examples=150)
def test_spaces(case: SpaceCase) -> None:
    check_space(case)


TestAskTell = AskTell.TestCase
TestAskTell.settings = settings(max_examples=20, stateful_step_count=30)


@pytest.mark.parametrize("reader", [*READERS, "journal", "database"])
@settings(max_examples=40)
@given(data=st.data())
def test_files(reader: str, data: st.DataObject) -> None:
    check_file(reader, data.draw(damaged(readers()[reader][0])))


@given(st.lists(tags, min_size=1, max_size=5), tag_methods)
@settings(max_examples=80)
def test_tags_that_others_wrote(written: list[Any], method: str) -> None:
    check_tags(written, method)


@given(values | st.dictionaries(st.sampled_from(["space", "sampler"]), values))
@settings(max_examples=100)
def test_settings_that_others_wrote(stored: Any) -> None:
    check_shell_attribute(stored)


# ------------------------------------------------------------------------------------------ what the fuzzers have found


def test_found_curvature_that_overflows() -> None:
    """The first steps of a climb along the tail of log PI: y·y / s·y went beyond the range of doubles."""
    X = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1], [1, 0, 1]], dtype=np.float64)
    y = np.array([1.69774938, 0.24253563, 0.24253563, 0.24253563, -1.21267813, -1.21267813])
    space = SearchSpace.of({name: optuna.distributions.FloatDistribution(-3.0, 5.0) for name in "abc"})
    for seed in (164, 0, 1, 2):
        data = Data.of(X, y)
        check_data_set(DataSet(space, data, "map", "precise", "se", "pi", None, np.empty((0, 3)), False, seed))


def test_found_steps_that_optuna_takes_for_off_its_grid() -> None:
    """Suggestions on so fine a grid were refused by Optuna, which then drew at random without a word."""
    with pytest.raises(InvalidInputError, match="too fine for doubles"):
        Float(1e5, 1e5 + 1.8e-8, step=1e-9)
    distribution = Float(0.0, 1000.0, step=2e-6)
    space, rng = SearchSpace.of({"x": distribution}), np.random.default_rng(0)
    assert all(distribution._contains(space.decode(rng.random(1))["x"]) for _ in range(300))
