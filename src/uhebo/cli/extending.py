"""`uhebo extend`: the space changed in place; same study, same numbers, same seed."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.study import Study

from uhebo.cli import options
from uhebo.cli.calls import shell_name
from uhebo.cli.objectives import with_units
from uhebo.cli.output import say, write
from uhebo.cli.outside import say_outside
from uhebo.cli.permanent import check_same, refuse_result
from uhebo.cli.records import expected, number_in, parsed, texts
from uhebo.cli.rows import refuse_spaces
from uhebo.cli.settings import kept_in
from uhebo.cli.space_file import KINDS, Kept, declared, parse_param
from uhebo.errors import InvalidInputError
from uhebo.optuna_.extensions import Extension
from uhebo.optuna_.extensions import extend as change
from uhebo.storage.explain import listed
from uhebo.storage.places import study_at


def extend(
    file: options.StudyFile,
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=WHAT]…",
            help="A range (low:high), a further choice (+helium), or a new parameter as for --param of uhebo create.",
        ),
    ] = None,
    had: Annotated[
        list[str] | None,
        typer.Option("--had", metavar="NAME=VALUE", help="Value of a new parameter in all trials so far."),
    ] = None,
    space: Annotated[
        str | None, typer.Option("--space", metavar="FILE", help="The space file, edited: what differs is changed.")
    ] = None,
    unit: options.Units = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept with the change.")] = "",
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Change the space in place: a wider range, a further choice, a further factor, a unit.

    The study, its numbers and its seed stay. Trials outside a range that was narrowed are kept and say nothing, until
    it holds them again. `uhebo log` shows every change, and `uhebo restore lab.db NAME` takes the latest one back.

    \b
    Example:
      $ uhebo extend lab.db depth=2:16 --reason "the best was at the bound"
      $ uhebo extend lab.db solver=cat:adam,sgd --had solver=adam
      $ uhebo extend lab.db solver=+lamb
    """
    with study_at(file, study) as loaded:
        kept, named = kept_in(loaded), shell_name(file, study)
        changed, units, notes = _from_file(loaded, kept, space, named) if space is not None else ({}, {}, [])
        refuse_spaces(given or ())
        for text in given or ():
            name, wanted = _understood(text, loaded, kept, named)
            if name in changed:
                raise InvalidInputError(f"{name} is given twice; drop one")
            changed[name] = wanted
        units = with_units(units, unit or (), [*kept.named, *changed])
        _check_rules(kept, changed)
        new = [name for name in changed if name not in {*kept.space, *_names(had or ())}]
        if new and loaded.get_trials(deepcopy=False):
            raise InvalidInputError(
                f"{new[0]} is new, and there are trials without it; say which value they had: --had {new[0]}=VALUE"
            )
        made = change(loaded, changed, had=_had(had or (), changed), units=units, reason=reason)
        rows = [(each.name, was(each), now(each)) for each in made]
        write([shown(each) for each in made], ("what", "was", "is"), rows, as_json)
        for note in notes:
            say(note)
        say_outside(loaded)


def _from_file(study: Study, kept: Kept, path: str, named: str) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """Parameters and units of the file that are not what the study has, and what to say of the rest."""
    found = declared(path, None)
    missing = [name for name in kept.space if name not in found.space]
    if missing:
        raise InvalidInputError(
            f"{path} has no parameter {missing[0]!r}; a parameter cannot be taken away: leave one value of it"
        )
    notes = check_same(path, found, kept, study, named)
    changed = {name: made for name, made in found.space.items() if kept.space.get(name) != made}
    units = {name: unit for name, unit in found.units.items() if kept.units.get(name) != unit}
    if not changed and not units:
        raise InvalidInputError(f"{path} has the parameters that the study has; there is nothing to change")
    return changed, units, notes


def _understood(text: str, study: Study, kept: Kept, named: str) -> tuple[str, Any]:
    """A parameter and what it is to be, as `uhebo.extend` takes it."""
    name, equals, rest = (part.strip() for part in text.partition("="))
    if not equals or not rest:
        raise InvalidInputError(f"told was {text!r}; expected NAME=low:high, NAME=+CHOICE, or NAME=TYPE:…")
    refuse_result(name, rest, study, kept, named)
    known = kept.space.get(name)
    alike = get_close_matches(name, kept.space, n=1, cutoff=0.8)
    if known is None and alike and rest.partition(":")[0] not in KINDS:
        raise InvalidInputError(
            f"there is no parameter {name!r}; did you mean {alike[0]}? A further one is declared with its type, "
            f"such as {name}=float:0:1"
        )
    if known is None or rest.partition(":")[0] in KINDS:
        return parse_param(text)
    if isinstance(known, CategoricalDistribution):
        listed_now = parse_param(f"{name}=cat:{rest.lstrip('+')}")[1]
        assert isinstance(listed_now, CategoricalDistribution)
        return name, [*(known.choices if rest.startswith("+") else ()), *listed_now.choices]
    ends = rest.split(":")
    try:
        low, high = (number_in(end) for end in ends)
    except ValueError:
        raise InvalidInputError(
            f"{name} is {expected(known)}, and {rest!r} is no range; expected {name}=low:high"
        ) from None
    return name, tuple(int(end) if end.is_integer() and "." not in text else end for end in (low, high))


def _names(given: Sequence[str]) -> list[str]:
    return [text.partition("=")[0].strip() for text in given]


def _had(texts_given: Sequence[str], changed: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for text in texts_given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not isinstance(changed.get(name), BaseDistribution):
            raise InvalidInputError(f"--had is {text!r}; expected NAME=VALUE of a parameter that is new")
        found[name] = parsed(name, value, changed[name])
    return found


def _check_rules(kept: Kept, changed: Mapping[str, Any]) -> None:
    """Whatever a rule or a condition reads must still be there."""
    read = {name for rule in kept.search_space.rules for name in rule.names} | set(kept.when)
    for name in read & changed.keys():
        if isinstance(changed[name], CategoricalDistribution) != isinstance(kept.space[name], CategoricalDistribution):
            raise InvalidInputError(f"{name} stands in a rule or condition, which needs it to be what it is")


def _words(distribution: BaseDistribution | None) -> str:
    if distribution is None:
        return "nothing"
    if isinstance(distribution, CategoricalDistribution):
        return listed(texts(distribution))
    return expected(distribution) + (", by its logarithm" if getattr(distribution, "log", False) else "")


def was(change: Extension) -> str:
    """What it replaced, in words."""
    if change.removes:
        return _words(change.before)
    if change.after is None:
        return ""
    return _words(change.before) if change.before is not None else f"always {change.had}" if change.trials else "-"


def now(change: Extension) -> str:
    """What it is since, in words."""
    if change.removes:
        return "no parameter"
    unit = f"in {change.unit}" if change.unit else "without a unit"
    return unit if change.after is None else _words(change.after)


def shown(change: Extension) -> dict[str, Any]:
    """A change for JSON."""
    had = {"had": change.had} if change.after is not None and change.before is None and change.trials else {}
    named = {
        "what": "restore" if change.restores else "extend",
        "name": change.name,
        "time": change.time,
        "reason": change.reason,
    }
    return {**named, "was": was(change), "now": now(change), **had} | ({"unit": change.unit} if change.unit else {})
