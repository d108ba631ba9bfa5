"""Gaps in Optuna's public interface, filled once: a study's storage, names of objectives, a parameter by its
distribution, quiet.

Private names of Optuna's stand in this room alone, each with the reason why no public one does.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial

from uhebo.errors import InvalidInputError
from uhebo.numerics.threads import ProcessWide, Undo
from uhebo.optuna_.delegating import DelegatingStorage
from uhebo.space import SearchSpace
from uhebo.space.moves import active_names

Through = Callable[[Callable[[], Any]], Any]


def check_study(study: object) -> None:
    """Refuse what is not a study, such as a result or the name of a file."""
    if not isinstance(study, Study):
        raise InvalidInputError(
            f"study is a {type(study).__name__}; expected an Optuna study, such as result.study or "
            "uhebo.load('study.db').study"
        )


def storage_of(study: Study) -> BaseStorage:
    """Where the study is kept; of a corrected one (`uhebo.optuna_.corrected`), where that is read from."""
    # Study._storage: a sampler is handed a study and nothing else, and a study does not show its storage.
    storage = study._storage
    return storage.backend if isinstance(storage, DelegatingStorage) else storage


def own_storage_of(study: Study) -> BaseStorage:
    """The storage that a study reads and writes through: of a corrected one, that with the changes applied."""
    # Study._storage: for the reason above.
    return study._storage


def is_view(study: Study) -> bool:
    """Whether the study is read through another storage than the one it is kept in."""
    # Study._storage: for the reason above.
    return study._storage is not storage_of(study)


def objective_names(study: Study) -> list[str]:
    """As they were named; else `value`, or with several `value_0`, `value_1`, …"""
    named = study.metric_names
    if named:
        return list(named)
    count = len(study.directions)
    return ["value"] if count == 1 else [f"value_{index}" for index in range(count)]


def study_id_of(study: Study) -> int:
    # Study._study_id: the public way, `storage.get_study_id_from_name`, is a query and fails while a database is away.
    return study._study_id


def database_of(storage: BaseStorage) -> RDBStorage:
    """The database itself, without Optuna's cache before it."""
    # _CachedStorage._backend: a study wraps its storage in a cache, which has no public name nor shows what it caches.
    database = getattr(storage, "_backend", storage)
    if not isinstance(database, RDBStorage):
        raise InvalidInputError(
            f"workers need a database and this study is in {type(database).__name__}; use a SQLite file (lab.db) for a "
            "few processes, PostgreSQL for many"
        )
    return database


def id_of(trial: FrozenTrial) -> int:
    # FrozenTrial._trial_id: the storage's methods, which are public, want the id, and a trial shows its number only.
    return trial._trial_id


def suggest(trial: Trial, name: str, distribution: BaseDistribution) -> Any:
    """The value of one parameter, through the public method for its kind."""
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    assert isinstance(distribution, (FloatDistribution, IntDistribution))  # Optuna has no other kind
    ask: Any = trial.suggest_float if isinstance(distribution, FloatDistribution) else trial.suggest_int
    return ask(name, distribution.low, distribution.high, log=distribution.log, step=distribution.step)


def suggest_active(trial: Trial, space: SearchSpace, through: Through = lambda ask: ask()) -> dict[str, Any]:
    """The values of all parameters that are active, parents before what depends on them, each asked for `through`."""
    params: dict[str, Any] = {}
    while True:
        left = [name for name in active_names(space, params) if name not in params]
        if not left:
            return {name: params[name] for name in space.distributions if name in params}
        params[left[0]] = through(partial(suggest, trial, left[0], space.distributions[left[0]]))


def running_trial(study: Study, trial_id: int) -> Trial:
    """A running trial to suggest for, as `study.ask` would return it.

    Optuna's samplers read the log once per trial, from a cache that `ask` empties; a copied study starts with none.
    """
    return Trial(copy.copy(study), trial_id)


def trial_numbered(study: Study, number: int) -> Trial:
    """The running trial of this number."""
    return running_trial(study, storage_of(study).get_trial_id_from_study_id_trial_number(study_id_of(study), number))


def _show_only(level: int) -> Undo:
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(verbosity, level))
    return partial(optuna.logging.set_verbosity, verbosity)


QUIET = ProcessWide(partial(_show_only, optuna.logging.WARNING))
"""No line per trial: it would tear a progress bar to pieces, and the result has the history."""
SILENT = ProcessWide(partial(_show_only, optuna.logging.ERROR))
"""None of its warnings either: they are for programmers, and a worker retries the errors it warns of."""
