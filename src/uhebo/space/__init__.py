"""Search spaces: Optuna's distributions under short names, conditions, rules, and the map to the unit cube and back."""

from uhebo.space.declare import Categorical, Float, Int, When, as_distributions, storable, warn_of_shorthands
from uhebo.space.rules import Rule
from uhebo.space.search_space import ABSENT, ALL_NEIGHBOURS, SearchSpace

__all__ = [
    "ABSENT",
    "ALL_NEIGHBOURS",
    "Categorical",
    "Float",
    "Int",
    "Rule",
    "SearchSpace",
    "When",
    "as_distributions",
    "storable",
    "warn_of_shorthands",
]
