"""Memory of 5,000 trials in one process, beyond the trials themselves.

    python -m tests.long.memory [--trials 5000]

Two processes, one after the other. The first runs a study of 5,000 trials in four parameters: `random` suggests, and
every 50th trial and the first 200 come from the default method, with its model fitted to all trials so far. The second
is given the same trials, attributes included, and suggests nothing: the data itself. Resident memory is read after a
fifth of the trials and after all, each time after Python's collector has run and freed pages were handed back. What
the first process grew by, less what the second did, is what the sampler kept: under 10 % of the first process's memory
after the first fifth. Results: results/fuzz/records.json and memory.md.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import gc
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
    json_to_distribution,
)

import uhebo
from uhebo_experiments.benchmarks.common import table

RESULTS = Path(__file__).parents[2] / "results" / "fuzz"
LIMIT = 0.10
FIRST_BY_MODEL = 200
EVERY = 50
SPACE: dict[str, BaseDistribution] = {
    "x": FloatDistribution(0.0, 1.0),
    "lr": FloatDistribution(1e-5, 1.0, log=True),
    "depth": IntDistribution(1, 30),
    "kind": CategoricalDistribution(["a", "b", "c"]),
}


def resident() -> int:
    """Bytes this process holds, after what is free has been given back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def value_of(params: dict[str, Any]) -> float:
    bonus = {"a": 0.0, "b": 0.2, "c": 0.1}[params["kind"]]
    return float((params["x"] - 0.3) ** 2 + (params["lr"] - 0.1) ** 2 + abs(params["depth"] - 7) / 30 - bonus)


def run_study(trials: int, log: Path) -> dict[str, Any]:
    """The study itself; its trials are written to `log` as they are told."""
    samplers = {"random": uhebo.UHESampler(method="random", seed=0), "default": uhebo.UHESampler(seed=0)}
    study = optuna.create_study(sampler=samplers["random"])
    readings, modelled, start = {}, 0, time.process_time()
    with log.open("w", encoding="utf-8") as file:
        for i in range(trials):
            by_model = i < FIRST_BY_MODEL or i % EVERY == 0
            study.sampler = samplers["default" if by_model else "random"]
            trial = study.ask(SPACE)
            value = value_of(trial.params)
            study.tell(trial, value)
            told = study.get_trials(deepcopy=False)[i]
            modelled += told.system_attrs["uhebo:step"]["role"] == "model"
            line = {"params": told.params, "value": value, "attributes": told.system_attrs}
            file.write(json.dumps(line) + "\n")
            if i + 1 in (trials // 5, trials):
                readings[i + 1] = resident()
    return {
        "resident": readings,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "by model": modelled,
        "CPU seconds": round(time.process_time() - start, 1),
    }


def hold_data(trials: int, log: Path) -> dict[str, Any]:
    """The same trials in a study that nobody samples, read line by line as they were told."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    readings = {}
    with log.open(encoding="utf-8") as file:
        for i, line in enumerate(file):
            told = json.loads(line)
            # Each trial has distributions of its own, as one that was asked for has.
            own = {name: json_to_distribution(distribution_to_json(d)) for name, d in SPACE.items()}
            study.add_trial(
                optuna.create_trial(
                    params=told["params"], distributions=own, value=told["value"], system_attrs=told["attributes"]
                )
            )
            if i + 1 in (trials // 5, trials):
                readings[i + 1] = resident()
    return {"resident": readings}


def in_a_process(role: str, trials: int, log: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.long.memory", "--trials", str(trials), "--role", role, "--log", str(log)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(trials: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "trials.jsonl"
        study, data = in_a_process("study", trials, log), in_a_process("data", trials, log)
    first, last = str(trials // 5), str(trials)
    grown = study["resident"][last] - study["resident"][first]
    itself = data["resident"][last] - data["resident"][first]
    return {
        "date": datetime.date.today().isoformat(),
        "versions": {
            "Python": platform.python_version(),
            "uhebo": uhebo.__version__,
            **{name: importlib.metadata.version(name) for name in ("numpy", "scipy", "optuna")},
        },
        "trials": trials,
        "study": study,
        "data": data,
        "grown": grown,
        "of which the data": itself,
        "growth": (grown - itself) / study["resident"][first],
        "limit": LIMIT,
    }


def described(found: dict[str, Any]) -> str:
    first, last = (f"{n:,}" for n in (found["trials"] // 5, found["trials"]))
    rows = []
    for name, key in (("study with suggestions", "study"), ("the same trials alone", "data")):
        before, after = (found[key]["resident"][str(n)] / 1e6 for n in (found["trials"] // 5, found["trials"]))
        rows.append([name, f"{before:.1f}", f"{after:.1f}", f"{after - before:.1f}"])
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    columns = ["process", f"MB after {first} trials", f"MB after {last}", "grown by"]
    return (
        f"### Memory\n\n{found['date']}; {versions}; {platform.machine()}\n\n{table(columns, rows)}\n"
        f"Beyond the data itself the study grew by {100 * found['growth']:.1f} % of what it held after {first} trials "
        f"(limit {100 * found['limit']:.0f} %). {found['study']['by model']} of the {last} suggestions came from a "
        f"model of all trials so far; at its peak, inside the largest of them, the process held "
        f"{found['study']['peak'] / 1e6:.0f} MB. Made by `make fuzz`.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument("--role", choices=["study", "data"], help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if chosen.role:
        print(json.dumps((run_study if chosen.role == "study" else hold_data)(chosen.trials, chosen.log)))
        return
    found = measure(chosen.trials)
    from tests.long.fuzz import record  # not in the processes whose memory is measured

    record("memory", found)
    text = described(found)
    (RESULTS / "memory.md").write_text(text, encoding="utf-8")
    print(text)
    if found["growth"] > LIMIT:
        sys.exit(f"memory grew by {100 * found['growth']:.1f} % beyond the data, more than {100 * LIMIT:.0f} %")


if __name__ == "__main__":
    main()
