"""`work`: one call that takes part in a study shared with other processes and machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage

from uhebo.api import make_sampler
from uhebo.checks import by_name, choice, integer
from uhebo.directions import Direction, checked_directions, several_in, study_in, with_reference
from uhebo.errors import InvalidInputError
from uhebo.methods import Method, MethodName, Strategy
from uhebo.objective import TrialGetter, Value, call, check_objective
from uhebo.optuna_.declared import check_space
from uhebo.optuna_.sampler import UHESampler
from uhebo.optuna_.sampler_settings import SamplerOptions
from uhebo.returned import checked_value, checked_values
from uhebo.space import SearchSpace, storable
from uhebo.workers.loop import run
from uhebo.workers.options import Job, Options, Worked

if TYPE_CHECKING:
    from typing_extensions import Unpack


@by_name(UHESampler)
def work(
    fn: Callable[..., Any],
    space: Mapping[str, Any],
    n_trials: int,
    *,
    storage: str | Path | BaseStorage,
    study_name: str,
    direction: Direction | None = None,
    directions: Mapping[str, Direction] | Sequence[Direction] | None = None,
    method: MethodName | str | Strategy | Method | None = None,
    seed: int | None = None,
    sampler: BaseSampler | None = None,
    options: Options | None = None,
    **sampler_options: Unpack[SamplerOptions],
) -> Worked:
    """Work on a shared study until it has `n_trials` trials, together with any number of other processes and machines.

    The first worker makes the study; later ones go on with it, and one with another space is refused. `fn` and `space`
    are those of `uhebo.minimize`. SIGTERM and SIGINT end the worker within 5 seconds, or as soon as `fn` lets Python
    run (at once with `Options(own_process=True)`); the trial at hand goes back to the queue, and `Worked.signal` says
    so.

    Args:
        n_trials: trials of the whole study, over all workers: failed ones and points added by hand count too; one
            that is tried again because its worker died counts once.
        direction: "minimize" (the default) or "maximize"; a study that was made for the other one is refused.
        directions: of several objectives, as for `uhebo.optimize`; `fn` returns a number for each.
        storage: "study.db" for a few processes, "postgresql+psycopg://…" for many, or an Optuna storage.
        sampler: any Optuna sampler; default `UHESampler` with method, seed and sampler_options.
        options: heartbeat, grace period, limits: see `Options`.
    """
    if direction is not None and directions is not None:
        raise InvalidInputError(
            f"direction={direction!r} and directions={directions!r} are both given; directions is for several "
            "objectives: leave the other one out"
        )
    searched = SearchSpace.of(space)
    storable(searched.distributions, storage)
    check_objective(fn, searched.distributions, optional=searched.conditions)
    budget = integer("n_trials", n_trials, 1)
    towards: Direction = "minimize" if direction is None else choice("direction", direction, get_args(Direction))
    named = None if directions is None else checked_directions(directions)
    if sampler is None:
        chosen = sampler_options if named is None else with_reference(sampler_options, named)
        sampler = make_sampler(seed, method, chosen, budget, space=space)
    if isinstance(sampler, UHESampler) and sampler.constraints_func is not None:
        raise InvalidInputError(
            "workers do not call constraints_func: let the function take `trial` and call trial.set_constraint(…)"
        )

    def load(store: BaseStorage) -> Job:
        if named is None:
            study = study_in(store, study_name, towards, "give direction='{}'")
        else:
            study = several_in(store, study_name, named)
        check_space(study, searched)
        study.sampler = sampler
        return Job(study, searched, budget)

    def objective(number: int, params: Mapping[str, Any], trial: TrialGetter | None) -> Value:
        returned = call(fn, params, trial)
        return checked_value(returned, number) if named is None else tuple(checked_values(returned, [*named], number))

    return run(storage, load, objective, options or Options(), create=True, anew=False)
