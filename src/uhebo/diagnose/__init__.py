"""Can the surrogate be trusted? Evidence, a verdict in plain words, and what to do next."""

from uhebo.diagnose.diagnosis import Diagnosis, diagnose
from uhebo.diagnose.sections import Section
from uhebo.diagnose.timeline import LengthscaleHistory, lengthscale_history

__all__ = ["Diagnosis", "LengthscaleHistory", "Section", "diagnose", "lengthscale_history"]
