"""How many points come before the first model, where the user does not say."""

from uhebo.methods.settings import Design

PER_PARAMETER = 3
"""Points of the paper's initial design, D0, per parameter."""
MOST = 10
"""Points of the default's initial design at most: more of them wait while a model could be of use already."""


def start_up_size(design: Design, dimension: int, n_trials: int | None) -> int:
    """Size of the initial design of this many parameters, and trials in all where that is known.

    At most half of a known budget, so that a model has its say; the default stops at ten points as well.
    """
    size = PER_PARAMETER * dimension
    if design == "spread":
        size = min(size, MOST)
    return size if n_trials is None else min(size, max(1, n_trials // 2))
