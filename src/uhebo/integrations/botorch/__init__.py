"""uhebo for BoTorch: the consistent loss for an existing `SingleTaskGP`, and our posterior as a BoTorch `Model`.

PyTorch is imported here and nowhere else in uhebo. Install `torch==2.13.0` first, by itself, where the CPU build is
wanted; then `pip install 'uhebo[botorch]'`.
"""

from uhebo.errors import MissingExtraError

try:
    import botorch as _botorch  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        "uhebo.integrations.botorch needs PyTorch and BoTorch: pip install torch==2.13.0 (first, by itself, for the "
        "CPU build), then pip install 'uhebo[botorch]'"
    ) from error

from uhebo.integrations.botorch.loss import ConsistentMarginalLogLikelihood, fit_consistent
from uhebo.integrations.botorch.model import UHEModel

__all__ = ["ConsistentMarginalLogLikelihood", "UHEModel", "fit_consistent"]
