"""What a storage can hold of a space that was changed: Optuna refuses other choices, or another scale, for a parameter
that it knows."""

from collections.abc import Iterable

from optuna.distributions import BaseDistribution, check_distribution_compatibility
from optuna.study import Study
from optuna.trial import FrozenTrial

from uhebo.errors import InvalidInputError
from uhebo.optuna_.extensions import extensions_of, latest
from uhebo.optuna_.gaps import storage_of, study_id_of


def is_accepted(known: BaseDistribution | None, wanted: BaseDistribution) -> bool:
    """Whether Optuna takes this distribution for a parameter of which it knows that one."""
    try:
        if known is not None:
            check_distribution_compatibility(known, wanted)
    except ValueError:
        return False
    return True


def known_to_storage(study: Study) -> dict[str, BaseDistribution]:
    """The first distribution of each parameter that the storage has been given."""
    return first_known(storage_of(study).get_all_trials(study_id_of(study), deepcopy=False))


def first_known(trials: Iterable[FrozenTrial]) -> dict[str, BaseDistribution]:
    found: dict[str, BaseDistribution] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            found.setdefault(name, distribution)
    return found


def refuse_beside(study: Study) -> None:
    """For workers: the storage that they share does not know a choice that came later."""
    now, known = latest(extensions_of(study)), known_to_storage(study)
    beside = [name for name, distribution in now.items() if not is_accepted(known.get(name), distribution)]
    if beside:
        raise InvalidInputError(
            f"{beside[0]!r} got other choices or another scale since the study was made, and workers cannot share "
            "that; tell the trials to a new study (uhebo history --csv), or go on with uhebo optimize"
        )
