"""A study used in any order: asked, told, failed, pruned, enqueued, its process killed and the study reloaded."""

from __future__ import annotations

import math
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import optuna
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from optuna.study import Study, StudyDirection
from optuna.trial import Trial, TrialState

from tests.strategies import SHORT_HMC, inside
from uhebo import UHESampler
from uhebo.estimate import ESTIMATORS
from uhebo.methods import METHODS
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.storage.journal import journal_storage

SPACES: list[dict[str, BaseDistribution]] = [
    {"x": FloatDistribution(-1.0, 2.0)},
    {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(1e-6, 1e3, log=True)},
    {
        "x": FloatDistribution(0.0, 1.0),
        "n": IntDistribution(0, 9),
        "c": CategoricalDistribution(["a", None, True, 0.5]),
    },
    {"n": IntDistribution(1, 3), "c": CategoricalDistribution(["a", "b"])},
    {"n": IntDistribution(-(2**52), 2**52), "s": FloatDistribution(0.0, 1.0, step=0.25)},
    {"x": FloatDistribution(0.0, 1e-300), "k": FloatDistribution(2.0, 2.0)},
    {},
]
VALUES = st.sampled_from([0.0, 1.0, -1.0, 1e300, -1e300, 1e-300, 5e-324, math.inf, -math.inf, 1e12]) | st.floats(
    -10.0, 10.0
)


@contextmanager
def short_chains() -> Iterator[None]:
    """HMC's own chain takes a third of a second a suggestion."""
    whole, ESTIMATORS["hmc"] = ESTIMATORS["hmc"], SHORT_HMC
    try:
        yield
    finally:
        ESTIMATORS["hmc"] = whole


@cache
def empty_database() -> bytes:
    """A SQLite file with Optuna's tables: making them takes longer than all else."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        storage = RDBStorage(f"sqlite:///{path}")
        storage.remove_session()
        storage.engine.dispose()
        return path.read_bytes()


class AskTell(RuleBasedStateMachine):
    """What was acknowledged must be there whatever happens, and every suggestion must lie in the space."""

    steps = 0
    """Over all machines of this process, as the two below."""
    asked = 0
    by_model = 0
    kinds: tuple[str, ...] = ("memory",) * 7 + ("journal",) * 2 + ("sqlite",)

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="uhebo-fuzz-"))
        self.storage: BaseStorage | None = None
        self.study: Study | None = None
        self.running: dict[int, Trial | int] = {}
        """Number -> the trial, or after a reload its number alone."""
        self.told: dict[int, tuple[TrialState, float | None]] = {}
        self.patch = short_chains()
        self.patch.__enter__()

    def teardown(self) -> None:
        self.patch.__exit__(None, None, None)
        self._close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _close(self) -> None:
        if isinstance(backend := getattr(self.storage, "_backend", self.storage), RDBStorage):
            backend.remove_session()
            backend.engine.dispose()

    def _open(self) -> BaseStorage:
        if self.kind == "memory":
            return self.storage or InMemoryStorage()
        if self.kind == "journal":
            return journal_storage(self.folder / "lab.log")
        path = self.folder / "lab.db"
        if not path.exists():
            path.write_bytes(empty_database())
        return RDBStorage(f"sqlite:///{path}", skip_compatibility_check=True, skip_table_creation=True)

    def _sampler(self, method: str) -> UHESampler:
        return UHESampler(method=method, **self.options)

    @initialize(
        data=st.data(),
        method=st.sampled_from(sorted(METHODS)),
        space=st.sampled_from(SPACES),
        direction=st.sampled_from([StudyDirection.MINIMIZE, StudyDirection.MAXIMIZE]),
    )
    def create(
        self, data: st.DataObject, method: str, space: dict[str, BaseDistribution], direction: StudyDirection
    ) -> None:
        self.kind = data.draw(st.sampled_from(self.kinds), "storage")
        self.space = space
        self.options: dict[str, Any] = {
            "seed": data.draw(st.integers(0, 2**32), "seed"),
            "n_startup_trials": data.draw(st.sampled_from([1, 0, 3]), "start-up trials"),
            "n_trials": data.draw(st.sampled_from([None, 1, 40]), "budget"),
            "deterministic": data.draw(st.booleans(), "deterministic"),
            "acquisition": data.draw(st.sampled_from([None, None, "log-ei", "pi", "thompson"]), "acquisition"),
        }
        self.storage = self._open()
        self.study = optuna.create_study(
            study_name="lab", storage=self.storage, sampler=self._sampler(method), direction=direction
        )

    @property
    def lab(self) -> Study:
        assert self.study is not None
        return self.study

    @rule()
    def ask(self) -> None:
        AskTell.steps += 1
        trial = self.lab.ask(self.space)
        inside(self.space, trial.params)
        AskTell.asked += 1
        recorded = self.lab.get_trials(deepcopy=False)[trial.number].system_attrs.get(ATTRIBUTE, {})
        AskTell.by_model += recorded.get("role") == "model"
        assert trial.number not in self.told.keys() | self.running.keys()
        self.running[trial.number] = trial

    @rule(data=st.data(), value=VALUES)
    @precondition(lambda self: self.running)
    def tell(self, data: st.DataObject, value: float) -> None:
        AskTell.steps += 1
        number, trial = self._some(data)
        self.lab.tell(trial, value)
        self.told[number] = (TrialState.COMPLETE, value)

    @rule(values=st.lists(VALUES, min_size=1, max_size=4))
    def ask_and_tell(self, values: list[float]) -> None:
        """So that studies grow: most steps in real life are these two."""
        for value in values:
            self.ask()
            AskTell.steps += 1
            number = max(self.running)
            self.lab.tell(self.running.pop(number), value)
            self.told[number] = (TrialState.COMPLETE, value)

    @rule(data=st.data())
    @precondition(lambda self: self.running)
    def fail(self, data: st.DataObject) -> None:
        AskTell.steps += 1
        number, trial = self._some(data)
        self.lab.tell(trial, state=TrialState.FAIL)
        self.told[number] = (TrialState.FAIL, None)

    @rule(data=st.data())
    @precondition(lambda self: self.running)
    def prune(self, data: st.DataObject) -> None:
        AskTell.steps += 1
        number, trial = self._some(data)
        self.lab.tell(trial, state=TrialState.PRUNED)
        self.told[number] = (TrialState.PRUNED, None)

    @rule(data=st.data(), odd=st.sampled_from([math.nan, None, "text", [1.0, 2.0]]))
    @precondition(lambda self: self.running)
    def tell_nonsense(self, data: st.DataObject, odd: Any) -> None:
        """Optuna refuses what is no number and leaves the trial running; whatever it did, nothing may be stored."""
        AskTell.steps += 1
        number, trial = self._some(data)
        with suppress(ValueError, TypeError), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Optuna says what it does with NaN
            self.lab.tell(trial, odd)
        state = self.lab.get_trials(deepcopy=False)[number].state
        assert state in (TrialState.RUNNING, TrialState.FAIL)
        if state == TrialState.RUNNING:
            self.running[number] = trial
        else:
            self.told[number] = (state, None)

    @rule(data=st.data(), value=VALUES)
    @precondition(lambda self: self.told)
    def tell_twice(self, data: st.DataObject, value: float) -> None:
        AskTell.steps += 1
        number = data.draw(st.sampled_from(sorted(self.told)), "told")
        with pytest.raises((ValueError, RuntimeError)):
            self.lab.tell(number, value)

    @rule(part=st.booleans())
    def enqueue(self, part: bool) -> None:
        AskTell.steps += 1
        params = {name: self._any_value(d) for name, d in self.space.items()}
        if part and params:
            params.popitem()
        self.lab.enqueue_trial(params)

    @rule(value=VALUES)
    def add(self, value: float) -> None:
        AskTell.steps += 1
        params = {name: self._any_value(d) for name, d in self.space.items()}
        number = len(self.lab.get_trials(deepcopy=False))
        self.lab.add_trial(optuna.create_trial(params=params, distributions=self.space, value=value))
        self.told[number] = (TrialState.COMPLETE, value)

    @rule(method=st.sampled_from(sorted(METHODS)), fresh=st.booleans())
    def kill_and_reload(self, method: str, fresh: bool) -> None:
        """The process is gone: trials stay running, the sampler's memory is lost, another method may go on."""
        AskTell.steps += 1
        self.study = None
        self._close()
        self.storage = self._open()
        self.study = optuna.load_study(study_name="lab", storage=self.storage, sampler=self._sampler(method))
        self.running = {} if fresh else {number: number for number in self.running}

    @rule()
    @precondition(lambda self: "x" in self.space)
    def change_range(self) -> None:
        AskTell.steps += 1
        x = self.space["x"]
        assert isinstance(x, FloatDistribution)
        self.space = {**self.space, "x": FloatDistribution(x.low, x.high + (x.high - x.low) / 4)}

    @invariant()
    def nothing_acknowledged_is_lost(self) -> None:
        if self.study is None:
            return
        trials = self.lab.get_trials(deepcopy=False)
        assert [trial.number for trial in trials] == list(range(len(trials)))
        for number, (state, value) in self.told.items():
            assert trials[number].state == state
            assert state != TrialState.COMPLETE or trials[number].value == value

    def _some(self, data: st.DataObject) -> tuple[int, Trial | int]:
        number = data.draw(st.sampled_from(sorted(self.running)), "trial")
        return number, self.running.pop(number)

    @staticmethod
    def _any_value(distribution: BaseDistribution) -> Any:
        if isinstance(distribution, CategoricalDistribution):
            return distribution.choices[-1]
        assert isinstance(distribution, (FloatDistribution, IntDistribution))
        return distribution.low
