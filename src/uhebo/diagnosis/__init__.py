"""Can the surrogate be trusted? Evidence, a verdict in plain words, and what to do next."""

from uhebo.diagnosis.diagnosis import Diagnosis, diagnose, diagnose_each
from uhebo.diagnosis.opinions import LengthscaleHistory, lengthscale_history
from uhebo.diagnosis.sections import Section

__all__ = ["Diagnosis", "LengthscaleHistory", "Section", "diagnose", "diagnose_each", "lengthscale_history"]
