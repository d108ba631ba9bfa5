"""Many workers, killed at random, on a database that goes away: is anything lost?

    python -m tests.long.soak [--phase postgresql sqlite suspended restarted crowded] [--small] [--seed 0]
        [--out results/soak] [--resume]

postgresql, sqlite   workers killed with SIGKILL at random and started again, and a server that crashes
suspended            workers stopped for longer than the grace period: they wake, and return or fail too late
restarted            phases in which the database only reads, and all workers restarted one by one with SIGTERM
crowded              three times as many workers as the server has connections

Workers are real processes running `uhebo.work`, forked from this one so that they start quickly. Every second one
evaluates in a process of its own. Each keeps a log outside the database (JSON lines, written before the next step):
what its objective returned, and what the database acknowledged. At the end the database is compared with the logs.
Each phase writes a file of its own to `--out`; `--resume` leaves out those that are there, as planned and as promised.
`--seed` fixes who is killed and how long the outages are; which worker gets which trial is up to the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import inspect
import json
import logging
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import optuna

import uhebo
from tests.postgres import Server, server
from uhebo.methods import Proposal, Step, named_method
from uhebo.optuna_.endings import SKIPPED
from uhebo.optuna_.lease import BACK, LOST, deaths
from uhebo.storage.database import open_database
from uhebo.workers import Options
from uhebo.workers.trials import OVER
from uhebo_experiments.benchmarks.common import table, versions

STUDY = "soak"
SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0), "n": (1, 9)}
TICK_S = 0.1
LAST_KILL = 0.95
"""Share of the trials after which nobody is killed any more, so that there is somebody to take over."""


@dataclass(frozen=True)
class Plan:
    """One soak."""

    name: str
    workers: int
    trials_each: int
    kills: int = 0
    outages: int = 0
    suspensions: int = 0
    read_only: int = 0
    restarts: int = 0
    """Rounds in which every worker is told to end, and started again."""
    connections: int = 200
    outage_s: tuple[float, float] = (5.0, 30.0)
    evaluation_s: tuple[float, float] = (0.02, 0.08)
    model_trials: int = 400
    heartbeat: float = 1.0
    grace: float = 10.0
    limit_s: float = 7200.0

    @property
    def trials(self) -> int:
        return self.workers * self.trials_each


FULL = (
    Plan("postgresql", 32, 200, kills=200, outages=10),
    Plan("sqlite", 8, 100, kills=20, model_trials=100),
    Plan("suspended", 16, 40, suspensions=50, evaluation_s=(0.5, 1.0), model_trials=50, grace=5.0),
    Plan("restarted", 16, 40, read_only=3, restarts=2, outage_s=(5.0, 15.0), model_trials=50),
    Plan("crowded", 32, 10, connections=10, model_trials=30, grace=60.0),
)
SMALL = (
    Plan("postgresql", 5, 10, 5, outages=1, outage_s=(1.0, 2.0), model_trials=15, heartbeat=0.5, grace=2.5),
    Plan("sqlite", 3, 8, kills=2, model_trials=10, heartbeat=0.5, grace=2.5),
    Plan("suspended", 3, 8, suspensions=2, evaluation_s=(0.5, 0.9), model_trials=0, heartbeat=0.4, grace=1.5),
    Plan("restarted", 3, 10, read_only=1, restarts=1, outage_s=(1.0, 2.0), model_trials=0),
    Plan("crowded", 14, 2, connections=8, model_trials=0),
)
LATE_S = 2.0
"""Seconds beside the grace period for which a worker is suspended: its trial must have been taken over."""


def evaluate(seconds: tuple[float, float], x: float, y: float, n: int) -> float:
    """A few milliseconds of waiting, as for another machine, and a value that follows from the parameters.

    And from the process: a late result is told from an early one. Where it was suspended meanwhile, it fails in half
    of the cases.
    """
    began = time.monotonic()
    time.sleep(seconds[0] + x * (seconds[1] - seconds[0]))
    if time.monotonic() - began > seconds[1] + LATE_S / 2 and y > 0.5:
        raise RuntimeError("woken too late")
    return (x - 0.3) ** 2 + (y - 0.6) ** 2 + 0.01 * n + 1e-9 * os.getpid()


def default_method() -> str:
    return str(inspect.signature(uhebo.UHESampler).parameters["method"].default)


def sampler(plan: Plan, seed: int) -> uhebo.UHESampler:
    method = named_method(default_method())

    def first_model(step: Step) -> Proposal:
        return method.propose(step) if step.slot.number < plan.model_trials else step.random()

    return uhebo.UHESampler(
        method=replace(method, propose=first_model), n_trials=max(1, plan.model_trials), seed=seed, deterministic=True
    )


@dataclass
class Crew:
    """The workers, and everything that is done to them."""

    plan: Plan
    url: str
    folder: Path
    seed: int
    running: dict[int, int] = field(default_factory=dict)
    """Process -> place."""
    due: list[tuple[float, int]] = field(default_factory=list)
    """When a worker is to be started (again), and in which place."""
    killed: int = 0
    ended: int = 0
    suspended: int = 0
    restarted: int = 0
    ending: set[int] = field(default_factory=set)
    """Processes that were told to end."""
    wrong: list[str] = field(default_factory=list)
    """Workers that ended in a way nobody asked for."""
    _started: int = 0
    _read: dict[Path, int] = field(default_factory=dict)
    stored: int = 0

    def start(self, place: int) -> None:
        self._started += 1
        name = f"{place:02d}-{self._started:04d}"
        process = os.fork()
        if process:
            self.running[process] = place
            return
        code = 1
        try:
            errors = os.open(self.folder / f"{name}.err", os.O_WRONLY | os.O_CREAT)
            os.dup2(errors, 2)
            options = Options(
                heartbeat=self.plan.heartbeat,
                grace=self.plan.grace,
                spool=self.folder / "unsent",
                log=self.folder / f"{name}.jsonl",
                own_process=place % 2 == 1,
            )
            done = uhebo.work(
                lambda x, y, n: evaluate(self.plan.evaluation_s, x, y, n),
                SPACE,
                self.plan.trials,
                storage=self.url,
                study_name=STUDY,
                sampler=sampler(self.plan, self.seed),
                options=options,
            )
            code = 0 if done.signal is None else 128 + done.signal
        except BaseException:
            logging.getLogger("uhebo").exception("a worker failed")
        finally:
            os._exit(code)

    def tick(self) -> None:
        """Start who is due, bury who is dead, count what was stored."""
        for when, place in [entry for entry in self.due if entry[0] <= time.monotonic()]:
            self.due.remove((when, place))
            self.start(place)
        while self.running:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                break
            place = self.running.pop(process)
            said = self._last_words(place)
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                self.due.append((time.monotonic() + random.uniform(0.0, 2.0), place))
            elif process in self.ending:
                self.ending.remove(process)
                how = os.waitstatus_to_exitcode(status)
                # The signal may come before the worker listens, or with its last trial.
                if how in (143, -signal.SIGTERM):
                    self.due.append((time.monotonic(), place))
                    self.restarted += 1
                elif how:
                    self.wrong.append(f"place {place}: exit code {how} after SIGTERM: {said}")
            elif status == 0:
                self.ended += 1
            else:
                self.wrong.append(f"place {place}: status {status}: {said}")
        for path in self.folder.glob("*.jsonl"):
            if path.stat().st_size == self._read.get(path, 0):
                continue
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                new = file.read()
            self._read[path] = self._read.get(path, 0) + len(new)
            self.stored += new.count(b'"event": "stored"') + new.count(b'"event": "delivered"')

    def _last_words(self, place: int) -> str:
        """The last line of what the latest worker of a place wrote to standard error."""
        path = max(self.folder.glob(f"{place:02d}-*.err"), default=None)
        lines = [] if path is None else path.read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    def kill(self, rng: random.Random) -> None:
        if self.running:
            os.kill(rng.choice(sorted(self.running)), signal.SIGKILL)
            self.killed += 1

    def suspend(self, rng: random.Random, awake: list[tuple[float, int]]) -> None:
        """Stop a worker until longer than its grace period."""
        stopped = {process for _, process in awake}
        free = sorted(set(self.running) - stopped)
        if len(free) > len(self.running) // 2:
            process = rng.choice(free)
            os.kill(process, signal.SIGSTOP)
            awake.append((time.monotonic() + self.plan.grace + LATE_S, process))
            self.suspended += 1

    def restart(self) -> None:
        """Tell every worker to end, one after the other, each when the one before is gone."""
        for process in sorted(self.running):
            if process in self.running:
                self.ending.add(process)
                os.kill(process, signal.SIGTERM)
                while process in self.running:
                    self.tick()
                    time.sleep(TICK_S)

    def end(self) -> None:
        for process in self.running:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def soak(plan: Plan, url: str, folder: Path, seed: int, database: Server | None) -> dict[str, Any]:
    rng = random.Random(seed)
    crew = Crew(plan, url, folder, seed)
    # Three kills fall into each outage, where unsent results are at stake; the rest come between.
    in_outage = min(3, plan.kills // max(plan.outages, 1)) if plan.outages else 0
    kills = sorted(rng.uniform(0, LAST_KILL) * plan.trials for _ in range(plan.kills - in_outage * plan.outages))
    outages = sorted(rng.uniform(0.05, LAST_KILL) * plan.trials for _ in range(plan.outages + plan.read_only))
    lengths = [rng.uniform(*plan.outage_s) for _ in outages]
    suspensions = sorted(rng.uniform(0, LAST_KILL - 0.2) * plan.trials for _ in range(plan.suspensions))
    restarts = [(round_ + 1) / (plan.restarts + 1) * plan.trials for round_ in range(plan.restarts)]
    awake: list[tuple[float, int]] = []
    began = time.monotonic()
    crew.due = [(began + 0.1 * place, place) for place in range(plan.workers)]
    try:
        while crew.running or crew.due:
            crew.tick()
            while kills and crew.stored >= kills[0] and crew.running:
                kills.pop(0)
                crew.kill(rng)
            if outages and crew.stored >= outages[0] and database is not None:
                outages.pop(0)
                outage(crew, database, lengths[len(outages)], in_outage, rng)
            while suspensions and crew.stored >= suspensions[0] and len(awake) < len(crew.running) // 2:
                suspensions.pop(0)
                crew.suspend(rng, awake)
            for entry in [entry for entry in awake if entry[0] <= time.monotonic()]:
                awake.remove(entry)
                os.kill(entry[1], signal.SIGCONT)
            if restarts and crew.stored >= restarts[0]:
                restarts.pop(0)
                crew.restart()
            if time.monotonic() - began > plan.limit_s:
                raise SystemExit(f"not done after {plan.limit_s:.0f} s: {crew.stored} of {plan.trials} stored")
            time.sleep(TICK_S)
    finally:
        crew.end()
    seconds = time.monotonic() - began
    return {
        "name": plan.name,
        "plan": asdict(plan),
        "seed": seed,
        "seconds": round(seconds, 1),
        "kills": crew.killed,
        "suspensions": crew.suspended,
        "restarted by SIGTERM": crew.restarted,
        "processes left": left_over(),
        "outage seconds": [round(length, 1) for length in lengths],
        "workers that ended by themselves": crew.ended,
        "workers that crashed": crew.wrong,
        **reconcile(url, folder),
    }


def outage(crew: Crew, database: Server, seconds: float, kills: int, rng: random.Random) -> None:
    """The server is gone as after a crash, for that long; some workers do not live to see it come back.

    Or it only reads.
    """
    if crew.plan.read_only:
        database.read_only(on=True)
    else:
        database.stop("immediate")
    end = time.monotonic() + seconds
    at = sorted(rng.uniform(0.2, 0.9) * seconds for _ in range(kills))
    while at or time.monotonic() < end:
        crew.tick()
        while at and crew.running and time.monotonic() >= end - seconds + at[0]:
            at.pop(0)
            crew.kill(rng)
        time.sleep(TICK_S)
    if crew.plan.read_only:
        database.read_only(on=False)
    else:
        database.start()


def left_over() -> int:
    """Processes forked from this one that are still there; they share its command line."""
    deadline = time.monotonic() + 10.0
    mine = Path("/proc/self/cmdline").read_bytes()
    while True:
        found = 0
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                found += path.read_bytes() == mine and int(path.parts[2]) != os.getpid()
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(TICK_S)


def events(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            with contextlib.suppress(ValueError):  # a kill in mid-line
                yield json.loads(line)


def reconcile(url: str, folder: Path) -> dict[str, Any]:
    """The database against the logs."""
    storage = open_database(url)
    found = optuna.load_study(study_name=STUDY, storage=storage).get_trials(deepcopy=False)
    trials = [trial for trial in found if trial.user_attrs.get(SKIPPED) != OVER]
    happened = list(events(folder))
    value = {trial.number: trial.value for trial in trials if trial.value is not None}
    acknowledged = [e for e in happened if e["event"] in ("stored", "delivered")]
    returned = [e for e in happened if e["event"] == "returned"]
    returned_values: dict[int, set[float]] = {}
    for e in returned:
        returned_values.setdefault(e["trial"], set()).add(e["value"])
    handed_back: dict[int, set[str]] = {}
    for e in happened:
        if e["event"] in ("handed back", "abandoned") and "of" in e:
            handed_back.setdefault(e["trial"], set()).add(e["of"])
    numbers = Counter(trial.number for trial in trials)
    points = Counter(tuple(sorted(trial.params.items())) for trial in trials)
    states = Counter(trial.state.name for trial in trials)
    report = {
        "trials": len(trials),
        "created beyond the budget, and skipped": len(found) - len(trials),
        "states": dict(sorted(states.items())),
        "acknowledged results": len(acknowledged),
        "acknowledged results lost": sum(value.get(e["trial"]) != e["value"] for e in acknowledged),
        "returned results": len(returned),
        "returned results whose trial has no value": len({e["trial"] for e in returned} - set(value)),
        "late results discarded": sum(e["event"] == "discarded" for e in happened),
        "late failures refused": sum(e["event"] == "abandoned" and "reason" in e for e in happened),
        "handed back": sum(e["event"] == "handed back" for e in happened),
        "deaths counted": sum(map(deaths, trials)),
        "deaths of workers that handed the trial back": sum(
            LOST + worker in trial.system_attrs and BACK + worker not in trial.system_attrs
            for trial in trials
            for worker in handed_back.get(trial._trial_id, ())
        ),
        "values that nobody returned": sum(v not in returned_values.get(n, ()) for n, v in value.items()),
        "duplicate trial numbers": sum(count - 1 for count in numbers.values()),
        "duplicate points": sum(count - 1 for count in points.values()),
        "left running": states["RUNNING"],
        "left waiting": states["WAITING"],
        "unsent results left": len(list((folder / "unsent").glob("*.json"))),
        "queued again": sum(e["event"] == "requeued" for e in happened),
        "delivered for dead workers": sum(e["event"] == "delivered" for e in happened),
        "evaluated more than once": len(returned) - len({e["trial"] for e in returned}),
    }
    if storage.engine.dialect.name == "sqlite":
        with storage.engine.connect() as connection:
            report["integrity check"] = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
    storage.engine.dispose()
    return report


def verdict(report: dict[str, Any]) -> list[str]:
    """What is wrong with a report; nothing, if it is as promised."""
    zero = (
        "acknowledged results lost",
        "returned results whose trial has no value",
        "values that nobody returned",
        "duplicate trial numbers",
        "duplicate points",
        "left running",
        "left waiting",
        "unsent results left",
        "processes left",
        "deaths of workers that handed the trial back",
    )
    wrong = [f"{name}: {report[name]}" for name in zero if report[name]]
    plan = report["plan"]
    if report["trials"] != plan["workers"] * plan["trials_each"]:
        wrong.append(f"{report['trials']} trials")
    if report["created beyond the budget, and skipped"] >= plan["workers"]:
        wrong.append("more trials beyond the budget than workers - 1")
    wrong += [f"{report[name]} {name}" for name in ("kills", "suspensions") if report[name] != plan[name]]
    if plan["restarts"] and report["states"].get("FAIL"):
        wrong.append("a restart has used up a trial")
    if report.get("integrity check", "ok") != "ok":
        wrong.append(f"integrity check: {report['integrity check']}")
    return [*wrong, *report["workers that crashed"]]


def one(plan: Plan, seed: int) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="uhebo-soak-"))
    try:
        if plan.name == "sqlite":
            return soak(plan, f"sqlite:///{folder / 'study.db'}", folder, seed, None)
        with server(fsync=True, max_connections=plan.connections) as database:
            return soak(plan, database.new_database(), folder, seed, database)
    finally:
        if os.environ.get("UHEBO_KEEP"):
            print(f"logs kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def markdown(reports: list[dict[str, Any]]) -> str:
    head = ["", *(f"{r['name']}, {r['date']}" for r in reports)]
    plans = [r["plan"] for r in reports]
    rows = [
        ["workers × trials", *(f"{p['workers']} × {p['trials_each']}" for p in plans)],
        ["suggested by the model", *(f"the first {r['plan']['model_trials']} ({r['method']})" for r in reports)],
        ["outages", *(f"{len(s)}" + (f", {min(s):.0f}–{max(s):.0f} s" if s else "") for s in
                      (r["outage seconds"] for r in reports))],
    ]  # fmt: skip
    names = list(dict.fromkeys(name for r in reports for name in r))
    hidden = ("name", "plan", "date", "method", "outage seconds", "workers that crashed", "versions", "wrong")
    for name in names:
        if name not in hidden:
            cells = [r.get(name, "–") for r in reports]
            shown = [", ".join(f"{v} {k.lower()}" for k, v in c.items()) if isinstance(c, dict) else c for c in cells]
            rows.append([name, *(str(cell) for cell in shown)])
    rows.append(["as promised", *("yes" if not r["wrong"] else "; ".join(r["wrong"]) for r in reports)])
    lines = [f"- {r['name']}: {r['versions']}" for r in reports]
    return (
        "# Soak\n\nWritten by `make soak` (`python -m tests.long.soak`).\n\n"
        + table(head, rows)
        + "\n"
        + "\n".join(lines)
        + "\n"
    )


def is_done(plan: Plan, seed: int, folder: Path | None) -> bool:
    """Whether the folder has this phase, with nothing wrong."""
    path = None if folder is None else folder / f"{plan.name}.json"
    kept = json.loads(path.read_text()) if path is not None and path.exists() else {}
    same = kept.get("plan") == json.loads(json.dumps(asdict(plan))) and kept.get("seed") == seed
    return same and kept.get("wrong") == []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    phases = [plan.name for plan in FULL]
    parser.add_argument("--phase", "--on", dest="on", nargs="+", choices=phases, default=phases)
    parser.add_argument("--resume", action="store_true", help="leave out phases that --out has already, as promised")
    parser.add_argument("--small", action="store_true", help="the size of the tests")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="folder for the JSON files and the table")
    options = parser.parse_args()
    failed = False
    for plan in SMALL if options.small else FULL:
        if plan.name not in options.on or (options.resume and is_done(plan, options.seed, options.out)):
            continue
        report = one(plan, options.seed)
        report["method"] = default_method()
        report["date"] = datetime.date.today().isoformat()
        report["versions"] = versions(("optuna", "sqlalchemy", "psycopg"))
        report["wrong"] = verdict(report)
        failed |= bool(report["wrong"])
        print(json.dumps(report, indent=2))
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / f"{plan.name}.json").write_text(json.dumps(report, indent=2) + "\n")
    if options.out is not None:
        kept = [json.loads(path.read_text()) for path in sorted(options.out.glob("*.json"))]
        kept = [report for report in kept if "name" in report]  # not of a worker before this one
        (options.out / "README.md").write_text(markdown(kept))
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
