"""The fuzzers in full: 100,000 data sets, 20,000 spaces, 50,000 ask/tell steps, 20,000 files. None may do any harm.

    python -m tests.long.fuzz [--jobs N] [--share 0.01] [--only spaces]

What is made up and what must hold of it is in tests/strategies.py, tests/ask_tell_machine.py and
tests/hostile_files.py; warnings (an overflow, a division by zero) count as crashes. Work goes in seeded chunks and each
is on disk as soon as it is done: an interrupted run goes on where it was, unless the source has changed since.
`--share` runs that share of each figure. Results: results/fuzz/records.json and results/fuzz/fuzz.md.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import importlib.metadata
import itertools
import json
import logging
import math
import multiprocessing
import platform
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import optuna
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from threadpoolctl import threadpool_limits

import uhebo
from tests.ask_tell_machine import AskTell
from tests.hostile_files import (
    check_file,
    check_shell_attribute,
    check_tags,
    damaged,
    readers,
    tag_methods,
    tags,
    values,
)
from tests.strategies import check_data_set, check_space, data_sets, spaces
from uhebo_experiments.benchmarks.common import table

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "fuzz"
LONGEST_CASE_S = 120
"""A case that takes longer counts as a hang (a study used in many steps: three times as long)."""
STEPS_PER_STUDY = 40


class HangError(Exception):
    """A case took longer than it may."""


@dataclass
class Chunk:
    """What became of one seeded batch of cases."""

    number: int
    cases: int = 0
    seconds: float = 0.0
    crashes: int = 0
    hangs: int = 0
    violations: int = 0
    failures: list[str] = field(default_factory=list)
    extra: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """One figure to reach, in chunks of about `chunk` cases."""

    title: str
    wanted: int
    chunk: int
    run: Callable[[Chunk, int], None]
    parts: tuple[str, ...]
    """Of the package: what the result depends on."""


def chosen(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        stateful_step_count=STEPS_PER_STUDY,
    )


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise HangError(f"longer than {seconds} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def each(chunk: Chunk, examples: int, strategy: st.SearchStrategy[Any], check: Callable[[Any], None]) -> None:
    """Draw and check so many cases, from the chunk's seed."""

    @seed(chunk.number)
    @chosen(examples)
    @given(strategy)
    def run(case: Any) -> None:
        chunk.cases += 1
        with limited(LONGEST_CASE_S):
            check(case)

    run()


def run_data_sets(chunk: Chunk, examples: int) -> None:
    each(chunk, examples, data_sets(), check_data_set)


def run_spaces(chunk: Chunk, examples: int) -> None:
    each(chunk, examples, spaces(), check_space)


def run_steps(chunk: Chunk, examples: int) -> None:
    class Timed(AskTell):
        def __init__(self) -> None:
            super().__init__()
            self.limit = limited(3 * LONGEST_CASE_S)
            self.limit.__enter__()

        def teardown(self) -> None:
            self.limit.__exit__(None, None, None)
            super().teardown()

    AskTell.steps = AskTell.asked = AskTell.by_model = 0
    try:
        run_state_machine_as_test(seed(chunk.number)(Timed), settings=chosen(max(1, examples // 30)))
    finally:
        chunk.cases = AskTell.steps
        chunk.extra = {"suggestions": AskTell.asked, "of them by a model": AskTell.by_model}


def run_files(chunk: Chunk, examples: int) -> None:
    kinds = readers()
    share = max(1, examples // (len(kinds) + 2))
    for name, (whole, _) in kinds.items():
        each(chunk, share, damaged(whole), lambda content, name=name: check_file(name, content))  # type: ignore[misc]
    each(chunk, share, st.tuples(st.lists(tags, min_size=1, max_size=5), tag_methods), lambda case: check_tags(*case))
    each(chunk, share, values | st.dictionaries(st.sampled_from(["space", "sampler"]), values), check_shell_attribute)


MODEL = ("acquire", "estimate", "gp", "space", "errors.py", "numerics")
STUDY = (*MODEL, "bandit.py", "journal.py", "sampler.py", "strategy", "theory.py", "trial_log.py")
KINDS = {
    "spaces": Kind("search spaces: round trip and suggestions", 20_000, 500, run_spaces, STUDY),
    "files": Kind("files and attributes of a study, damaged", 20_000, 1000, run_files, (*STUDY, "cli", "diagnosis")),
    "steps": Kind("ask/tell steps of studies that are killed and reloaded", 50_000, 1500, run_steps, STUDY),
    "data-sets": Kind("GP data sets: fit, posterior, suggestion", 100_000, 1000, run_data_sets, MODEL),
}


def run_chunk(kind: str, number: int, examples: int) -> Chunk:
    """One chunk in this process; whatever it raises is a finding and no end of the run."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.getLogger("uhebo").setLevel(logging.ERROR)
    chunk = Chunk(number)
    start = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("error")
        try:
            KINDS[kind].run(chunk, examples)
        except HangError:
            chunk.hangs += 1
            chunk.failures.append(traceback.format_exc()[-4000:])
        except AssertionError:
            chunk.violations += 1
            chunk.failures.append(traceback.format_exc()[-4000:])
        except Exception:
            chunk.crashes += 1
            chunk.failures.append(traceback.format_exc()[-4000:])
    chunk.seconds = round(time.process_time() - start, 2)
    return chunk


def digest(kind: str) -> str:
    """Of everything the result depends on but the versions of libraries."""
    found = hashlib.sha256()
    package = ROOT / "src" / "uhebo"
    files = [path for path in package.rglob("*.py") if path.relative_to(package).parts[0] in KINDS[kind].parts]
    files += [ROOT / "tests" / name for name in ("strategies.py", "ask_tell_machine.py", "hostile_files.py")]
    for path in sorted(files):
        found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "optuna", "hypothesis")
    found = {name: importlib.metadata.version(name) for name in packages}
    return {"Python": platform.python_version(), "uhebo": uhebo.__version__, **found}


def recorded() -> dict[str, Any]:
    """Records of all kinds."""
    try:
        found: dict[str, Any] = json.loads((RESULTS / "records.json").read_text(encoding="utf-8"))
        return found
    except OSError:
        return {}


def record(kind: str, content: Any) -> None:
    """Put the records of one kind in the place of its earlier ones."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    draft = RESULTS / ".records.json"
    draft.write_text(json.dumps({**recorded(), kind: content}, indent=1) + "\n", encoding="utf-8")
    draft.replace(RESULTS / "records.json")


def load(kind: str) -> dict[int, Chunk]:
    """Chunks that are on disk, of this source and these versions."""
    try:
        stored = recorded()[kind]
        if stored["source"] != digest(kind) or stored["versions"] != versions():
            print(f"{kind}: made with another version, so it starts again")
            return {}
        return {entry["number"]: Chunk(**entry) for entry in stored["chunks"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def store(kind: str, source: str, chunks: dict[int, Chunk]) -> None:
    done = [asdict(chunks[number]) for number in sorted(chunks)]
    content = {
        "kind": KINDS[kind].title,
        "date": datetime.date.today().isoformat(),
        "versions": versions(),
        "source": source,
        **{name: sum(entry[name] for entry in done) for name in ("cases", "crashes", "hangs", "violations")},
        "chunks": done,
    }
    record(kind, content)


def run_kind(kind: str, wanted: int, jobs: int) -> None:
    """Chunks until their cases add up to `wanted`; a process that dies is a crash of its chunk."""
    chunks, source = load(kind), digest(kind)
    size = min(KINDS[kind].chunk, wanted)
    numbers = itertools.count(max(chunks, default=0) + 1)
    context = multiprocessing.get_context("spawn")
    while not enough(chunks, wanted):
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            waiting: dict[Future[Chunk], int] = {}
            broken = False
            while (waiting or not enough(chunks, wanted)) and not broken:
                while len(waiting) < jobs and not enough(chunks, wanted):
                    number = next(numbers)
                    waiting[pool.submit(run_chunk, kind, number, size)] = number
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    number = waiting.pop(future)
                    try:
                        chunk = future.result()
                    except BrokenProcessPool:
                        chunk, broken = Chunk(number, crashes=1, failures=["the process died"]), True
                    chunks[number] = chunk
                    store(kind, source, chunks)
                    if chunk.failures:
                        print(f"{kind}, chunk {number}:\n{chunk.failures[0]}", flush=True)


def enough(chunks: dict[int, Chunk], wanted: int) -> bool:
    return sum(chunk.cases for chunk in chunks.values()) >= wanted


def written() -> str:
    """The table of everything on disk."""
    rows = []
    for name, kind in KINDS.items():
        chunks = load(name).values()
        figures = [
            sum(getattr(chunk, what) for chunk in chunks) for what in ("cases", "crashes", "hangs", "violations")
        ]
        minutes = sum(chunk.seconds for chunk in chunks) / 60
        rows.append([kind.title, f"{kind.wanted:,}", *(f"{figure:,}" for figure in figures), f"{minutes:.1f}"])
    steps = [chunk.extra for chunk in load("steps").values()]
    asked, modelled = (sum(extra.get(what, 0) for extra in steps) for what in ("suggestions", "of them by a model"))
    columns = ["what", "wanted", "run", "crashes", "hangs", "non-finite, out of bounds or lost", "CPU minutes"]
    return (
        f"### Fuzzing\n\n{datetime.date.today().isoformat()}; "
        + ", ".join(f"{name} {version}" for name, version in versions().items())
        + f"; {platform.machine()}\n\n"
        + table(columns, rows)
        + f"\nThe steps asked for {asked:,} suggestions, {modelled:,} of them by a model. "
        f"Seeds are the numbers of the chunks; made by `make fuzz`.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--share", type=float, default=1.0, help="of every figure")
    parser.add_argument("--only", choices=KINDS, action="append", help="this kind (may be given again)")
    given_arguments = parser.parse_args()
    for name in given_arguments.only or KINDS:
        run_kind(name, math.ceil(KINDS[name].wanted * given_arguments.share), given_arguments.jobs)
        text = written()
        (RESULTS / "fuzz.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
