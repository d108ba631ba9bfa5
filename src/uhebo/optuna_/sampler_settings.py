"""The arguments of a sampler, left in the study it suggests for."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict
from weakref import WeakKeyDictionary

from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study

from uhebo.acquire.functions import AcquisitionName
from uhebo.errors import InvalidInputError
from uhebo.estimate import Reading
from uhebo.gp.kernels import Kernel, KernelName
from uhebo.gp.priors import Prior, PriorName
from uhebo.methods.bandit import Clip
from uhebo.methods.step import Beta
from uhebo.optuna_.constraints import ConstraintsFunc
from uhebo.optuna_.gaps import storage_of, study_id_of
from uhebo.optuna_.trial_log import Penalties
from uhebo.space.rules import GivenRule

WhenExhausted = Literal["stop", "repeat"]
SETTINGS_ATTRIBUTE = "uhebo:sampler"
"""User attribute of a study: the arguments of the sampler that suggested last, so that any reader knows its model."""
_left: WeakKeyDictionary[BaseStorage, dict[int, dict[str, Any]]] = WeakKeyDictionary()
"""Arguments of a sampler that are known to be in a study, by storage and id of the study."""


class ModelOptions(TypedDict, total=False):
    """Options of `uhebo.UHESampler`, which says what they are, that functions pass on to it."""

    n_startup_trials: int | None
    acquisition: AcquisitionName | None
    beta: Beta | None
    prior: PriorName | Prior | None
    kernel: KernelName | Kernel
    deterministic: bool
    exact: bool | None
    reward_clip: Clip
    when_exhausted: WhenExhausted
    independent_sampler: BaseSampler | None
    constraints_func: ConstraintsFunc | None
    penalties: Penalties
    reading: Reading | None
    guarantee: bool


class SamplerOptions(ModelOptions, total=False):
    """The same with those that some functions have as arguments of their own. The reference point may be by name."""

    reference_point: Mapping[str, float] | Sequence[float] | None
    subject_to: GivenRule | Sequence[GivenRule]


def leave_settings(study: Study, arguments: dict[str, Any]) -> None:
    """Write a sampler's arguments into the study, once: whoever reads it later can ask for the same model."""
    # Through the storage: a bracket of Hyperband's stands for the study here, and has no user attributes.
    storage, study_id = storage_of(study), study_id_of(study)
    left = _left.setdefault(storage, {})
    if left.get(study_id) != arguments:
        if storage.get_study_user_attrs(study_id).get(SETTINGS_ATTRIBUTE) != arguments:
            storage.set_study_user_attr(study_id, SETTINGS_ATTRIBUTE, arguments)
        left[study_id] = arguments


def plain_setting(value: Any) -> Any:
    """An argument as JSON can hold it and give it back; None if it cannot."""
    return list(value) if isinstance(value, tuple) else value if isinstance(value, (str, int, float)) else None


def checked_independent(given: BaseSampler | None) -> BaseSampler | None:
    """The sampler of parameters that the model does not cover."""
    if given is not None and not isinstance(given, BaseSampler):
        raise InvalidInputError(f"independent_sampler is {given!r}; expected an Optuna sampler, or None")
    return given
