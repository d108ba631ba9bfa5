"""The trial log as frozen values, and one model fitted to it."""

from uhebo.belief.belief import Belief, OutcomeBelief
from uhebo.belief.history import History, Outcome, Slot, Trial
from uhebo.belief.units import Units

__all__ = ["Belief", "History", "Outcome", "OutcomeBelief", "Slot", "Trial", "Units"]
