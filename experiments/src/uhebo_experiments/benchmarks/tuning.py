"""Which default? Candidates for `auto` on problems drawn at random, told apart by paired differences.

    python -m uhebo_experiments.benchmarks.tuning [NAME …] [--problems 1000] [--jobs 2] [--power] [--page]
        [--purpose tuning|reporting] [--workers 1] [--out results/tuning]
    python -m uhebo_experiments.benchmarks.tuning --list

Each candidate (`uhebo_experiments.benchmarks.candidates`) runs once on each problem (`uhebo_experiments.problems
.generated`), beside the default. A run is judged by log10 of its final regret over that of random search, at least
1e-3: of the best value evaluated, or where values are noisy of the point that the run's own model takes for the best,
each without noise. For each candidate, against the default:

    rank       mean of 1, 1.5 or 2 (better, equal, worse than the default); 1.5 is no difference
    log regret mean difference; -0.3 is half the regret
    worst      share of its runs among the worst tenth of its and the default's; 10 % is no difference

each with the standard error over problems. One candidate and the default on 1,000 problems take less than an hour of
two cores.
--power says which differences would be seen four times out of five (5 %, two-sided), from the default run twice with
different seeds. Finished runs are kept, and the same command goes on where it was stopped. With --workers so many
trials are under way at any time. Problems of `reporting` are for the frozen choice alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import optuna
from optuna.distributions import BaseDistribution

from uhebo.methods import Method
from uhebo.numerics.threads import single_threaded
from uhebo.optuna_.sampler import UHESampler
from uhebo.space import SearchSpace
from uhebo.types import Array
from uhebo_experiments.benchmarks.candidates import AGAIN, CANDIDATES, DEFAULT, own_priors
from uhebo_experiments.benchmarks.common import days, heading, table
from uhebo_experiments.problems.generated import FAMILIES, Generated, generated
from uhebo_experiments.problems.trained import Purpose
from uhebo_experiments.runner import compute
from uhebo_experiments.table import RUNS, Record, Table

FLOOR = 1e-3
"""Of random search's regret: what is below counts as found."""
SEEN = 2.8
"""Standard errors of a difference that is seen four times out of five at 5 %, two-sided: 1.96 + 0.84."""
WORST = 0.1
NOISE_STREAM, MIDDLE_STREAM = 7, 8


@dataclass(frozen=True)
class Run:
    """A candidate on a problem."""

    candidate: str
    purpose: str
    index: int
    workers: int = 1


@single_threaded
@own_priors()
def run(cell: Run) -> list[Record]:
    """One record: the best value, that of the point the model takes for the best, and what there is to know of both."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    case = generated(cast(Purpose, cell.purpose), cell.index)
    chosen = CANDIDATES[cell.candidate]
    method = Method(chosen.propose, chosen.recipe.model, chosen.recipe.acquisition, design=chosen.design)
    sampler = UHESampler(method=method, n_trials=case.trials, seed=cell.index + chosen.shift, when_exhausted="repeat")
    study = optuna.create_study(direction="maximize", sampler=sampler)
    if chosen.middle:
        study.enqueue_trial(middle_of(case.space, cell.index))
    rng = np.random.default_rng([cell.index, NOISE_STREAM])
    values = drive(study, case, rng, cell.workers)
    record = {"best": max(values.values()), "used": values[used(study, sampler, case)]}
    known = {"family": case.family, "noisy": case.noisy, "parameters": len(case.space), "trials": case.trials}
    return [{**record, "optimum": case.optimum, "reference": case.reference, **known}]


def middle_of(distributions: Mapping[str, BaseDistribution], seed: int) -> dict[str, Any]:
    """The point in the middle of every range; categories, which have none, by chance."""
    space = SearchSpace.of(distributions)
    row = space.domain.uniform(np.random.default_rng([seed, MIDDLE_STREAM]), 1)
    row[:, space.domain.numeric] = 0.5
    return space.decode(space.snap(row)[0])


def drive(study: optuna.Study, case: Generated, rng: np.random.Generator, workers: int) -> dict[int, float]:
    """All trials of a run, so many at a time; trial number -> value without noise."""
    values: dict[int, float] = {}
    running: list[optuna.Trial] = []
    for asked in range(1, case.trials + 1):
        running.append(study.ask(dict(case.space)))
        while len(running) >= (workers if asked < case.trials else 1):
            trial = running.pop(int(rng.integers(len(running))) if workers > 1 else 0)
            values[trial.number] = case.value(trial.params)
            study.tell(trial, case.observe(trial.params, rng))
    return values


def used(study: optuna.Study, sampler: UHESampler, case: Generated) -> int:
    """Number of the trial whose point one would use: the best told, or under noise the best by the model."""
    if not case.noisy:
        return study.best_trial.number
    step = sampler.step(study, len(study.trials), sampler.search_space(study))
    return step.history.finished[int(np.argmax(step.believe().objective.smoothed))].number


def scores(results: Mapping[Run, list[Record]], names: Sequence[str], problems: Sequence[int], like: Run) -> Array:
    """log10 of regret over that of random search, (names, problems)."""
    found = np.empty((len(names), len(problems)))
    for column, index in enumerate(problems):
        records = [results[Run(name, like.purpose, index, like.workers)][0] for name in names]
        top = max(record["optimum"] for record in records)
        top = max(top, *(record["best"] for record in records))
        kept = "used" if records[0]["noisy"] else "best"
        regrets = np.array([top - record[kept] for record in records]) / records[0]["reference"]
        found[:, column] = np.log10(np.maximum(regrets, FLOOR))
    return found


@dataclass(frozen=True)
class Difference:
    """A candidate against the default: figures and their standard errors over problems."""

    rank: tuple[float, float]
    log_regret: tuple[float, float]
    worst: tuple[float, float]
    problems: int

    @classmethod
    def of(cls, ours: Array, default: Array) -> Difference:
        ranks = 1.5 + 0.5 * np.sign(np.round(ours - default, 9))
        limit = np.quantile(np.concatenate([ours, default]), 1.0 - WORST)
        bad = (ours > limit).astype(np.float64) - (default > limit)
        return cls(_mean(ranks), _mean(ours - default), _mean(WORST + 0.5 * bad), len(ours))

    @property
    def cells(self) -> list[str]:
        (rank, e1), (log, e2), (worst, e3) = self.rank, self.log_regret, self.worst
        return [f"{rank:.3f} ± {e1:.3f}", f"{log:+.3f} ± {e2:.3f}", f"{100 * worst:.1f} ± {100 * e3:.1f} %"]

    @property
    def verdict(self) -> str:
        """Better or worse where the log regret and the rank agree, and one of them by two standard errors."""
        signs = [np.sign(self.rank[0] - 1.5), np.sign(self.log_regret[0])]
        sizes = [
            abs(self.rank[0] - 1.5) / max(self.rank[1], 1e-12),
            abs(self.log_regret[0]) / max(self.log_regret[1], 1e-12),
        ]
        if signs[0] != signs[1] or signs[0] == 0.0 or max(sizes) < 2.0:
            return ""
        return "better" if signs[0] < 0.0 else "worse"


def _mean(sample: Array) -> tuple[float, float]:
    return float(sample.mean()), float(sample.std(ddof=1) / np.sqrt(len(sample))) if len(sample) > 1 else np.nan


def comparison(
    results: Mapping[Run, list[Record]], names: Sequence[str], problems: Sequence[int], like: Run
) -> dict[str, Difference]:
    """Each candidate against the default, in the order of their ranks."""
    found = {}
    for name in names:
        ours, default = scores(results, [name, DEFAULT], problems, like)
        found[name] = Difference.of(ours, default)
    return dict(sorted(found.items(), key=lambda item: item[1].rank[0]))


def page(results: Mapping[Run, list[Record]], names: Sequence[str], problems: Sequence[int], like: Run) -> str:
    """All problems together, then mean log regret by family and for noisy and exact values."""
    found = comparison(results, names, problems, like)
    rows = [[name, *each.cells, each.verdict] for name, each in found.items()]
    made = [table(["against the default", "rank (1.5 is no difference)", "log regret", "worst tenth (10 %)", ""], rows)]
    records = {i: results[Run(DEFAULT, like.purpose, i, like.workers)][0] for i in problems}
    groups: dict[str, list[int]] = {
        family: [i for i in problems if records[i]["family"] == family] for family in FAMILIES
    }
    groups |= {
        "exact": [i for i in problems if not records[i]["noisy"]],
        "noisy": [i for i in problems if records[i]["noisy"]],
    }
    groups = {group: members for group, members in groups.items() if len(members) > 1}
    cells = {}
    for name in found:
        parts = (comparison(results, [name], members, like)[name] for members in groups.values())
        cells[name] = [f"{each.log_regret[0]:+.2f} ± {each.log_regret[1]:.2f}" for each in parts]
    columns = ["log regret", *(f"{group} ({len(members)})" for group, members in groups.items())]
    made.append(table(columns, [[name, *cells[name]] for name in found]))
    return "\n".join(made)


def power(results: Mapping[Run, list[Record]], problems: Sequence[int], like: Run) -> str:
    """What difference these problems show: the default against itself."""
    ours, default = scores(results, [AGAIN, DEFAULT], problems, like)
    same = Difference.of(ours, default)
    return (
        f"The default against itself with another seed, {same.problems} problems: rank {same.cells[0]}, log regret "
        f"{same.cells[1]}, worst tenth {same.cells[2]}.\nSeen four times out of five (5 %, two-sided): a rank that "
        f"differs from 1.5 by {SEEN * same.rank[1]:.3f}, a log regret by {SEEN * same.log_regret[1]:.2f} (a factor of "
        f"{10 ** (SEEN * same.log_regret[1]):.2f} in regret), a share of the worst tenth by "
        f"{100 * SEEN * same.worst[1]:.1f} percentage points. Four times the problems halve these.\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="candidates; default: all that have been run")
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--purpose", choices=("tuning", "reporting"), default="tuning")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--power", action="store_true", help="say which differences would be seen")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page from what is there")
    parser.add_argument("--list", action="store_true", help="names of the candidates")
    parser.add_argument("--out", type=Path, default=Path("results/tuning"))
    options = parser.parse_args(arguments)
    if options.list:
        print(*CANDIDATES, sep="\n")
        return
    unknown = [name for name in options.names if name not in CANDIDATES]
    if unknown or options.problems < 2 or options.workers < 1:
        wrong = f"unknown candidate {unknown[0]!r}; --list names them" if unknown else "too few problems or workers"
        parser.error(wrong)
    write(options.names, options)


def write(named: Sequence[str], options: argparse.Namespace) -> None:
    """Run what is missing and print the comparison, or write it from what is there."""
    folder, like = options.out, Run(DEFAULT, options.purpose, 0, options.workers)
    store, problems = Table(folder / RUNS), range(options.problems)
    if options.page:
        text = (
            f"{days(store)}, problems drawn for {options.purpose}, one run each.\n{from_records(store, like, problems)}"
        )
        (folder / "tuning.md").write_text(text, encoding="utf-8")
        print(text)
        return
    names = [name for name in dict.fromkeys(named) if name != DEFAULT] + [AGAIN] * options.power
    cells = [replace(like, candidate=name, index=i) for i in problems for name in dict.fromkeys((DEFAULT, *names))]
    results = compute(cells, store, run, jobs=options.jobs, label="runs")
    print(heading(f"candidates on {options.problems} problems drawn for {options.purpose}", ("optuna",)))
    others = [name for name in names if name != AGAIN]
    if others:
        print(page(results, others, problems, like))
    if options.power:
        print(power(results, problems, like))


def from_records(store: Table, like: Run, problems: Sequence[int]) -> str:
    """All that the records of a table say: candidates that have run on the same problems share a table, and so do
    those with as many trials at once."""
    text = ""
    for workers in sorted({header["workers"] for header, _ in store}):
        like = replace(like, workers=workers)
        done = {c: {i for i in problems if store.records(replace(like, candidate=c, index=i))} for c in CANDIDATES}
        text += f"\n{workers} trials at once. {at_once(store, like, sorted(done[DEFAULT]))}\n" if workers > 1 else ""
        for size in sorted({len(indices) for indices in done.values() if indices}, reverse=True):
            common = sorted(done[DEFAULT])[:size]
            names = [c for c in CANDIDATES if c != DEFAULT and len(done[c]) == size and done[c] >= set(common)]
            if names:
                cells = [replace(like, candidate=c, index=i) for c in (DEFAULT, *names) for i in common]
                results = compute(cells, store, run, jobs=1, progress=False)
                text += f"\n{size} problems.\n\n{page(results, names, common, like)}"
                text += f"\n{power(results, common, like)}" if AGAIN in names else ""
    return text


def at_once(store: Table, like: Run, problems: Sequence[int]) -> str:
    """The default with several trials at once against one after the other."""
    one = replace(like, workers=1)
    cells = [replace(kind, index=i) for kind in (one, like) for i in problems]
    known = {cell: records for cell in cells if (records := store.records(cell))}
    both = [i for i in problems if replace(one, index=i) in known]
    apart = []
    for i in both:
        records = [known[replace(kind, index=i)][0] for kind in (like, one)]
        found = scores({Run(str(k), "", i): [r] for k, r in enumerate(records)}, ["0", "1"], [i], Run("", "", i))
        apart.append(float(found[0, 0] - found[1, 0]))
    mean, error = _mean(np.array(apart))
    low, high = 10 ** (mean - error), 10 ** (mean + error)
    return (
        f"The default against itself with one at a time, {len(both)} problems: log regret {mean:+.3f} ± {error:.3f}, a "
        f"factor of {10**mean:.2f} in regret ({low:.2f} to {high:.2f} within one standard error)."
    )


if __name__ == "__main__":
    main()
