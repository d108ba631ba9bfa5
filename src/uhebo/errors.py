"""Errors and warnings of uhebo: each says what was wrong, what was expected and what to do."""


class UheboError(Exception):
    """Base of every error raised on purpose by uhebo."""


class InvalidInputError(UheboError, ValueError):
    """An argument, an observation or a search space cannot be used as given."""


class NumericalError(UheboError, ArithmeticError):
    """A computation stayed numerically unstable after every remedy."""


class MissingExtraError(UheboError, ImportError):
    """An optional part of uhebo is not installed."""


class EvaluationFailed(UheboError):
    """This trial has no value; the study goes on."""


class EvaluationTimeout(EvaluationFailed):
    """An evaluation took longer than allowed."""


class EvaluationLost(EvaluationFailed):
    """The workers that were to evaluate a trial died, or cannot be reached."""


class CannotEvaluate(InvalidInputError):
    """No evaluation can succeed, for example because the program cannot be started; the run ends."""


class SpaceExhausted(UheboError):
    """Every point of the space has been tried, and a repeat would tell nothing new."""


class UheboWarning(UserWarning):
    """Something was adjusted, and the result says how."""
