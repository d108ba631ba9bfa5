"""The paper's claims C1-C8, each with its comparisons, a verdict, and a reason where it fails.

A verdict follows from paired comparisons by one rule. A claim "better than" is reproduced when every comparison is
better, not reproduced when one is worse, and undecided otherwise. A claim "comparable" is reproduced unless one is
worse by more than 1 % of the regret after the initial design. Better and worse are words of `paired.Effect`: interval
and rank test must agree. The differences are of final simple regret (or of mean squared error, or of log seconds), seed
by seed. A verdict is one under a reading of the paper: the column of the matrix it stands in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from uhebo.types import Array
from uhebo_experiments.paired import FEWEST, Effect, compare, interval
from uhebo_experiments.reproduce.curves import Curves
from uhebo_experiments.reproduce.plan import METHODS, SYNTHETIC

Verdict = Literal["reproduced", "not reproduced", "undecided"]
RIVALS = METHODS[1:]
SIMILAR = 2.0
"""Running times within this factor count as similar."""
FAR = 5.0
"""A running time this many times smaller counts as far below."""
RATE = -0.5
TOLERANCE = 0.01
"""Share of the regret after the initial design by which a comparable method may be worse."""


@dataclass(frozen=True)
class Comparison:
    """One line of evidence."""

    where: str
    rival: str
    effect: Effect
    needed: Literal["better", "not worse"]
    beyond: Effect | None = None
    """The effect with the tolerance of a comparable method given to it; None where there is none."""

    @property
    def holds(self) -> bool:
        return self.effect.outcome == "better" or (self.needed == "not worse" and not self.fails)

    @property
    def fails(self) -> bool:
        return (self.effect if self.beyond is None else self.beyond).outcome == "worse"


@dataclass(frozen=True)
class Claim:
    """A claim, what was compared for it, and what came out."""

    name: str
    text: str
    verdict: Verdict
    reason: str
    comparisons: tuple[Comparison, ...] = ()


Regrets = Mapping[tuple[str, str], Curves]


def compared(
    values: Mapping[tuple[str, str], Array], problems: Sequence[str], rivals: Sequence[str]
) -> tuple[Comparison, ...]:
    """UHE-BO, which should be better, against each rival on each problem."""
    return tuple(
        Comparison(where, rival, compare(values[where, "uhe"], values[where, rival]), "better")
        for where in problems
        for rival in rivals
    )


def comparable(regrets: Regrets, problems: Sequence[str], rivals: Sequence[str]) -> tuple[Comparison, ...]:
    """UHE-BO, which should not be worse by more than the tolerance, against each rival on each problem."""
    found = []
    for where in problems:
        ours = regrets[where, "uhe"]
        tolerance = TOLERANCE * float(ours.regret[:, 0].mean())
        for rival in rivals:
            theirs = regrets[where, rival].final
            beyond = compare(ours.final - tolerance, theirs)
            found.append(Comparison(where, rival, compare(ours.final, theirs), "not worse", beyond))
    return tuple(found)


def judge(name: str, text: str, comparisons: Sequence[Comparison]) -> Claim:
    """Apply the rule at the head of this file."""
    seeds = min(c.effect.seeds for c in comparisons)
    failed = [c for c in comparisons if c.fails]
    open_ones = [c for c in comparisons if not c.holds and not c.fails]
    verdict: Verdict = "reproduced"
    reason = f"all {len(comparisons)} comparisons hold"
    if seeds < FEWEST:
        verdict, reason = "undecided", f"{seeds} seeds are too few to conclude anything"
    elif failed:
        verdict, reason = "not reproduced", f"worse than {_listed(failed)}"
    elif open_ones:
        verdict, reason = "undecided", f"no difference shown from {_listed(open_ones)}"
    return Claim(name, text, verdict, reason, tuple(comparisons))


def _listed(comparisons: Sequence[Comparison]) -> str:
    places: dict[str, list[str]] = {}
    for c in comparisons:
        places.setdefault(c.where, []).append(c.rival)
    return "; ".join(f"{', '.join(rivals)} on {where}" for where, rivals in places.items())


def regret_claims(regrets: Regrets, ablation: Regrets, real: Sequence[str]) -> list[Claim]:
    """C1-C4 and C6, on final simple regret; without real problems C2 and C3 on the others, and no C4."""
    final = {key: curve.final for key, curve in regrets.items()}
    parts = {key: curve.final for key, curve in ablation.items()}
    hard, easy = ("deceptive", "h1"), ("branin", "hartmann3")
    everywhere = (*SYNTHETIC, *real)
    forests = [name for name in real if name.startswith("rf-")]
    others = [name for name in real if name not in forests]
    learned = compared(final, others, RIVALS)
    learned += compared(final, forests, [r for r in RIVALS if r != "hmc"])
    learned += comparable(regrets, forests, ["hmc"])
    most = compared(final, everywhere, ("a-gp-ucb", "wang-de-freitas"))
    claims = [
        judge(
            "C1",
            "UHE-BO is better than all others on Deceptive and h1 and comparable on Branin and Hartmann3",
            (*compared(final, hard, RIVALS), *comparable(regrets, easy, RIVALS)),
        ),
        judge_most("C2", "UHE-BO is ahead of A-GP-UCB and of Wang & de Freitas on most problems", most),
        judge(
            "C3",
            "UHE-BO is ahead of Portfolio and Random",
            compared(final, everywhere, ("portfolio", "random")),
        ),
        judge(
            "C6",
            "both parts count: UHE-BO is ahead of RA-BO and of Random+EXP3",
            compared(parts, SYNTHETIC, ("ra", "random-exp3")),
        ),
    ]
    if learned:
        text = "UHE-BO is ahead on LR and XGBoost, and on the forest ahead of all but MCMC, with which it is level"
        claims.append(judge("C4", text, learned))
    return claims


def judge_most(name: str, text: str, comparisons: Sequence[Comparison]) -> Claim:
    """A claim about most of the comparisons: more than half are better, or half and more are worse, or it is open."""
    better, worse = sum(c.holds for c in comparisons), sum(c.fails for c in comparisons)
    total = len(comparisons)
    count = f"better in {better}, worse in {worse}, no difference shown in {total - better - worse} of {total}"
    verdict: Verdict = "undecided"
    if min(c.effect.seeds for c in comparisons) < FEWEST:
        count = f"{min(c.effect.seeds for c in comparisons)} seeds are too few to conclude anything"
    elif 2 * better > total:
        verdict = "reproduced"
    elif 2 * worse >= total:
        verdict = "not reproduced"
    return Claim(name, text, verdict, count, tuple(comparisons))


def surrogate_claim(errors: Mapping[tuple[str, str], Array]) -> Claim:
    """C5, on the mean squared error after the last iteration."""
    rest = [rival for rival in RIVALS if rival != "random"]
    random_first = tuple(
        Comparison(where, rival, compare(errors[where, "random"], errors[where, rival]), "better")
        for where in SYNTHETIC
        for rival in ("uhe", *rest)
    )
    uhe_next = compared(errors, SYNTHETIC, rest)
    portfolio_next = tuple(
        Comparison(where, rival, compare(errors[where, "portfolio"], errors[where, rival]), "better")
        for where in SYNTHETIC
        for rival in rest
        if rival != "portfolio"
    )
    parts = [
        judge("", "Random is lowest", random_first),
        judge("", "UHE-BO is lowest of the rest", uhe_next),
        judge("", "Portfolio is next", portfolio_next),
    ]
    verdicts = [part.verdict for part in parts]
    verdict: Verdict = "reproduced"
    if "not reproduced" in verdicts:
        verdict = "not reproduced"
    elif "undecided" in verdicts:
        verdict = "undecided"
    reason = ". ".join(f"{part.text}: {part.verdict} ({part.reason})" for part in parts)
    text = "error of the surrogate: Random lowest, UHE-BO lowest of the rest, Portfolio next"
    return Claim("C5", text, verdict, reason, (*random_first, *uhe_next, *portfolio_next))


def time_claim(seconds: Mapping[tuple[str, str], Array], problems: Sequence[str]) -> Claim:
    """C7, on the ratio of CPU seconds spent on suggestions: geometric mean over seeds with its interval."""
    lines, worst_map, least_hmc, seeds = [], 0.0, np.inf, np.inf
    for where in problems:
        to_map = np.log(seconds[where, "uhe"] / seconds[where, "map"])
        to_hmc = np.log(seconds[where, "hmc"] / seconds[where, "uhe"])
        (low, high), (low_hmc, high_hmc) = interval(to_map), interval(to_hmc)
        worst_map, least_hmc = max(worst_map, np.exp(high)), min(least_hmc, np.exp(low_hmc))
        seeds = min(seeds, len(to_map))
        lines.append(
            f"{where}: UHE-BO takes {np.exp(to_map.mean()):.2f} [{np.exp(low):.2f}, {np.exp(high):.2f}] times as long "
            f"as MAP, MCMC {np.exp(to_hmc.mean()):.1f} [{np.exp(low_hmc):.1f}, {np.exp(high_hmc):.1f}] times as long "
            "as UHE-BO"
        )
    holds = worst_map <= SIMILAR and least_hmc >= FAR
    verdict: Verdict = "reproduced" if holds else "not reproduced"
    if seeds < FEWEST:
        verdict = "undecided"
        lines.append(f"{seeds:.0f} seeds are too few to conclude anything")
    text = f"running time like MAP (within {SIMILAR:g}x), far below MCMC (at least {FAR:g}x)"
    return Claim("C7", text, verdict, "; ".join(lines))


def rate_claim(sizes: Sequence[int], errors: Array, dimension: int) -> Claim:
    """C8: slope of log error against log n, the error averaged over seeds; interval by resampling seeds.

    It is about large n, so the smaller half of the sizes is left out. An interval that reaches both the rate and 0 says
    nothing. Proposition 1 itself has the rate t^(-1/2d), which is said beside.
    """
    rng = np.random.default_rng(0)
    half = max(2, (len(sizes) + 1) // 2)
    sizes, errors = sizes[-half:], errors[:, -half:]
    logs = np.log(np.asarray(sizes, dtype=np.float64))

    def slope(sample: Array) -> float:
        return float(np.polyfit(logs, np.log(sample.mean(axis=0)), 1)[0])

    count = len(errors)
    slopes = [slope(errors[rng.integers(count, size=count)]) for _ in range(2000)]
    low, high = (float(v) for v in np.quantile(slopes, [0.025, 0.975]))
    own = -0.5 / dimension
    reason = (
        f"the error goes as n^{slope(errors):.2f}, interval [{low:.2f}, {high:.2f}], for n = {sizes[0]} to {sizes[-1]}"
        f"; Proposition 1's own rate, n^{own:.2f}, is {'not ' if low > own else ''}reached"
    )
    verdict: Verdict = "not reproduced" if low > RATE else "undecided" if high >= 0.0 else "reproduced"
    if count < FEWEST:
        verdict, reason = "undecided", f"{reason}; {count} seeds are too few to conclude anything"
    text = "theta-hat of RA-BO approaches theta* as t^(-1/2)"
    return Claim("C8", text, verdict, reason)
