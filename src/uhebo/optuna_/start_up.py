"""What is said of an initial design that leaves no room for a model, or had to be cut."""

from optuna.study import Study

from uhebo.methods.settings import Design
from uhebo.methods.start_up import PER_PARAMETER, start_up_size
from uhebo.optuna_.trial_log import warn_once


def warn_of_size(study: Study, design: Design, n_trials: int | None, given: int | None, dimension: int) -> None:
    """Once per study; `given` is the size that the user asked for."""
    if n_trials is None:
        return
    size = start_up_size(design, dimension, n_trials) if given is None else given
    if size >= n_trials:
        remedy = "run more" if given is None else "lower n_startup_trials or run more"
        said = f"no model will be used: {n_trials} trials in all, and the initial design has {size}; {remedy}"
        warn_once(study, "no model", said)
    elif given is None and design == "uniform" and size < PER_PARAMETER * dimension:
        said = f"{n_trials} trials are few for {dimension} parameters: the initial design has size {size} instead of "
        warn_once(study, "small budget", f"{said}{PER_PARAMETER * dimension}; run more, or use the method auto")
