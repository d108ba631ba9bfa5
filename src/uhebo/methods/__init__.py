"""History -> proposal: all methods, under one protocol."""

from uhebo.estimate import Model
from uhebo.methods.step import Proposal, Settings, Step
from uhebo.methods.table import METHODS, Method, MethodName, Strategy, named_method, pair_bandit, register

__all__ = [
    "METHODS",
    "Method",
    "MethodName",
    "Model",
    "Proposal",
    "Settings",
    "Step",
    "Strategy",
    "named_method",
    "pair_bandit",
    "register",
]
