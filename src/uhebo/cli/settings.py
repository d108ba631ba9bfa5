"""What the shell keeps in a study, the space and the sampler's settings, so that any later command goes on with it."""

import json
import secrets
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from uhebo.checks import meant
from uhebo.cli import objectives
from uhebo.cli.bounds import Bounds, parse_all
from uhebo.cli.objectives import Objectives
from uhebo.cli.output import say
from uhebo.cli.space_file import RESERVED, SETTINGS, Kept, declared
from uhebo.directions import name_objectives
from uhebo.errors import InvalidInputError, SpaceExhausted
from uhebo.methods import Proposal, Step
from uhebo.methods.auto import RECIPE
from uhebo.methods.step import PAPER_ACQUISITION
from uhebo.optuna_ import fronts
from uhebo.optuna_.extensions import SHELL_ATTRIBUTE, extended_space, extensions_of, units_of
from uhebo.optuna_.gaps import suggest_active
from uhebo.optuna_.lease import leave_to_asker
from uhebo.optuna_.log_space import space_of_log
from uhebo.optuna_.points import kept_apart, shared_by_model
from uhebo.optuna_.sampler import UHESampler
from uhebo.optuna_.sampler_settings import SETTINGS_ATTRIBUTE
from uhebo.optuna_.trial_log import warn_once
from uhebo.space import SearchSpace, as_distributions
from uhebo.storage.places import Place, load, study_names

ATTRIBUTE = SHELL_ATTRIBUTE
"""The study's user attribute: {"space": {name: distribution}, "sampler": {argument of UHESampler: value}}, and "when":
{name: condition} where parameters have one, and "constraints": ["purity >= 95"] where there are any, and "objectives":
{name: direction} where they have names, and "units": {name: unit} where they are known. Later changes of the space are
beside it (`uhebo.optuna_.extensions`)."""
SAMPLER_SETTINGS = [key for key in SETTINGS if key != "direction"]


class ShellSampler(UHESampler):
    """`UHESampler` that knows which trial it is busy with, so that one cut short can be marked as failed."""

    busy: int | None = None
    apart: float = 0.0
    """Share of each range within which no two points of one batch lie."""
    shared: Collection[str] = ()
    """Parameters that the points of one batch share: an exploration point does not choose them."""

    def rest(self) -> None:
        self.busy = None

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:  # noqa: ARG002
        self.busy = trial.number

    def _propose(self, step: Step) -> Proposal:
        found = super()._propose(step)
        found = shared_by_model(step, found, self.shared) if self.shared else found
        return kept_apart(step, found, self.apart) if self.apart else found


def asked_for(options: Mapping[str, Any], **defaults: Any) -> Kept:
    """What a command's options ask for, by name; a setting wins over the space file's, and that over the default."""
    wanted = declared(options["space"], options["param"], options.get("constraint"), options.get("objective"))
    given = {key: options[key] for key in SETTINGS if options.get(key) is not None}
    if len(given.get("direction", ())) > 1:
        raise InvalidInputError(
            f"--direction is given {len(given['direction'])} times; give it once, or --objective NAME:DIRECTION for "
            "each objective"
        )
    given |= {"direction": given["direction"][0]} if given.get("direction") else {}
    if wanted.space:
        units = objectives.with_units(wanted.units, options.get("unit") or (), wanted.named)
        wanted = replace(wanted, units=units)
    settings = {**defaults, **wanted.settings, **given}
    if given.get("subject_to"):
        settings["subject_to"] = [*wanted.settings.get("subject_to", ()), *given["subject_to"]]
        replace(wanted, settings=settings).search_space  # noqa: B018 (names in rules are checked)
    direction = settings.get("direction", "minimize")
    if direction not in ("minimize", "maximize"):
        near = meant(direction, ("minimize", "maximize"))
        hint = f"did you mean {near}? Otherwise " if near else ""
        raise InvalidInputError(f"direction is {direction!r}; {hint}expected minimize or maximize")
    objectives.check(wanted.objectives, [*wanted.space, *(n for n in RESERVED if n != "value")], settings)
    settings |= objectives.reference_of(
        wanted.objectives, settings.pop("reference_point", {}), options.get("reference")
    )
    return replace(wanted, settings=settings)


def sampler_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The sampler's among the settings, checked; a seed is drawn where there is none, so that it can be kept."""
    settings = {key: given[key] for key in SAMPLER_SETTINGS if key in given}
    settings.setdefault("seed", secrets.randbits(32))
    ShellSampler(**settings)
    return settings


def keep(study: Study, kept: Kept) -> None:
    """Store the settings for the shell, and the sampler's arguments for whoever asks for its model."""
    study.set_user_attr(SETTINGS_ATTRIBUTE, ShellSampler(**kept.arguments).arguments)
    space = {name: json.loads(distribution_to_json(distribution)) for name, distribution in kept.space.items()}
    when = {"when": kept.when} if kept.when else {}
    bounds = {"constraints": [str(bound) for bound in kept.constraints]} if kept.constraints else {}
    named = {objectives.ATTRIBUTE_KEY: kept.objectives} if kept.objectives else {}
    units = {"units": kept.units} if kept.units else {}
    study.set_user_attr(ATTRIBUTE, {"space": space, "sampler": kept.settings, **when, **bounds, **named, **units})


def effective(kept: Kept) -> dict[str, Any]:
    """The settings, with what the sampler does where one was left out."""
    paper = kept.settings.get("method", "auto") != "auto"
    acquisition = PAPER_ACQUISITION if paper else RECIPE.acquisition
    return {
        "method": "auto",
        "n_startup_trials": UHESampler(**kept.settings).n_initial(SearchSpace.of(kept.space).domain.dimension),
        "acquisition": "log expected hypervolume improvement" if len(kept.objectives) > 1 else acquisition,
        "reading": ShellSampler(**kept.settings).arguments["reading"],
        "deterministic": False,
        **kept.settings,
    }


def kept_in(study: Study) -> Kept:
    """What `keep` stored; for a study made elsewhere, the parameters of its finished trials and the default method."""
    stored = study.user_attrs.get(ATTRIBUTE)
    if stored is None:
        return _kept_of_trials(study)
    try:
        space = {name: json_to_distribution(json.dumps(given)) for name, given in stored["space"].items()}
        space = extended_space(extensions_of(study), space)
        sampler = {key: stored["sampler"][key] for key in SAMPLER_SETTINGS if key in stored["sampler"]}
        bounds = parse_all(stored.get("constraints", []), list(space))
        named = objectives.objectives_in(study, stored)
        kept = Kept(as_distributions(space), sampler, dict(stored.get("when", {})), bounds, named, units_of(study))
        kept.search_space  # noqa: B018 (what cannot be read is seen here)
        return kept
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidInputError(
            f"the settings kept in study {study.study_name!r} cannot be read ({error}); make a new study and tell "
            "it the results (uhebo history --csv prints them)"
        ) from error


def bounds_of(study: Study) -> Bounds:
    """The constraints that a study was made with; none in one that was made elsewhere."""
    return kept_in(study).constraints if ATTRIBUTE in study.user_attrs else ()


def named_objectives(study: Study) -> Objectives:
    """Its objectives by name; empty for one without a name."""
    return objectives.objectives_in(study, study.user_attrs.get(ATTRIBUTE))


def _kept_of_trials(study: Study) -> Kept:
    """Parameters of a study that was made elsewhere, and the conditions under which its trials had them."""
    found = space_of_log(study)
    when = {name: rule.text for name, rule in found.conditions.items()}
    space = dict(found.distributions) if when else _space_of_trials(study)
    return Kept(space, {"seed": 0}, when, objectives=named_objectives(study))


def _space_of_trials(study: Study) -> dict[str, BaseDistribution]:
    """The latest finished trial's parameters; a trial that crashed may have had only some of them."""
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.distributions]
    if not trials:
        raise InvalidInputError(f"study {study.study_name!r} has no search space; make a new one with uhebo create")
    finished = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    finished = finished or [max(trials, key=lambda trial: (len(trial.distributions), trial.number))]
    latest = finished[-1]
    other = [trial for trial in finished if trial.distributions != latest.distributions]
    if other:
        warn_once(
            study,
            "other ranges",
            f"{len(other)} of {len(finished)} finished trials have other parameters or ranges than trial "
            f"{latest.number}, the latest; going on with its: {', '.join(latest.distributions)}",
        )
    return as_distributions(latest.distributions)


def with_sampler(
    study: Study, *, n_trials: int | None = None, apart: float = 0.0, shared: Collection[str] = ()
) -> Kept:
    """Give the study the sampler it was made with; `n_trials` raises the budget that was planned."""
    kept = kept_in(study)
    settings = dict(kept.settings)
    if n_trials is not None and "n_trials" in settings:
        settings["n_trials"] = max(settings["n_trials"], n_trials)
    sampler = ShellSampler(**replace(kept, settings=settings).arguments)
    sampler.apart, sampler.shared = apart, shared
    study.sampler = sampler
    return kept


def ask(study: Study, kept: Kept) -> Trial:
    """`study.ask`; a trial cut short before it has its parameters (Ctrl-C, a full disk) is marked as failed."""
    sampler = study.sampler
    assert isinstance(sampler, ShellSampler)
    sampler.rest()
    if sampler.is_exhausted(study):  # before there is a trial that nothing can be suggested for
        count = sampler.search_space(study).size
        raise SpaceExhausted(
            f"all {count:.0f} points of the space have been tried, and repeats have no noise; a study made with "
            "--when-exhausted repeat goes on"
        )
    try:
        trial = study.ask(None if kept.when else kept.space)
        if kept.when:
            suggest_active(trial, kept.search_space)
        leave_to_asker(study, trial)
        return trial
    except BaseException:
        if sampler.busy is not None:
            with suppress(Exception):
                study.tell(sampler.busy, state=TrialState.FAIL, skip_if_finished=True)
        raise


def new_study(storage: BaseStorage, place: Place, name: str | None, wanted: Kept) -> Study:
    """A study with its settings kept in it."""
    if not wanted.space:
        raise InvalidInputError("a study needs parameters; give --space space.toml, or --param x=float:0:1")
    settings = sampler_settings(wanted.settings)
    kept = replace(wanted, settings=settings)
    ShellSampler(**kept.arguments)  # rules that allow nothing are refused before there is a study
    name = place.default_name if name is None else name
    if name in study_names(storage):
        raise InvalidInputError(
            f"{place.shown} holds a study {name!r} already; go on with uhebo suggest {place.shown}, or choose another "
            "file or --study NAME"
        )
    directions: list[Any] = list(wanted.objectives.values()) or [wanted.settings.get("direction", "minimize")]
    made = optuna.create_study(storage=storage, study_name=name, directions=directions)
    if wanted.objectives:
        name_objectives(made, list(wanted.objectives))
    keep(made, kept)
    return made


def continued(storage: BaseStorage, place: Place, name: str | None, wanted: Kept) -> Study | None:
    """The study that is there already, if what was asked agrees with it; None if there is none of that name.

    A study that Optuna made has no settings of ours to differ from: it gets those that were asked for.
    """
    names = study_names(storage)
    if not names or (name is not None and name not in names):
        return None
    study = load(storage, place, name)
    asked = {key: value for key, value in wanted.settings.items() if key != "n_trials"}  # those are this run's
    settings = sampler_settings(asked)  # nonsense is refused before it is compared
    foreign = ATTRIBUTE not in study.user_attrs
    empty = foreign and not any(trial.distributions for trial in study.get_trials(deepcopy=False))
    kept = replace(wanted, settings={}) if empty and wanted.space else kept_in(study)
    _check_objectives(study, place, wanted)
    was = {"space": (kept.space, kept.when)} | ({} if foreign else effective(kept))
    asked.pop("direction", None)
    for key, value in {**asked, "space": (wanted.space or kept.space, wanted.when or kept.when)}.items():
        if was.get(key, value if foreign else None) != value:
            detail = "" if key == "space" else f" ({was.get(key)}, not {value})"
            change = "change it with uhebo extend, or " if key == "space" else ""
            raise InvalidInputError(
                f"{place.shown} holds a study with another {key}{detail}; leave the option out to go on with it, "
                f"{change}or give another --storage or --study".replace("or or", "or")
            )
    if wanted.constraints not in ((), kept.constraints):
        there = ", ".join(map(str, kept.constraints)) or "none"
        raise InvalidInputError(f"{place.shown} holds a study with other constraints ({there}); leave the option out")
    if foreign and (asked or empty):
        keep(study, replace(kept, settings=settings, objectives=named_objectives(study) or wanted.objectives))
        said = ", ".join(f"{key} {value}" for key, value in settings.items())
        say(f"study {study.study_name!r} had no settings of uhebo's; kept in it from now on: {said}")
    say(f"going on with study {study.study_name!r} in {place.shown}")
    return study


def _check_objectives(study: Study, place: Place, wanted: Kept) -> None:
    """Refuse to go on with a study whose objectives are not those that were asked for."""
    there = named_objectives(study)
    directions = [direction.name.lower() for direction in study.directions]
    if wanted.objectives and wanted.objectives != (there or fronts.objectives_of(study)):
        was = ", ".join(f"{name}:{way}" for name, way in there.items()) or f"one without a name, {directions[0]}"
        raise InvalidInputError(
            f"{place.shown} holds a study with other objectives ({was}); leave the option out to go on with it, or "
            "give another --storage or --study"
        )
    asked = wanted.settings.get("direction", directions[0])
    if [asked] != directions[:1] or (len(directions) > 1 and "direction" in wanted.settings):
        was = directions[0] if len(directions) == 1 else f"{len(directions)} objectives"
        raise InvalidInputError(
            f"{place.shown} holds a study with another direction ({was}, not {asked}); leave the option out to go on "
            "with it, or give another --storage or --study"
        )
