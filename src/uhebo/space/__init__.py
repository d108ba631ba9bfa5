"""Search spaces: Optuna's distributions under short names, and their map to the unit cube and back."""

from uhebo.space.declare import Categorical, Float, Int, as_distributions, storable
from uhebo.space.search_space import ALL_NEIGHBOURS, SearchSpace

__all__ = ["ALL_NEIGHBOURS", "Categorical", "Float", "Int", "SearchSpace", "as_distributions", "storable"]
