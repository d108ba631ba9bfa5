"""The arena: every method for unknown hyperparameters where the prior is right, and where it misleads."""

from uhebo_experiments.arena.board import Board, verdict
from uhebo_experiments.arena.page import SEEDS, compete, read_board, write
from uhebo_experiments.arena.runs import BUDGET, MISLEADING, RIGHT

__all__ = ["BUDGET", "MISLEADING", "RIGHT", "SEEDS", "Board", "compete", "read_board", "verdict", "write"]
