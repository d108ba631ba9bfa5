"""Whether the values have noise: decided here and nowhere else, so that the verdict, its reasons and the tables agree.

The model's own estimate does not decide it: a prior that all but rules noise out finds none in few trials.
"""

from uhebo.diagnosis.opinions import Noise, Scatter
from uhebo.diagnosis.words import FAIR_SKILL, count, least_trials, percent

NEGLIGIBLE = 0.01
"""Share of the range of the values below which noise is next to none."""
NOT_NOISE = 3.0
"""Log odds, about 20 to 1, from which much noise is ruled out."""


def explains_misses(noise: Noise) -> bool:
    """Whether noise may be why trials are predicted badly: nothing speaks against it."""
    return noise.against_noise <= NOT_NOISE and not noise.agreeing


def scatter_of(noise: Noise, trials: int, dimension: int, r2: float) -> Scatter:
    """What is known of the noise, by repeats first, then by how well trials are predicted from the others."""
    if noise.agreeing:
        return "little"
    if not noise.repeats and trials < least_trials(dimension):
        return "not known"
    if explains_misses(noise) and r2 < FAIR_SKILL:
        return "much"
    if noise.repeats or noise.largest_share >= NEGLIGIBLE:
        return "some"
    return "not known" if explains_misses(noise) else "little"


def say_noise(noise: Noise, scatter: Scatter) -> list[str]:
    """The noise against the range of the values."""
    repeated = (
        f"Repeated points differ by {noise.measured:.2g} (from {count(noise.repeats, 'repeat')}), "
        f"{percent(noise.measured / noise.value_range)} of the range of the values, {noise.value_range:.3g}."
        if noise.measured is not None
        else ""
    )
    if scatter == "not known":
        return [
            "How much a repeated trial would differ is not known yet: that takes more trials, or a trial that is made "
            "again."
        ]
    if scatter == "little":
        shown = f"a repeated trial would differ by about {noise.largest:.2g} at most, {percent(noise.largest_share)}"
        return [
            f"There is little noise. {repeated}"
            if repeated
            else f"There is next to no noise: {shown} of the range of the values, {noise.value_range:.3g}."
        ]
    if noise.largest_share < NEGLIGIBLE:  # the model takes the values for exact, and is not to be believed in that
        return [repeated or "How large the noise is cannot be told without repeats."]
    interval = ""
    if noise.low is not None and noise.high is not None:
        said = "likely" if noise.low <= noise.deviation <= noise.high else "a second opinion says"
        interval = f" ({said} between {noise.low:.2g} and {noise.high:.2g})"
    estimate = (
        f"The noise, by which a repeated trial would differ, is estimated at {noise.deviation:.2g}{interval}, "
        f"which is {percent(noise.share_of_range)} of the range of the values, {noise.value_range:.3g}."
    )
    return [estimate, repeated] if repeated else [estimate]
