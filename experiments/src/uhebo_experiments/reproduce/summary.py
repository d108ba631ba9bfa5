"""The page that ends a reproduction: verdicts, figures with captions, and every table behind them."""

from __future__ import annotations

import datetime
import importlib.metadata
from pathlib import Path

import numpy as np

from uhebo.types import Array
from uhebo_experiments.page import Page
from uhebo_experiments.reproduce import plan
from uhebo_experiments.reproduce.claims import TOLERANCE
from uhebo_experiments.reproduce.curves import Curves
from uhebo_experiments.reproduce.plan import Scale
from uhebo_experiments.reproduce.reproduction import Reproduction
from uhebo_experiments.reproduce.surrogate_error import grid_points
from uhebo_experiments.reproduce.under import TIMED
from uhebo_experiments.revision import revision
from uhebo_experiments.style import LOOK, TITLES, png_inches

FOUND = 0.1
"""Regret on h1 below which its peak was found."""


def write_summary(reproduction: Reproduction, drawn: dict[str, Path], command: str) -> Path:
    """`reproduction.md` and `reproduction.html` in the folder; returns the latter."""
    scale = reproduction.scale
    page = Page("UHE-BO, reproduced: what holds and what does not")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "scipy", "optuna"))
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    page.text(
        f"Made by `{command}` with uhebo {revision()} ({versions}) on {today}; the page is worked out from the "
        "records in the tables beside it (`.jsonl.gz`), each of which has its own versions and date. "
        f"Seeds 0-{scale.seeds - 1}; T = {scale.synthetic_budget} iterations on the synthetic problems and "
        f"{scale.real_budget} on the real ones, after 3d uniform points that all methods share at one seed. "
        "Bands and ± are one standard error over seeds."
    )
    _verdicts(page, reproduction)
    page.heading("Figures")
    for name, path in drawn.items():
        page.figure(f"figures/{path.name}", f"Figure {name[3:]}", _caption(name, scale), png_inches(path))
    _tables(page, reproduction)
    return page.write(reproduction.folder, "reproduction")


def _verdicts(page: Page, reproduction: Reproduction) -> None:
    page.heading("Verdicts")
    page.text(
        "Compared seed by seed on the final value; a difference counts where the 95 % bootstrap interval of its mean "
        "excludes 0 and Wilcoxon's test agrees (5 %). “Better than” is reproduced when every comparison is better, not "
        "reproduced when one is worse; “comparable” (C1, C4) unless one is worse by more than "
        f"{TOLERANCE:.0%} of the regret after the initial design; “most” (C2) when more than half are better, not when "
        "half or more are worse. C5 is about the last iteration, C8 about the larger half of the sizes."
    )
    under = f"under `{reproduction.main.column}`"
    page.table(
        ["claim", "what the paper says", "verdict", "why"],
        [[claim.name, claim.text, f"{claim.verdict} {under}", claim.reason] for claim in reproduction.claims],
        "verdicts",
        wrap=True,
    )
    page.text("C1 one by one: UHE-BO beside each rival, mean difference of the final regret (rival minus UHE-BO).")
    page.table(*_beside(reproduction), "c1", wrap=True)
    if len(reproduction.readings) > 1:
        _matrix(page, reproduction)


def _matrix(page: Page, reproduction: Reproduction) -> None:
    page.heading("Claims by reading of the paper")
    page.text(
        "Each column reads one thing in another way; what it does not name is as in the first. Where a column is not "
        "about the pairs of the loss, the claims about regret are judged, on the synthetic problems alone."
    )
    verdicts = {
        (name, claim.name): claim.verdict for name, under in reproduction.by_reading.items() for claim in under.claims
    }
    page.table(
        ["claim", *(f"`{name}`" for name in reproduction.readings)],
        [
            [claim.name, *(verdicts.get((name, claim.name), "–") for name in reproduction.readings)]
            for claim in reproduction.claims
        ],
        "matrix",
        wrap=True,
    )
    about = [[f"`{name}`", plan.COLUMNS[name].about] for name in reproduction.readings]
    page.table(["reading", "what it is"], about, "readings", wrap=True)
    page.text("UHE-BO against each rival in C1, better : undecided : worse, and its final regret:")
    rows = []
    for name, under in reproduction.by_reading.items():
        c1 = next(claim for claim in under.claims if claim.name == "C1")
        outcomes = [c.effect.outcome for c in c1.comparisons]
        counts = " : ".join(str(outcomes.count(word)) for word in ("better", "undecided", "worse"))
        finals = (under.regrets[where, "uhe"].final for where in plan.SYNTHETIC)
        rows.append([f"`{name}`", counts, *map(figure, finals), peak(under.regrets["h1", "uhe"].final)])
    page.table(["reading", "C1", *(TITLES[where] for where in plan.SYNTHETIC), "peak of h1 found"], rows, "counts")


def _beside(reproduction: Reproduction) -> tuple[list[str], list[list[str]]]:
    """A row per rival of C1, a column per problem."""
    c1 = next(claim for claim in reproduction.claims if claim.name == "C1")
    effects = {(c.rival, c.where): c.effect for c in c1.comparisons}
    rivals = dict.fromkeys(c.rival for c in c1.comparisons)
    rows = []
    for rival in rivals:
        cells = [effects[rival, where] for where in plan.SYNTHETIC]
        shown = [f"{e.outcome}, {round(e.mean, 12):.2g} [{e.low:.2g}, {e.high:.2g}]" for e in cells]
        rows.append([LOOK[rival][0], *shown])
    return ["UHE-BO beside", *(TITLES[where] for where in plan.SYNTHETIC)], rows


def _caption(name: str, scale: Scale) -> str:
    shared = f"Mean ± 1 s.e. of {scale.seeds} seeds."
    fidelity = dict(scale.fidelities)
    reduced = "; ".join(f"{TITLES[problem]} at {value}" for problem, value in fidelity.items())
    return {
        "fig1": "Left: a function of known lengthscale and the points a search (MAP, UCB) chose. Middle: posterior of "
        "the lengthscale from these points (the three uniform ones at the start included), the variance integrated out "
        "under flat priors on both, noise 1e-6. Right: from as many i.i.d. points. One run, seed 0.",
        "fig2": f"Simple regret on the synthetic problems (top), and the gap to the best validation accuracy seen by "
        f"any run on the real ones (bottom). {shared} Reduced fidelity (trees or iterations): {reduced or 'none'}; all "
        "others at full fidelity. A mean of 0 is drawn at the lower edge. Where A-GP-UCB or Wang & de Freitas "
        "never shrank a lengthscale their curves are MAP's and hide it.",
        "fig3": "Truth (left) and mean of the surrogate over iterations, UHE-BO above, MAP below; crosses are the "
        "data. Deceptive, seed 0.",
        "fig4": f"Mean squared error of the surrogate on {grid_points(2, scale.thinning):,} (2-D) and "
        f"{grid_points(3, scale.thinning):,} (3-D) grid points. {shared}",
        "fig5": f"Ablation: UHE-BO, RA-BO (no bandit) and Random+EXP3 (no consistent loss); right, CPU seconds spent "
        f"on suggestions in a whole run (T = {scale.synthetic_budget}; the forest {scale.real_budget}), from runs of "
        f"their own, all methods side by side, {scale.clock_seeds} seeds. {shared}",
        "fig6": f"Ours. Error of the estimated lengthscales on sample paths with lengthscale 0.2 in 2-D, against n, by "
        f"source of the data; the consistent loss in its readings. It draws lengthscales only; signal and noise "
        f"variance are in the table of all hyperparameters below. {scale.path_seeds} paths.",
        "fig7": f"Ours. Simple regret up to T = {scale.long_budget} on sample paths of a known GP, with the shape of "
        f"the bound (a constant is free). Above 100 observations the consistent loss goes in blocks here. "
        f"{scale.long_seeds} paths.",
    }[name]


def _tables(page: Page, reproduction: Reproduction) -> None:
    scale = reproduction.scale
    problems = (*plan.SYNTHETIC, *scale.real)
    page.heading("Final simple regret")
    page.table(
        ["method", *(TITLES[name] for name in problems)],
        [[LOOK[m][0], *(figure(reproduction.main.regrets[name, m].final) for name in problems)] for m in plan.METHODS],
        "regret",
    )
    page.text(f"How often the peak of h1 is found (regret below {FOUND}):")
    found = {**reproduction.main.ablation_regrets, **reproduction.main.regrets}
    page.table(
        ["method", "runs"],
        [[LOOK[m][0], peak(found["h1", m].final)] for m in dict.fromkeys((*plan.METHODS, *plan.ABLATION))],
        "peak",
    )
    page.heading("Ablation: final simple regret")
    page.table(
        ["method", *(TITLES[name] for name in plan.SYNTHETIC)],
        [
            [LOOK[m][0], *(figure(reproduction.main.ablation_regrets[name, m].final) for name in plan.SYNTHETIC)]
            for m in plan.ABLATION
        ],
        "ablation",
    )
    page.heading("Mean squared error of the surrogate after the last iteration")
    page.table(
        ["method", *(TITLES[name] for name in plan.SYNTHETIC)],
        [
            [LOOK[m][0], *(figure(reproduction.main.surrogate_errors[name, m][:, -1]) for name in plan.SYNTHETIC)]
            for m in plan.METHODS
        ],
    )
    page.heading("CPU seconds for the suggestions of a run")
    page.table(
        ["method", *(TITLES[name] for name in TIMED)],
        [[LOOK[m][0], *(figure(reproduction.main.seconds[name, m]) for name in TIMED)] for m in plan.METHODS],
        "seconds",
    )
    page.heading("Error of the estimated lengthscales")
    page.table(
        ["data from", "estimator", *(f"n = {n}" for n in scale.path_sizes)],
        [
            [source, LOOK[estimator][0], *(figure(column) for column in errors.T)]
            for (source, estimator), errors in reproduction.main.theta_errors.items()
        ],
        "theta",
    )
    page.heading("Estimates of all hyperparameters, as shares of the truth")
    page.text(
        f"Independent points on sample paths with noise of 5 % of their range, {scale.path_seeds} paths. Median over "
        "paths of estimate / truth, with quartiles; for a consistent estimator it goes to 1."
    )
    page.table(
        ["estimator", "of the", *(f"n = {n}" for n in scale.path_sizes)],
        [
            [LOOK[estimator][0], quantity, *(_quartiles(column) for column in shares[:, :, i].T)]
            for i, quantity in enumerate(("lengthscale", "signal variance", "noise variance"))
            for estimator, shares in reproduction.known_theta.items()
        ],
        "known",
    )
    _comparisons(page, reproduction)
    page.heading("Other priors, clips, multipliers, and forms of h1")
    page.text(
        "Mean final regret of UHE-BO / of MAP under the same reading, and what UHE-BO is beside MAP by the rule above."
    )
    rows: dict[str, dict[str, str]] = {}
    for name, where, ours, rival, outcome in reproduction.sensitivity:
        rows.setdefault(name, {})[where] = f"{ours.mean():.2g} / {rival.mean():.2g}, {outcome}"
    page.table(
        ["read as", *(TITLES[where] for where in plan.SYNTHETIC)],
        [[name, *(cells.get(where, "") for where in plan.SYNTHETIC)] for name, cells in rows.items()],
        "sensitivity",
    )


def _comparisons(page: Page, reproduction: Reproduction) -> None:
    page.heading("Every comparison")
    page.text(
        "Effect: mean difference (rival minus UHE-BO; in C5 minus the method that should be lower), 95 % bootstrap "
        "interval, seeds on which UHE-BO (or that method) is better and worse, p-value of Wilcoxon's signed-rank test "
        "(not corrected for their number). The interval is of the mean and the test of ranks: where one run in twenty "
        "sticks at a local optimum they disagree, and the outcome is undecided."
    )
    page.table(
        ["claim", "problem", "against", "effect", "interval", "seeds", "p", "outcome"],
        [
            [
                claim.name,
                TITLES[c.where],
                LOOK[c.rival][0],
                f"{round(c.effect.mean, 12):.3g}",
                f"{c.effect.low:.3g} to {c.effect.high:.3g}",
                f"{c.effect.ahead} : {c.effect.behind}",
                f"{c.effect.p:.2g}",
                c.effect.outcome,
            ]
            for claim in reproduction.claims
            for c in claim.comparisons
        ],
    )


def peak(regrets: Array) -> str:
    """In how many of the runs the peak of h1 was found."""
    return f"{int((regrets < FOUND).sum())} of {len(regrets)}"


def figure(sample: Array | Curves) -> str:
    """Mean ± standard error in three digits."""
    values = np.asarray(sample)
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return f"{float(values.mean()):.3g} ± {error:.2g}"


def _quartiles(sample: Array) -> str:
    low, middle, high = np.quantile(sample, (0.25, 0.5, 0.75))
    return f"{middle:.2g} [{low:.2g}, {high:.2g}]"
