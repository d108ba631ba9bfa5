"""Rows 39 and 41 of the table of faults, and hostile contents of what a study's file may hold."""

from __future__ import annotations

import ast
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import TrialState

import uhebo
from uhebo import UHESampler
from uhebo.diagnosis import diagnose, lengthscale_history
from uhebo.errors import InvalidInputError
from uhebo.methods import METHODS
from uhebo.optuna_.trial_log import ATTRIBUTE, checked_tags
from uhebo.space import SearchSpace
from uhebo.storage import journal
from uhebo.storage.journal import journal_storage, mend
from uhebo.storage.places import opened, place_of

SOURCE = Path(uhebo.__file__).parent


# --------------------------------------------------------------------------------------------------- row 39: journals


def journal_with(path: Path, trials: int) -> list[float]:
    """A study of so many finished trials; their values."""
    study = optuna.create_study(study_name="lab", storage=journal_storage(path))
    values = [float(i) for i in range(trials)]
    for value in values:
        study.tell(study.ask({"x": FloatDistribution(0, 1)}), value)
    return values


def values_in(path: Path) -> list[float | None]:
    study = optuna.load_study(study_name="lab", storage=journal_storage(path))
    return [t.value for t in study.trials if t.state == TrialState.COMPLETE]


@pytest.mark.parametrize("left", [1, 9, 0.5, -2, -1])
def test_row_39_a_torn_journal_line_is_readable_up_to_it_and_appendable_after(
    tmp_path: Path, left: float, caplog: pytest.LogCaptureFixture
) -> None:
    """`left` bytes (a share of them, all but so many) of the last line are on disk when the process dies."""
    path = tmp_path / "lab.log"
    values = journal_with(path, 4)
    *whole, last = path.read_bytes().splitlines(keepends=True)
    torn = last[: int(len(last) * left) if isinstance(left, float) else int(left)]
    path.write_bytes(b"".join(whole) + torn)
    # All but the end of the line is all of the entry: it is kept. Anything less was never acknowledged.
    expected = values if left == -1 else values[:-1]
    assert values_in(path) in (expected, values[:-1])  # before the first write

    study = optuna.load_study(study_name="lab", storage=journal_storage(path))
    with caplog.at_level(logging.WARNING, "uhebo"):
        for value in (10.0, 11.0, 12.0):
            study.tell(study.ask({"x": FloatDistribution(0, 1)}), value)
    assert len([r for r in caplog.records if "half a line" in r.message]) == (left != -1)
    assert values_in(path) == [*expected, 10.0, 11.0, 12.0]
    assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_row_39_optuna_alone_loses_what_comes_after_a_torn_line(tmp_path: Path) -> None:
    """Why the lock mends: if Optuna closes this hole itself, ours can go."""
    path = tmp_path / "lab.log"
    journal_with(path, 2)
    path.write_bytes(path.read_bytes()[:-9])
    plain = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    study = optuna.load_study(study_name="lab", storage=plain)

    def ask_tell_and_read() -> None:
        study.tell(study.ask({"x": FloatDistribution(0, 1)}), 1.0)
        values_in(path)

    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever it is, the entry was lost
        ask_tell_and_read()


def test_row_39_a_writer_that_dies_while_others_go_on(tmp_path: Path) -> None:
    """Torn after the survivor opened the file, by a process that still held the lock."""
    path = tmp_path / "lab.log"
    journal_with(path, 2)
    study = optuna.load_study(study_name="lab", storage=journal_storage(path))
    with path.open("ab") as other:
        other.write(b'{"op_code": 4, "worker_id"')
    study.tell(study.ask({"x": FloatDistribution(0, 1)}), 7.0)
    assert values_in(path) == [0.0, 1.0, 7.0]


@pytest.mark.parametrize("line", [b"", b"\n", b'{"a": 1}\n', b'{"a": 1}\n{"b"', b'{"a": 1}\n' + b"x" * (3 << 16)])
def test_row_39_mending_ends_with_a_whole_line_and_changes_nothing_else(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "lab.log"
    path.write_bytes(line)
    whole = line[: line.rfind(b"\n") + 1]
    assert mend(path) == len(line) - len(whole)
    assert path.read_bytes() == whole


def test_row_39_a_lock_left_by_a_dead_process_in_another_folder_is_taken_for_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is a symbolic link; to a relative path it would dangle, and be waited for without end."""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    path = Path("sub") / "lab.log"
    journal_with(path, 1)
    storage = journal_storage(path)
    lock = storage._backend._lock  # type: ignore[attr-defined]
    monkeypatch.setattr(lock, "grace_period", 0.05)
    Path(lock._lock_file).symlink_to(lock._lock_target_file)
    study = optuna.load_study(study_name="lab", storage=storage)
    study.tell(study.ask({"x": FloatDistribution(0, 1)}), 7.0)
    assert values_in(path) == [0.0, 7.0]


HOSTILE_LINES = [
    "[]",
    "null",
    '{"op_code": 99, "worker_id": "w"}',
    '{"op_code": 4}',
    '{"op_code": "4", "worker_id": "w"}',
    '{"op_code": 4, "worker_id": "w", "study_id": 7}',
    '{"op_code": 0, "worker_id": "w", "study_name": [], "directions": [1]}',
    '{"op_code": 5, "worker_id": "w", "trial_id": 0, "param_name": "x", "param_value_internal": 1, "distribution": 1}',
    '{"op_code": 6, "worker_id": "w", "trial_id": 0, "state": 77, "values": null}',
    '{"op_code": 4, "worker_id": "w", "study_id": 0, "datetime_start": "yesterday"}',
    "[" * 100_000,
]


@pytest.mark.parametrize("line", HOSTILE_LINES, ids=lambda line: line[:30])
def test_row_39_42_a_journal_of_nonsense_is_a_typed_error_or_is_passed_over(tmp_path: Path, line: str) -> None:
    path = tmp_path / "lab.log"
    journal_with(path, 1)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n" + path.read_text(encoding="utf-8").splitlines()[0].replace("lab", "other") + "\n")
    try:
        with opened(place_of(str(path))) as storage:
            assert [study.study_name for study in storage.get_all_studies()][:1] == ["lab"]
    except InvalidInputError as error:
        assert "lab.log" in str(error)  # noqa: PT017 - either is right, anything else is not


def test_row_42_a_huge_journal_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lab.log"
    journal_with(path, 1)
    monkeypatch.setattr(journal, "MAX_BYTES", 100)
    with pytest.raises(InvalidInputError, match="larger than"), opened(place_of(str(path))):
        pass


# ------------------------------------------------------------------------------------- row 41: nothing read is executed

FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle", "yaml"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_METHODS = {
    "loads": {"pickle", "marshal", "dill", "cloudpickle"},
    "load": {"joblib", "torch", "pickle", "yaml", "np", "numpy"},
    "read_pickle": {"pd", "pandas"},
}
ALLOWED: set[tuple[str, str]] = {("executor.py", "import pickle")}
"""(file, what) that is not what it looks like, each with its reason. joblib and Ray hand functions to processes that we
started ourselves, inside those libraries, and read no file for it. executor.py: `pickle.dumps`, to see whether an
exception can be sent, and the name of the error when something cannot; it reads nothing."""


def offences(tree: ast.AST) -> Iterator[str]:
    """Everything in a module that could run code from what was read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f"import {a.name}" for a in node.names if a.name.partition(".")[0] in FORBIDDEN_MODULES)
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").partition(".")[0] in FORBIDDEN_MODULES:
                yield f"from {node.module} import"
            yield from (f"{node.module}.{a.name}" for a in node.names if (node.module, a.name) == ("joblib", "load"))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            yield f"{node.func.id}()"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            if owner in FORBIDDEN_METHODS.get(node.func.attr, ()):
                yield f"{owner}.{node.func.attr}()"
            if node.func.attr == "import_module" and node.args and isinstance(node.args[0], ast.Constant):
                yield from (f"import_module({n})" for n in [str(node.args[0].value)] if n in FORBIDDEN_MODULES)


def test_row_41_nothing_read_is_unpickled_or_executed() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 50
    found = {
        (path.relative_to(SOURCE).as_posix(), what)
        for path in files
        for what in offences(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found - ALLOWED == set()


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "import pickle as p",
        "from pickle import loads",
        "import marshal",
        "import joblib\njoblib.load('x')",
        "from joblib import load",
        "import numpy as np\nnp.load('x', allow_pickle=True)",
        "import pandas as pd\npd.read_pickle('x')",
        "from yaml import load",
        "eval(open('x').read())",
        "exec('1')",
        "import importlib\nimportlib.import_module('pickle')",
    ],
)
def test_row_41_the_walk_finds_each_of_them(code: str) -> None:
    assert list(offences(ast.parse(code)))


def test_row_41_a_pickle_in_an_attribute_or_a_snapshot_is_never_loaded(tmp_path: Path) -> None:
    """What a pickle would run is not run, wherever it is put: text in an attribute, a file beside the journal."""
    flag = tmp_path / "ran"
    payload = f"cos\nsystem\n(S'touch {flag}'\ntR."
    path = tmp_path / "lab.log"
    journal_with(path, 3)
    (tmp_path / "lab.log.snapshot").write_bytes(payload.encode())
    study = optuna.load_study(study_name="lab", storage=journal_storage(path), sampler=UHESampler(seed=0))
    for trial in study.trials:
        study.set_user_attr("note", payload)
        study._storage.set_study_system_attr(study._study_id, ATTRIBUTE, payload)
        assert trial.value is not None
    diagnose(study, hmc=False)
    study.tell(study.ask({"x": FloatDistribution(0, 1)}), 1.0)
    assert not flag.exists()


# --------------------------------------------------------------------------------- tags that somebody else has written

BAD_TAGS: list[Any] = [
    "text",
    7,
    ["theta"],
    {"role": 7},
    {"t": "3"},
    {"t": -1},
    {"t": 1.5},
    {"t": 10**30},
    {"t": True},
    {"role": "model", "estimator": "map", "theta": "no"},
    {"role": "model", "estimator": "map", "theta": ["a", "b", "c"]},
    {"role": "model", "estimator": "map", "theta": [1e9, 1e9, 1e9]},
    {"role": "model", "estimator": "map", "theta": [None, 0.0, 0.0]},
    {"role": "model", "estimator": "consistent", "theta": {"0": 1}},
    {"role": "model", "estimator": ["map"], "theta": [0.0, 0.0, 0.0]},
    {"t": 1, "arm": "random", "p": 0.5},
    {"t": 1, "arm": 5, "p": 0.5},
    {"t": 1, "arm": 0},
    {"t": 1, "arm": 0, "p": 0.0},
    {"t": 1, "arm": 0, "p": "half"},
    {"t": 1, "arm": 1, "p": float("nan")},
    {"t": 1, "rewards": [1, 2]},
    {"t": 1, "rewards": {"zero": 1.0}},
    {"t": 1, "rewards": {"0": "much"}},
    {"t": 1, "rewards": {"0": 10**400}},
    {"t": 1, "g": "x", "deviation": 0.1, "beta": 1.0},
    {"t": 1, "g": 1e300, "deviation": 0.1, "beta": 1.0},
    {"t": 1, "g": 2.0, "beta": 1.0},
    {"t": 1, "g": 2.0, "deviation": None, "beta": 1.0},
    {"converged": "no", "jitter": "lots", "fallback": 3},
]


def study_with_tags(tags: Any, sampler: UHESampler) -> Study:
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for i in range(6):
        trial = optuna.create_trial(
            params={"x": i / 6},
            distributions={"x": FloatDistribution(0.0, 1.0)},
            value=float(np.sin(i)),
            system_attrs={ATTRIBUTE: tags},
        )
        study.add_trial(trial)
    return study


@pytest.mark.usefixtures("rough_importances")
@pytest.mark.parametrize("tags", BAD_TAGS, ids=lambda tags: str(tags)[:60])
def test_damaged_tags_are_dropped_and_said_once(tags: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "uhebo"):
        study = study_with_tags(tags, UHESampler(method="uhe", seed=0, n_startup_trials=0))
        for _ in range(2):
            trial = study.ask({"x": FloatDistribution(0.0, 1.0)})
            assert 0.0 <= trial.params["x"] <= 1.0
            study.tell(trial, 0.0)
        lengthscale_history(study)
        diagnose(study, hmc=False)
    assert len([r for r in caplog.records if "written by something else" in r.message]) == 1


@pytest.mark.parametrize("method", [n for n in METHODS if n != "random" and METHODS[n].model.estimator != "hmc"])
def test_no_method_trips_over_damaged_tags(method: str) -> None:
    study = study_with_tags({"role": "model"}, UHESampler(method=method, seed=0, n_startup_trials=0))
    for tags in BAD_TAGS:
        study.add_trial(
            optuna.create_trial(
                params={"x": 0.5},
                distributions={"x": FloatDistribution(0.0, 1.0)},
                value=0.5,
                system_attrs={ATTRIBUTE: tags},
            )
        )
    for _ in range(2):
        trial = study.ask({"x": FloatDistribution(0.0, 1.0)})
        assert 0.0 <= trial.params["x"] <= 1.0
        study.tell(trial, 0.0)


def test_rewards_for_a_trial_that_drew_no_arm_are_no_pull() -> None:
    """Well-formed, and still not what portfolio wrote: trial 0 never drew."""
    sampler = UHESampler(method="portfolio", seed=0, n_startup_trials=0)
    study = study_with_tags({"role": "model", "rewards": {"0": 0.5}}, sampler)
    assert 0.0 <= study.ask({"x": FloatDistribution(0.0, 1.0)}).params["x"] <= 1.0


def test_good_tags_and_tags_of_the_users_own_pass() -> None:
    tags = {
        "role": "model", "t": 3, "arm": 1, "p": 0.25, "estimator": "map", "theta": [0.1, -2.0, -9.0], "jitter": 1e-8,
        "converged": False, "fallback": "no data", "g": 1.5, "deviation": 0.2, "beta": 1.96,
        "rewards": {"3": 0.5, "12": 1.7e308}, "mine": {"anything": [1, "a"]},
    }  # fmt: skip
    assert checked_tags(tags) == (tags, ())
    assert checked_tags(None) == ({}, ())


def test_methods_may_be_changed_in_mid_study() -> None:
    """Each leaves tags of its own; another one's g without a beta once stopped a-gp-ucb."""
    study = optuna.create_study()
    for method in [name for name in METHODS if METHODS[name].model.estimator != "hmc"] * 2:
        study.sampler = UHESampler(method=method, seed=0, n_startup_trials=2)
        for _ in range(2):
            trial = study.ask({"x": FloatDistribution(0.0, 1.0)})
            study.tell(trial, trial.params["x"] ** 2)


# ----------------------------------------------------------------------------------------------- ranges beyond memory


def test_the_values_of_a_huge_range_are_never_listed() -> None:
    space = SearchSpace.of({"n": IntDistribution(0, 2**53), "few": IntDistribution(0, 4)})
    with pytest.raises(InvalidInputError, match="'n' has 9007199254740993 values"):
        space.grid(0)
    np.testing.assert_allclose(space.grid(1), [0.1, 0.3, 0.5, 0.7, 0.9])
    np.testing.assert_allclose(space.ends(1), [0.1, 0.9])
    low, high = space.ends(0)
    assert 0.0 <= low < 1e-15
    assert 1 - 1e-15 < high <= 1.0


def test_a_study_of_a_huge_range_is_diagnosed() -> None:
    study = optuna.create_study(sampler=UHESampler(seed=0, n_startup_trials=3, method="map"))
    for _ in range(8):
        trial = study.ask({"n": IntDistribution(0, 2**53)})
        study.tell(trial, float(trial.params["n"]) / 2**53)
    assert diagnose(study, hmc=False).search.roles["model"] == 5
