"""Can the surrogate be trusted? Evidence, a verdict in plain words, and what to do next."""

from uhebo.diagnosis.diagnosis import Diagnosis, diagnose, diagnose_each
from uhebo.diagnosis.opinions import LengthscaleHistory, lengthscale_history
from uhebo.diagnosis.recommendation import Recommended, recommend
from uhebo.diagnosis.sections import Section
from uhebo.diagnosis.stopping import StopWhenSettled

__all__ = [
    "Diagnosis",
    "LengthscaleHistory",
    "Recommended",
    "Section",
    "StopWhenSettled",
    "diagnose",
    "diagnose_each",
    "lengthscale_history",
    "recommend",
]
