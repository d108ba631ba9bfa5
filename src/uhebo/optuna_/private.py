"""Optuna's private names: each here with the reason why no public one does, and used nowhere else in uhebo.

Optuna's tables have a module of their own, `uhebo.optuna_.leases`.
"""

from __future__ import annotations

from typing import Any

from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial


def storage_of(study: Study) -> BaseStorage:
    # Study._storage: a sampler is handed a study and nothing else, and a study does not show its storage.
    return study._storage


def study_id_of(study: Study) -> int:
    # Study._study_id: the public way, `storage.get_study_id_from_name`, is a query and fails while a database is away.
    return study._study_id


def set_system_attribute(study: Study, trial: FrozenTrial, key: str, value: dict[str, Any]) -> None:
    """Write into a trial that a sampler is working on.

    `Trial.set_system_attr` is deprecated in Optuna 4 and gone in Optuna 5; the storage's own method is public.
    """
    # FrozenTrial._trial_id: a trial shows its number only, and the storage's methods want the id.
    storage_of(study).set_trial_system_attr(trial._trial_id, key, value)


def below_the_cache(storage: BaseStorage) -> BaseStorage:
    """The database itself: a study wraps the storage it is given in a cache."""
    # _CachedStorage._backend: the cache has no public name, and does not show what it caches.
    return getattr(storage, "_backend", storage)
