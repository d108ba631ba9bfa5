"""History -> proposal: all methods, under one protocol."""

from uhebo.belief.history import History, Slot, Trial
from uhebo.methods.step import Proposal, Settings, Step
from uhebo.methods.table import METHODS, Strategy, named_method, pair_bandit, register

__all__ = [
    "METHODS",
    "History",
    "Proposal",
    "Settings",
    "Slot",
    "Step",
    "Strategy",
    "Trial",
    "named_method",
    "pair_bandit",
    "register",
]
