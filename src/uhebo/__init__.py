"""uhebo: Bayesian optimisation that does not trust its own hyperparameters."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uhebo._version import __version__ as __version__
    from uhebo.api import load as load
    from uhebo.api import maximize as maximize
    from uhebo.api import minimize as minimize
    from uhebo.api import optimize as optimize
    from uhebo.diagnosis import StopWhenSettled as StopWhenSettled
    from uhebo.diagnosis import diagnose as diagnose
    from uhebo.diagnosis import recommend as recommend
    from uhebo.integrations.regressor import UHERegressor as UHERegressor
    from uhebo.integrations.search_cv import UHESearchCV as UHESearchCV
    from uhebo.methods import METHODS as METHODS
    from uhebo.methods import register as register
    from uhebo.optuna_.changes import amend as amend
    from uhebo.optuna_.changes import changes as changes
    from uhebo.optuna_.changes import drop as drop
    from uhebo.optuna_.changes import extensions as extensions
    from uhebo.optuna_.changes import restore as restore
    from uhebo.optuna_.changes import skip as skip
    from uhebo.optuna_.corrected import corrected as corrected
    from uhebo.optuna_.extensions import extend as extend
    from uhebo.optuna_.noise import tell_noise as tell_noise
    from uhebo.optuna_.sampler import UHESampler as UHESampler
    from uhebo.result import Result as Result
    from uhebo.space import Categorical as Categorical
    from uhebo.space import Float as Float
    from uhebo.space import Int as Int
    from uhebo.space import When as When
    from uhebo.workers import work as work

# Loaded when first used: `import uhebo` and `uhebo --help` then take no longer than their own few files.
_NAMES = {
    "uhebo._version": ("__version__",),
    "uhebo.api": ("load", "maximize", "minimize", "optimize"),
    "uhebo.diagnosis": ("StopWhenSettled", "diagnose", "recommend"),
    "uhebo.integrations.regressor": ("UHERegressor",),
    "uhebo.integrations.search_cv": ("UHESearchCV",),
    "uhebo.methods": ("METHODS", "register"),
    "uhebo.optuna_.changes": ("amend", "changes", "drop", "extensions", "restore", "skip"),
    "uhebo.optuna_.corrected": ("corrected",),
    "uhebo.optuna_.extensions": ("extend",),
    "uhebo.optuna_.noise": ("tell_noise",),
    "uhebo.optuna_.sampler": ("UHESampler",),
    "uhebo.result": ("Result",),
    "uhebo.space": ("Categorical", "Float", "Int", "When"),
    "uhebo.workers": ("work",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        from uhebo.checks import meant

        near = None if name.startswith("_") else meant(name, __all__)
        hint = f"; did you mean uhebo.{near}?" if near else ""
        raise AttributeError(f"module 'uhebo' has no attribute {name!r}{hint}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
