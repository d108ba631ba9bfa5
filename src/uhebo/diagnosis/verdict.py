"""Evidence -> verdict, in words for a scientist: what was found, the numbers behind it, and what to do next."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from uhebo.belief import Belief
from uhebo.diagnosis import accident_words, feasibility_words, words
from uhebo.diagnosis.accidents import Accidents
from uhebo.diagnosis.calibration import Calibration
from uhebo.diagnosis.feasibility import Feasibility
from uhebo.diagnosis.importance import Importance
from uhebo.diagnosis.layout import Layout, Regions
from uhebo.diagnosis.opinions import Hyperparameters, Noise, Scatter
from uhebo.diagnosis.prospects import Prospects
from uhebo.diagnosis.scatter import explains_misses, say_noise, scatter_of
from uhebo.diagnosis.search import Search, Trials
from uhebo.diagnosis.slips import Slip, outlier, typo
from uhebo.diagnosis.words import (
    FAIR_SKILL,
    NO_SKILL,
    SURROGATE,
    Finding,
    count,
    doubtful,
    least_trials,
    odds,
    percent,
    stretch,
)

SPLIT_GAIN = 3.0
"""Log odds, about 20 to 1, from which two surrogates are taken to describe the values better than one."""
NOTICEABLE_NOISE = 0.1
"""Share of the standard deviation of the values from which noise is worth naming."""
UNKNOWN = 0.5
SMALL_CHANCE = 0.1


@dataclass(frozen=True)
class Evidence:
    """All that a verdict on a fitted surrogate is based on."""

    belief: Belief
    trials: Trials
    hyperparameters: Hyperparameters
    importance: tuple[Importance, ...]
    calibration: Calibration
    noise: Noise
    layout: Layout
    regions: Regions | None
    search: Search
    prospects: Prospects
    feasibility: Feasibility | None = None
    slips: tuple[Slip, ...] = ()
    accidents: Accidents = field(default_factory=Accidents)
    several: bool = False
    """It is one of several objectives, and its own best is not what is looked for."""

    @property
    def scatter(self) -> Scatter:
        return scatter_of(self.noise, len(self.belief.numbers), len(self.belief.names), self.calibration.r2)


def judge(evidence: Evidence) -> Finding:
    """The first rule that applies decides; what else was found is added to the reasons."""
    rules: tuple[Callable[[Evidence], Finding | None], ...] = (
        _nothing_feasible, _infinite, _mistyped, _of_the_lab(accident_words.exchanged_results), _outlier,
        _clustered, _of_the_lab(accident_words.exchanged_settings), _two_regions,
        _of_the_lab(accident_words.contradiction), _no_skill, _of_the_lab(accident_words.drifting), _overconfident,
        _weak, _blind, _of_the_lab(accident_words.unmoved), _no_model_steps,
    )  # fmt: skip
    finding = next((found for rule in rules if (found := rule(evidence)) is not None), None) or _healthy(evidence)
    reasons = (
        *finding.reasons,
        *words.say_infinite(evidence.trials),
        *feasibility_words.say_feasibility(evidence.feasibility),
        words.say_skill(evidence.calibration),
        *say_noise(evidence.noise, evidence.scatter),
        *words.say_start(evidence.search),
        *accident_words.say_frozen(evidence.accidents),
        *([] if evidence.several else words.say_outlook(evidence.prospects, finding.verdict == "trust")),
    )
    further = (
        words.say_honesty(evidence.calibration),
        *feasibility_words.say_sides(evidence.feasibility),
        *words.say_belief(evidence.hyperparameters, evidence.importance),
        *words.say_search(evidence.search),
    )
    action = finding.next_action.replace("the best point", "a point of the front") if evidence.several else None
    return replace(finding, reasons=reasons, further=further, next_action=action or finding.next_action)


def _nothing_feasible(evidence: Evidence) -> Finding | None:
    return feasibility_words.nothing_feasible(evidence.feasibility, evidence.prospects.trials)


def _blind(evidence: Evidence) -> Finding | None:
    return feasibility_words.blind(evidence.feasibility, evidence.prospects.trials)


def _mistyped(evidence: Evidence) -> Finding | None:
    return typo(evidence.slips)


def _of_the_lab(say: Callable[[Accidents], Finding | None]) -> Callable[[Evidence], Finding | None]:
    return lambda evidence: say(evidence.accidents)


def _infinite(evidence: Evidence) -> Finding | None:
    return accident_words.infinite(evidence.trials)


def _outlier(evidence: Evidence) -> Finding | None:
    return outlier(evidence.belief.history.data.y, evidence.calibration)


def _clustered(evidence: Evidence) -> Finding | None:
    layout = evidence.layout
    if not layout.clustered:
        return None
    n, d = len(evidence.belief.numbers), len(evidence.belief.names)
    side = percent(layout.side)
    where = f"a box that spans {side} of each range" if d > 1 else f"{side} of the range"
    return doubtful(
        "clustered",
        layout.unknown > UNKNOWN,
        " away from the trials: nearly all of them lie in one small part of the space, "
        f"and {SURROGATE} knows little about the rest.",
        (
            f"{layout.cluster} of {n} trials lie within {where}; only {layout.outside} are elsewhere, and "
            f"{layout.needed_outside} is the least for {count(d, 'parameter')}.",
            f"Over half of the space its predictions are uncertain by {percent(layout.unknown)} or more of the typical "
            "difference between values.",
        ),
        f"Run {max(10, layout.needed_outside - layout.outside)} random points: "
        "the data are clustered and say nothing about the rest.",
    )


def _two_regions(evidence: Evidence) -> Finding | None:
    regions = evidence.regions
    if regions is None or regions.gain < SPLIT_GAIN:
        return None
    name = regions.parameter
    below, above = regions.lengthscale_below, regions.lengthscale_above
    detail = (
        f"To change the value noticeably, {name} must move by {stretch(below)} below {regions.cut}, "
        f"and by {stretch(above)} above."
        if max(below, above) >= 2.0 * min(below, above) and min(below, above) < 1.0
        else f"Below and above {name} = {regions.cut} the values follow different rules, as at a jump."
    )
    return doubtful(
        "misspecified",
        evidence.calibration.r2 < FAIR_SKILL or evidence.calibration.overconfident,
        ": the values behave differently in different parts of the space, "
        f"and {SURROGATE} assumes that they behave alike everywhere.",
        (
            f"Two separate models, one for {name} below {regions.cut} and one above, describe the values far better "
            f"than one for all (odds of {odds(regions.gain)} to 1).",
            detail,
        ),
        "Run 10 more trials, spread at random over the space: the front may have points in both parts."
        if evidence.several
        else f"Look at the two parts apart: narrow the range of {name} to the side of the best value, and ask again "
        "there.",
    )


def _no_skill(evidence: Evidence) -> Finding | None:
    calibration, noise = evidence.calibration, evidence.noise
    n, d = len(evidence.belief.numbers), len(evidence.belief.names)
    least = least_trials(d)
    few = n < least
    if calibration.r2 >= NO_SKILL and not few:
        return None
    if few:
        # With as many figures to fit as there are trials, predicting each from the others looks better than it is.
        poor = calibration.r2 < FAIR_SKILL
        return doubtful(
            "too-few",
            poor,
            f"{' yet' if poor else ''}: {SURROGATE} has seen too few trials to "
            f"{'predict the next one' if poor else 'be judged by them'}.",
            (f"There are {count(n, 'trial')} for {count(d, 'parameter')}; a judgement needs {least}.",),
            f"Run {max(10, least - n)} more trials, {'spread at random over the space, ' if poor else ''}"
            "and ask again.",
        )
    if not explains_misses(noise):
        return Finding(
            "weak",
            "do not trust",
            f"Do not trust it yet: the values change faster from place to place than {SURROGATE} can follow.",
            ("Noise is not the reason, so more trials will help.",),
            f"Run {max(10, n)} more trials spread at random, or narrow the ranges.",
        )
    return Finding(
        "noise-dominates",
        "do not trust",
        f"Do not trust it: noise drowns the signal, and {SURROGATE} predicts no better than the average value.",
        (
            "As far as it can tell, trials close together differ as much as trials far apart. That is what noise looks "
            "like, but also values that change faster from place to place than so few trials can show.",
        ),
        "Repeat the best point 3 times to measure the noise; if the values differ as much as all others do, "
        "average several measurements per trial.",
    )


def _overconfident(evidence: Evidence) -> Finding | None:
    calibration = evidence.calibration
    if not calibration.overconfident:
        return None
    return doubtful(
        "misspecified",
        calibration.r2 < FAIR_SKILL,
        f": {SURROGATE} is surer of itself than it has reason to be.",
        (
            f"The worst case is trial {calibration.largest_residual_trial}, which is "
            f"{abs(calibration.largest_residual):.1f} times the stated error away from what the others predict.",
        ),
        "Take the stated errors as about "
        f"{max(calibration.residual_sd, 1.5):.2g} times too small, and add 10 random points.",
    )


def _weak(evidence: Evidence) -> Finding | None:
    if evidence.calibration.r2 >= FAIR_SKILL:
        return None
    noisy = explains_misses(evidence.noise)
    return Finding(
        "weak",
        "caution",
        f"Be careful: {SURROGATE} sees the trend but misses half of the differences between trials or more.",
        (
            "Most of what it misses looks like noise: differences that a repeated trial would show too."
            if noisy
            else "There are too few trials for values that change so much from place to place.",
        ),
        "Repeat the best point 3 times to measure the noise."
        if noisy
        else f"Run {max(10, len(evidence.belief.numbers) // 2)} more trials, some of them at random.",
    )


def _no_model_steps(evidence: Evidence) -> Finding | None:
    if evidence.search.model_steps is not False:
        return None
    return Finding(
        "no-model-steps",
        "caution",
        f"Be careful: {SURROGATE} predicts well, but no trial was suggested by it.",
        ("How it does where it would look for the best value is not known.",),
        f"Run {evidence.prospects.trials} more trials that it suggests, and ask again.",
    )


def _healthy(evidence: Evidence) -> Finding:
    noise, prospects, search = evidence.noise, evidence.prospects, evidence.search
    noisy = noise.share_of_deviation >= NOTICEABLE_NOISE and evidence.scatter in ("some", "much")
    if evidence.several:
        action = f"Go on with {prospects.trials} more trials, or choose a point of the front."
    elif search.best_at_bound:
        name, side = search.best_at_bound[0]
        action = f"Move the {side} bound of {name} outwards if you can: the best trial lies on it."
    elif prospects.chance is not None and prospects.chance < SMALL_CHANCE:
        action = (
            "Repeat the best point 3 times and use the average; further search promises little."
            if noisy
            else f"Stop, or look for less than {prospects.epsilon:.2g}: further search promises little."
        )
    else:
        action = f"Go on with {prospects.trials} more trials" + (
            ", and repeat the best point 3 times at the end, because single values are noisy." if noisy else "."
        )
    ending = (
        f"and it has found the noise: a repeated trial would differ by about {noise.deviation:.2g}."
        if noisy
        else "and its errors are no larger than it says."
    )
    return Finding(
        "healthy-noisy" if noisy else "healthy-smooth",
        "trust",
        f"Trust it: {SURROGATE} predicts trials that it has not seen, {ending}",
        (),
        action,
    )
