"""History -> proposal: all methods, under one protocol."""

from uhebo.strategy.history import History, Slot, Trial
from uhebo.strategy.methods import METHODS, Strategy, named_method, pair_bandit, register
from uhebo.strategy.step import Proposal, Settings, Step

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
