"""The evidence as titled tables of plain text, for the shell and the report to render as they like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uhebo.diagnosis.calibration import Calibration
from uhebo.diagnosis.feasibility import Feasibility
from uhebo.diagnosis.importance import WITHOUT_RULES, Importance
from uhebo.diagnosis.layout import Layout, Regions
from uhebo.diagnosis.opinions import Hyperparameters, Noise
from uhebo.diagnosis.prospects import Prospects
from uhebo.diagnosis.scatter import say_noise
from uhebo.diagnosis.search import Search
from uhebo.diagnosis.verdict import SPLIT_GAIN
from uhebo.diagnosis.words import chance_in_words, count, odds, percent

if TYPE_CHECKING:
    from uhebo.diagnosis.diagnosis import Diagnosis

WEIGHTS_SHOWN = 12
MATTERING = 5
"""Parameters on the first screen."""
OPEN_SHARE = 0.1
"""A share that may be as small as this and as large as 1 less this is not known."""


@dataclass(frozen=True)
class Section:
    """A title, one sentence that says what the table shows, and the table; plain text throughout."""

    title: str
    sentence: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sections_of(diagnosis: Diagnosis) -> tuple[Section, ...]:
    """Every section that there is evidence for, the most important first."""
    d = diagnosis
    found = (
        Section("What else was seen", " ".join(d.further), (), ()) if d.further else None,
        _trials(d),
        _constraints(d.feasibility) if d.feasibility else None,
        _calibration(d.calibration) if d.calibration else None,
        _hyperparameters(d.hyperparameters) if d.hyperparameters else None,
        _importance(d.importance, ruled=d.belief is not None and bool(d.belief.space.rules)) if d.importance else None,
        _noise(d.noise) if d.noise else None,
        _layout(d.layout, d.regions) if d.layout else None,
        _search(d.search),
        _arms(d.search) if d.search.arm_weights else None,
        _prospects(d.prospects) if d.prospects else None,
    )
    return tuple(section for section in found if section is not None)


def what_matters(ranked: Sequence[Importance]) -> list[str]:
    """The parameters that matter most, in a few lines: share of the variation and what it may be."""
    known = [
        (item.name, percent(item.total), f"{percent(item.total_low)} to {percent(item.total_high)}")
        for item in ranked
        if item.total is not None and item.total_low is not None and item.total_high is not None
    ]
    if not known:
        return ["No parameter makes a difference that the model can see."] if ranked else []
    shown = known[:MATTERING]
    widths = [max(len(row[column]) for row in shown) for column in (0, 1)]
    title = "What matters most (share of the differences between values; 90 % interval)"
    open_ = all((item.total_low or 0.0) < OPEN_SHARE and (item.total_high or 1.0) > 1.0 - OPEN_SHARE for item in ranked)
    rest = len(known) - len(shown)
    return [
        title + (", not known yet" if open_ else ""),
        *(f"  {name:<{widths[0]}}  {share:>{widths[1]}}  ({interval})" for name, share, interval in shown),
        *([f"  and {count(rest, 'parameter')} less"] if rest else []),
    ]


def table_text(section: Section) -> str:
    """The table of a section in aligned columns, indented."""
    table = [section.columns, *section.rows] if section.rows else []
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rows = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)
    return "\n".join(f"    {row}" for row in rows)


def _trials(diagnosis: Diagnosis) -> Section:
    trials = diagnosis.trials
    sentence = f"{diagnosis.model} It was fitted to {count(trials.usable, 'trial')} of {trials.total}."
    if diagnosis.conditional:
        branches = "; ".join(f"{name} where {condition}" for name, condition in diagnosis.conditional.items())
        sentence += f" Some parameters are there in some trials only: {branches}."
    rows = (
        ("finished", str(trials.finished)),
        ("failed or stopped early", str(trials.failed)),
        ("running or waiting", str(trials.running)),
        ("usable (a value, inside the current ranges)", str(trials.usable)),
    ) + ((("infinite, taken as the worst or best finite value", str(trials.infinite)),) if trials.infinite else ())
    return Section("Trials", sentence, ("what", "number"), rows)


def _constraints(found: Feasibility) -> Section:
    sentence = (
        f"{count(found.feasible, 'trial')} of {found.trials} {'keeps' if found.feasible == 1 else 'keep'} all "
        "constraints (each at most 0). Right: trials of which all the others predict whether they keep the constraint; "
        "explained: share of the differences between its values."
    )
    if found.nearest is not None:
        sentence += f" The nearest to feasible is trial {found.nearest}."
    rows = tuple(
        (item.name, f"{item.kept} of {item.told}", f"{item.right} of {item.told}", percent(max(item.r2, 0.0)))
        for item in found.constraints
    )
    return Section("Constraints", sentence, ("constraint", "kept by", "right", "explained"), rows)


def _calibration(calibration: Calibration) -> Section:
    sentence = (
        "Each trial was predicted from all the others. The errors are "
        f"{calibration.residual_sd:.2g} times what the model said they would be (1 is honest, more is too sure of "
        f"itself), and the predictions explain {percent(max(calibration.r2, 0.0))} of the differences between values "
        f"(predictive R² = {calibration.r2:.2f})."
    )
    rows = tuple(
        (
            f"{percent(item.level)}",
            f"{percent(item.share)} ({item.inside} of {len(calibration.y)})",
            f"{percent(item.band_low)} to {percent(item.band_high)}",
            "too sure"
            if item.share < item.band_low
            else "too cautious"
            if item.share > item.band_high
            else "as expected",
        )
        for item in calibration.coverage
    )
    return Section("Does it know its own error?", sentence, ("range of", "holds", "chance allows", "so it is"), rows)


ORIGINS = {"initial": "start-up", "random": "exploration", "model": "model", "other": "your own"}
"""Roles of trials, in the words of the shell."""
ESTIMATORS = {"map": "MAP", "consistent": "consistent", "mle": "MLE", "hmc": "HMC"}


def _hyperparameters(believed: Hyperparameters) -> Section:
    worst = max(believed.estimates, key=lambda item: item.apart)
    seen = "the transformed values that the model works on" if believed.warped else "the values"
    sentence = (
        "What the model believes about the values, and second opinions. A lengthscale is how far a parameter must "
        "move, as a share of its range, before the value changes; signal and noise are typical sizes, in standard "
        f"deviations of {seen}. MAP is the most likely fit to the trials; the consistent fit corrects for trials that "
        "crowd together and comes out shorter when there are few; the interval holds nine in ten plausible fits (by "
        "HMC, a random walk over them). "
        f"MAP and the consistent fit are furthest apart for {worst.name}: a factor of {worst.apart:.2g}."
    )
    outside = [e.name for e in believed.estimates if e.hmc_low and e.hmc_high and not e.hmc_low <= e.map <= e.hmc_high]
    if outside:
        sentence += (
            f" For {', '.join(outside)} MAP lies outside the interval: the single likeliest fit is not a typical one, "
            "because few trials leave much open."
        )
    own = believed.estimator not in ("map", "consistent")
    names = [f"{name} (the model)" if key == believed.estimator else name for key, name in ESTIMATORS.items()][:2]
    if own:
        names.insert(0, f"{ESTIMATORS.get(believed.estimator, believed.estimator)} (the model)")
    rows = tuple(
        (
            f"lengthscale of {item.name}" if item.kind == "lengthscale" else item.name,
            *([f"{item.model:.3g}"] if own else []),
            f"{item.map:.3g}",
            f"{item.consistent:.3g}",
            "not computed" if item.hmc_low is None else f"{item.hmc_low:.3g} to {item.hmc_high:.3g}",
            f"{item.apart:.2g}",
        )
        for item in believed.estimates
    )
    columns = ("of what", *names, "90 % interval (HMC)", "factor apart")
    return Section("What the model believes", sentence, columns, rows)


def _importance(ranked: Sequence[Importance], ruled: bool) -> Section:
    first = ranked[0]
    if first.total is None:
        sentence = "The model is flat: no parameter makes a difference that it can see."
    else:
        sentence = (
            f"{first.name} matters most: {percent(first.total)} of the variation of the value over the space depends "
            "on it, as far as the model can tell. Alone: by itself; in all: with its interplay with others (Sobol "
            "indices of functions that fit the trials; the interval holds nine in ten of them); steepness: "
            "1/lengthscale, as a share of the sum over parameters." + WITHOUT_RULES * ruled
        )
    rows = tuple(
        (
            item.name,
            "-" if item.first_order is None else percent(item.first_order),
            "-" if item.total is None else percent(item.total),
            "-" if item.total_low is None or item.total_high is None
            else f"{percent(item.total_low)} to {percent(item.total_high)}",
            percent(item.relevance),
        )
        for item in ranked
    )  # fmt: skip
    columns = ("parameter", "alone", "in all", "90 % interval", "steepness")
    return Section("Which parameters matter", sentence, columns, rows)


def _noise(noise: Noise) -> Section:
    sentence = " ".join(say_noise(noise, noise.scatter))
    rows = [
        ("noise that the model reckons with (standard deviation)", f"{noise.deviation:.3g}"),
        ("range of the values", f"{noise.value_range:.3g}"),
        ("noise / standard deviation of the values", percent(noise.share_of_deviation)),
    ]
    if noise.low is not None:
        rows.insert(1, ("90 % interval", f"{noise.low:.3g} to {noise.high:.3g}"))
    if noise.measured is not None:
        rows.append((f"measured on {count(noise.repeats, 'repeat')}", f"{noise.measured:.3g}"))
    return Section("Noise against range", sentence, ("what", "value"), tuple(rows))


def _layout(layout: Layout, regions: Regions | None) -> Section:
    sentence = (
        f"The fullest part of the space, {percent(layout.side)} of each range wide, holds "
        f"{count(layout.cluster, 'trial')} ({percent(layout.cluster_share)})."
    )
    rows = [
        ("trials outside the fullest part", str(layout.outside)),
        ("least number wanted there", str(layout.needed_outside)),
        ("typical uncertainty over the space / deviation of the values", percent(layout.unknown)),
    ]
    if regions is not None:
        yes = f"yes, at {regions.parameter} = {regions.cut}, odds of {odds(regions.gain)} to 1"
        answer = yes if regions.gain >= SPLIT_GAIN else "no"
        rows.append(("do two models, one on each side of a cut, fit better than one?", answer))
    return Section("Where the trials lie", sentence, ("what", "value"), tuple(rows))


def _search(search: Search) -> Section:
    made = ", ".join(f"{number} {ORIGINS.get(role, role)}" for role, number in sorted(search.roles.items())) or "none"
    sentence = f"Finished trials by origin: {made}."
    if search.random_share is not None:
        sentence += f" After the initial design {percent(search.random_share)} of the suggestions were random."
    rows = [("suggestions that repeat an earlier point", str(search.repeated))]
    if search.boundary_share is not None:
        rows.append(("points with a parameter at its bound", percent(search.boundary_share)))
    rows += [(f"at the {side} bound of {name}", str(number)) for name, side, number in search.boundary[:4]]
    rows.append(("best trial at a bound", ", ".join(f"{s} of {n}" for n, s in search.best_at_bound) or "no"))
    rows.append(("fits that needed a numerical correction", str(search.jittered)))
    rows.append(("suggestions without a proper fit", str(sum(search.fallbacks.values()))))
    rows += [(f"of these: {name}", str(number)) for name, number in sorted(search.fallbacks.items())]
    rows.append(("fits that did not converge", str(search.unconverged)))
    return Section("How the search went", sentence, ("what", "number"), tuple(rows))


def _arms(search: Search) -> Section:
    weights = search.arm_weights
    step = max(1, -(-len(weights) // WEIGHTS_SHOWN))
    shown = [*weights[::step]] + ([weights[-1]] if (len(weights) - 1) % step else [])
    sentence = (
        "How likely the method was to start a step with a random point rather than the model's: it went from "
        f"{percent(weights[0][1][0])} to {percent(weights[-1][1][0])} as it saw which pays."
    )
    rows = tuple((str(t), percent(pair[0]), percent(pair[1])) for t, pair in shown)
    return Section("Random or model over time", sentence, ("iteration", "random", "model"), rows)


def _prospects(prospects: Prospects) -> Section:
    if prospects.best_value is None:
        chance = "not known" if prospects.chance is None else chance_in_words(prospects.chance)
        rows = [(f"chance of a feasible one in {prospects.trials} more trials", chance)]
        return Section("Is it worth going on?", "No trial is feasible yet.", ("what", "value"), tuple(rows))
    alone = "Of this objective alone, whatever becomes of the others: the" if prospects.of_several else "The"
    sentence = f"{alone} best trial is {prospects.best_number}; trials finished since: {prospects.since_improvement}."
    rows = [
        ("best value", f"{prospects.best_value:.6g}"),
        ("finished trials since the last improvement", str(prospects.since_improvement)),
        ("improvement that counts", f"{prospects.epsilon:.3g}"),
    ]
    if prospects.chance is not None:
        rows.append((f"chance of it in {prospects.trials} more trials", chance_in_words(prospects.chance)))
    return Section("Is it worth going on?", sentence, ("what", "value"), tuple(rows))
