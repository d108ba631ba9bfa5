"""Files as an enemy, a crash or a spreadsheet leaves them: every reader returns, or raises an error of ours."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import optuna
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import TrialState

from uhebo import UHESampler
from uhebo.cli.files import read_results
from uhebo.cli.reading import last_number
from uhebo.cli.records import parsed
from uhebo.cli.settings import ATTRIBUTE as SHELL_ATTRIBUTE
from uhebo.cli.settings import keep, with_sampler
from uhebo.cli.space_file import Kept, declared, parse_param
from uhebo.diagnosis import lengthscale_history
from uhebo.errors import UheboError
from uhebo.methods import METHODS
from uhebo.optuna_.trial_log import ATTRIBUTE
from uhebo.space import Categorical, Float, Int, SearchSpace
from uhebo.storage.journal import journal_storage
from uhebo.storage.places import opened, place_of
from uhebo_experiments.table import Table

SPACE = {"x": Float(0, 1), "n": Int(1, 9), "gas": Categorical(["argon", "nitrogen", None, 3])}
CSV = "number,x,n,gas,value\n,0.5,3,argon,1.5\n,0.25,4,null,inf\n0,,,,2\n1,,,,failed\n"
TOML = """direction = "maximize"
seed = 3
[parameters]
lr = {type = "float", low = 1e-5, high = 0.1, log = true}
depth = {type = "int", low = 2, high = 12, step = 2}
solver = {type = "categorical", choices = ["adam", "sgd", true]}
temperature = [20, 90]
gas = ["argon", "nitrogen"]
"""
JSON = json.dumps({"direction": "minimize", "n_trials": 5, "parameters": {"x": [0.0, 1.0], "c": ["a", "b"],
                   "k": {"type": "int", "low": 1, "high": 9, "log": True}}})  # fmt: skip
RUN = {"problem": "branin", "method": "uhe", "seed": 0, "date": "", "records": [{"number": 0, "value": 1.0}]}
TABLE = "".join(json.dumps({**RUN, "seed": seed}) + "\n" for seed in range(2))
TOKENS = [b"nan", b"inf", b"-1", b"1e999", b"0", b"9" * 400, b'"', b"'", b",", b";", b"\n", b"\r", b"\x00", b"\xff\xfe",
          b"{", b"}", b"[" * 2000, b"null", b"true", b"=", b"\xef\xbb\xbf", "🔥".encode(), b"low", b"#"]  # fmt: skip
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
TAGS = ["role", "t", "arm", "p", "estimator", "theta", "jitter", "fallback", "converged", "g", "deviation", "beta",
        "rewards"]  # fmt: skip
plausible = st.sampled_from(["map", "consistent", "model", "random", 0, 1, 2, 0.5])
tag_values = values | st.lists(st.floats() | st.integers(), min_size=3, max_size=3) | plausible
tags = values | st.dictionaries(st.sampled_from(TAGS), tag_values)


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A good file with up to four things done to it."""
    content = whole
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        length = draw(st.sampled_from([0, 1, 1, 2, 5, 20, 200]))
        put = draw(st.sampled_from(TOKENS) | st.binary(max_size=4) | st.just(content[at : at + 60]))
        content = draw(
            st.sampled_from([content[:at] + put + content[at + length :], content[:at], content + put, content * 2])
        )[:200_000]
    return content


@cache
def good_journal() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lab.log"
        study = optuna.create_study(study_name="lab", storage=journal_storage(path), sampler=UHESampler(seed=0))
        keep(study, Kept(dict(SPACE), {"seed": 0}))
        for value in (1.0, 2.0, None):
            trial = study.ask(dict(SPACE))
            study.tell(trial, value, state=TrialState.FAIL if value is None else None)
        return path.read_bytes()


@cache
def good_database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lab.db"
        storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
        study = optuna.create_study(study_name="lab", storage=storage, sampler=UHESampler(seed=0))
        study.tell(study.ask(dict(SPACE)), 1.0)
        storage.remove_session()
        storage.engine.dispose()
        return path.read_bytes()


@contextmanager
def written(name: str, content: bytes) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        yield str(path)


def _csv(content: bytes) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(2):
        study.ask(dict(SPACE))
    with written("results.csv", content) as path:
        read_results(path, SearchSpace.of(SPACE), {trial.number: trial for trial in study.get_trials(deepcopy=False)})


def _space(name: str) -> Callable[[bytes], None]:
    def read(content: bytes) -> None:
        with written(name, content) as path:
            declared(path, None)

    return read


def _params(content: bytes) -> None:
    text = content.decode("utf-8", "replace")
    for part in (text[:200], "x=" + text[:100]):
        try:
            parse_param(part)
        except UheboError:
            for name, distribution in SPACE.items():
                try:
                    parsed(name, part, distribution)
                except UheboError:
                    continue
    last_number(text)


def _study(name: str) -> Callable[[bytes], None]:
    """Opened, listed, and one suggestion made: what any command does first."""

    def read(content: bytes) -> None:
        with written(name, content) as path, opened(place_of(path)) as storage:
            for study in storage.get_all_studies()[:2]:
                loaded = optuna.load_study(study_name=study.study_name, storage=storage)
                loaded.get_trials(deepcopy=False)

    return read


def _table(content: bytes) -> None:
    with written("runs.jsonl.gz", content) as path:
        for header, records in Table(path):
            assert all(isinstance(line, dict) for line in (header, *records))


READERS: dict[str, tuple[bytes, Callable[[bytes], None]]] = {
    "csv": (CSV.encode(), _csv),
    "toml": (TOML.encode(), _space("space.toml")),
    "json": (JSON.encode(), _space("space.json")),
    "options and output": (b"lr=float:1e-5:0.1:log:step=2 n=int:1:9 c=cat:a,b,null 3.5", _params),
    "table": (gzip.compress(TABLE.encode(), mtime=0), _table),
    "table, unpacked": (TABLE.encode(), lambda content: _table(gzip.compress(content, 1))),
}
"""Name -> a good file, and what reads it. Journals and databases are made when first needed."""


def readers() -> dict[str, tuple[bytes, Callable[[bytes], None]]]:
    return {
        **READERS,
        "journal": (good_journal(), _study("lab.log")),
        "database": (good_database(), _study("lab.db")),
    }


def check_file(reader: str, content: bytes) -> None:
    """It is read, or refused by an error of ours; anything else is a hole."""
    try:
        readers()[reader][1](content)
    except UheboError as error:
        assert str(error)  # noqa: PT017 - both ways are right


def check_tags(written_by_others: list[Any], method: str) -> None:
    """A study whose trials carry anything at all under our attribute still gets suggestions and a timeline."""
    distributions: dict[str, BaseDistribution] = {"x": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(sampler=UHESampler(method=method, seed=0, n_startup_trials=0))
    for i, recorded in enumerate(written_by_others):
        trial = optuna.create_trial(
            params={"x": i / len(written_by_others)},
            distributions=distributions,
            value=float(i % 3),
            system_attrs={ATTRIBUTE: recorded},
        )
        study.add_trial(trial)
    assert 0.0 <= study.ask(distributions).params["x"] <= 1.0
    lengthscale_history(study)


def check_shell_attribute(stored: Any) -> None:
    """The settings that the shell keeps in a study may be anything too."""
    study = optuna.create_study()
    study.set_user_attr(SHELL_ATTRIBUTE, stored)
    try:
        with_sampler(study)
    except UheboError as error:
        assert str(error)  # noqa: PT017


tag_methods = st.sampled_from([name for name in METHODS if name != "random" and METHODS[name].model.estimator != "hmc"])
