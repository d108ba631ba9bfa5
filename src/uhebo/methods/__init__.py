"""History -> proposal: all methods, under one protocol."""

from uhebo.belief.history import History, Slot, Trial
from uhebo.estimate import Model
from uhebo.methods.step import Proposal, Settings, Step
from uhebo.methods.table import METHODS, Method, Strategy, named_method, pair_bandit, register

__all__ = [
    "METHODS",
    "History",
    "Method",
    "Model",
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
