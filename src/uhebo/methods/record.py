"""What a trial remembers of the fit behind it."""

from typing import Any

from uhebo.estimate import Fit


def log_theta(fit: Fit) -> list[float]:
    """Four decimals of log theta: far finer than its uncertainty, and 200 dimensions fit into one SQL attribute."""
    return [round(float(value), 4) for value in fit.theta.to_log()]


def fit_record(fit: Fit) -> dict[str, Any]:
    """What is remembered of a fit: enough to warm-start the next one and to say how it went, in few characters."""
    record: dict[str, Any] = {"estimator": fit.estimator, "theta": log_theta(fit)}
    if fit.jitter:
        record["jitter"] = float(f"{fit.jitter:.2g}")
    if fit.fallback:
        record["fallback"] = fit.fallback.value
    if not fit.converged:
        record["converged"] = False
    record.update({name: round(value, 4) for name, value in fit.extra.items()})
    return record
