"""Settings of the whole process: changed while anybody needs it, and as they were afterwards."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

import optuna
from threadpoolctl import ThreadpoolController

import uhebo
from tests.waiting import LIMIT_S
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.gaps import QUIET


def overlapping(first: Callable[[Callable[[], None]], None], second: Callable[[Callable[[], None]], None]) -> None:
    """Run both in threads: the first enters first and leaves first, while the second is still inside."""
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def let_the_second_in() -> None:
        first_in.set()
        second_in.wait(LIMIT_S)

    def see_the_first_out() -> None:
        second_in.set()
        first_out.wait(LIMIT_S)

    def one() -> None:
        first(let_the_second_in)
        first_out.set()

    def two() -> None:
        first_in.wait(LIMIT_S)
        second(see_the_first_out)

    threads = [threading.Thread(target=target) for target in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)


def blas() -> list[int]:
    return [library["num_threads"] for library in ThreadpoolController().info() if library["user_api"] == "blas"]


def test_threads_that_overlap_leave_the_users_setting() -> None:
    seen: list[list[int]] = []

    @single_threaded
    def first(meet: Callable[[], None]) -> None:
        meet()

    @single_threaded
    def second(meet: Callable[[], None]) -> None:
        meet()
        seen.append(blas())  # the first has left

    with ThreadpoolController().limit(limits=2, user_api="blas"):
        overlapping(first, second)
        assert set(blas()) == {2}
    assert set(seen[0]) == {1}


def test_the_limit_is_lifted_after_an_error() -> None:
    @single_threaded
    def broken() -> None:
        raise ZeroDivisionError

    with ThreadpoolController().limit(limits=2, user_api="blas"):
        for _ in range(2):
            try:
                broken()
            except ZeroDivisionError:
                assert set(blas()) == {2}


def test_optuna_is_as_talkative_as_before_when_calls_overlap() -> None:
    def call(meet: Callable[[], None]) -> None:
        with QUIET:
            meet()

    before = optuna.logging.get_verbosity()
    try:
        optuna.logging.set_verbosity(optuna.logging.INFO)
        overlapping(call, call)
        assert optuna.logging.get_verbosity() == optuna.logging.INFO
    finally:
        optuna.logging.set_verbosity(before)


def test_a_batch_asked_for_at_once_sees_its_own_points() -> None:
    """Optuna samples at the first parameter, long after the trials before have begun: the log is read anew."""

    def batch(storage: str | None) -> list[dict[str, float]]:
        study = optuna.create_study(storage=storage, sampler=uhebo.UHESampler(seed=0))
        for i in range(6):
            study.add_trial(
                optuna.create_trial(
                    params={"x": i / 6}, distributions={"x": optuna.distributions.FloatDistribution(0, 1)}, value=i % 4
                )
            )
        trials = [study.ask() for _ in range(4)]
        for trial in trials:
            trial.suggest_float("x", 0, 1)
        return [trial.params for trial in trials]

    assert batch("sqlite:///:memory:") == batch(None)


SCRIPT = """
import joblib
from uhebo.numerics.threads import single_threaded

@single_threaded
def double(number):
    return 2 * number

print(joblib.Parallel(2)(joblib.delayed(double)(number) for number in (1, 2)))
"""


def test_a_function_of_a_script_goes_to_other_processes() -> None:
    """joblib sends functions of `__main__` by value, with all they refer to; a lock cannot be sent."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.stdout == "[2, 4]\n", done.stderr
