"""Methods under other readings of the paper, by name: for research, so they are not in the sampler's own table.

A `Cell` may name them; `UHESampler(method=VARIANTS["uhe/arm-2-map"])` runs one elsewhere.
"""

from __future__ import annotations

from functools import partial

from uhebo.acquire.functions import PREDICTIVE_UCB
from uhebo.estimate import ESTIMATORS, consistent_estimate, register
from uhebo.methods import METHODS, Method
from uhebo.methods.step import PAPER_MODEL, Step
from uhebo.methods.table import a_gp_ucb, paired_exp3, wang_de_freitas

OWN_SCALE = "consistent/own-scale"
"""Estimator: the consistent loss on labels that are standardised on their own."""
if OWN_SCALE not in ESTIMATORS:
    register(OWN_SCALE, partial(consistent_estimate, own_scale=True))

VARIANTS: dict[str, Method] = {
    "uhe/arm-2-map": Method(partial(paired_exp3, estimator="consistent", second="map"), PAPER_MODEL.by("consistent")),
    "uhe/own-scale": Method(partial(paired_exp3, estimator=OWN_SCALE), PAPER_MODEL.by(OWN_SCALE)),
    "uhe/predictive": Method(
        partial(paired_exp3, estimator="consistent"), PAPER_MODEL.by("consistent"), PREDICTIVE_UCB
    ),
    "map/predictive": Method(partial(Step.model, estimator="map"), acquisition=PREDICTIVE_UCB),
    "a-gp-ucb/raw": Method(partial(a_gp_ucb, units="raw")),
    "wang-de-freitas/raw": Method(partial(wang_de_freitas, units="raw")),
}
"""Name, method/reading -> method."""


def method_named(name: str) -> str | Method:
    """What a sampler takes for the name of a method of ours or of a variant."""
    return VARIANTS[name] if name in VARIANTS and name not in METHODS else name
