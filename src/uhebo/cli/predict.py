"""`uhebo predict`: what the model expects at settings of your own."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from optuna.study import Study

from uhebo.cli import options
from uhebo.cli.output import WHO_EXPECTS, percent, write, write_text
from uhebo.cli.records import expected as expected_values
from uhebo.cli.records import parsed
from uhebo.cli.rows import refuse_spaces
from uhebo.cli.settings import with_sampler
from uhebo.cli.space_file import Kept
from uhebo.cli.spreadsheets import with_unit
from uhebo.diagnosis.expected import opinions_if_any
from uhebo.diagnosis.outlook import Outlook, expect
from uhebo.diagnosis.recommendation import Opinion, opinion_on
from uhebo.errors import InvalidInputError
from uhebo.optuna_.fronts import objective_names
from uhebo.space import SearchSpace
from uhebo.space.moves import active_names
from uhebo.storage.explain import plus_minus
from uhebo.storage.places import study_at


def predict(
    file: options.StudyFile,
    given: Annotated[list[str], typer.Argument(metavar="NAME=VALUE…", help="Every parameter.")],
    study: options.StudyName = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what the model expects at settings of your own.

    The value without noise, with the interval that holds it with a probability of 90 % by the account of the model
    behind the suggestions (uhebo diagnose says whether to believe it); what a second opinion expects, which allows for
    more noise and is the one that uhebo best recommends by; and the chance to improve on the best so far.

    \b
    Example:
      $ uhebo predict lab.db lr=0.02 depth=6
    """
    with study_at(file, study) as loaded:
        kept = with_sampler(loaded)
        params = given_params(given, kept.search_space)
        found, second = expect(loaded, params), _second(loaded, params)
        rows: list[tuple[str, Any]] = []
        for name, value in found.expected.items():
            interval = f"{plus_minus(value.mean, value.deviation)} (90 %: {value.low:.4g} to {value.high:.4g})"
            rows.append((f"{with_unit(name, kept.units)}, model", interval))
            if name in second:
                rows.append(("second opinion", _interval(second[name])))
        if found.over is not None:
            rows.append(("to improve on", str(found.over)))
        rows += [(f"chance {words}", percent(chance)) for words, chance in _chances(found, kept).items()]
        one = len(found.expected) == 1
        each = {name: asdict(opinion) for name, opinion in second.items()}
        opinion = {"second_opinion": (next(iter(each.values()), None) if one else each or None)}
        shown = {"params": params, **expected_record(found), **opinion}
        write(shown, ("at these settings", "expected"), rows, as_json)
        if not as_json:
            write_text(WHO_EXPECTS if second else "Expected: without noise.")


def _second(study: Study, params: Mapping[str, Any]) -> dict[str, Opinion]:
    """The second opinion on each objective, by name; none where there is none."""
    if len(study.directions) == 1:
        found = opinion_on(study, params)
        return {} if found is None else dict.fromkeys(objective_names(study), found)
    opinions = opinions_if_any(study)
    return {} if opinions is None else {n: Opinion(*each) for n, each in opinions.predicted(params).items()}


def _interval(found: Opinion) -> str:
    return f"{found.mean:.4g} (90 %: {found.low:.4g} to {found.high:.4g})"


def given_params(texts: Sequence[str], space: SearchSpace, *, complete: bool = True) -> dict[str, Any]:
    """`NAME=VALUE` for each parameter that is active, or for some of them."""
    refuse_spaces(texts)
    params: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or name not in space.distributions:
            raise InvalidInputError(f"there is no parameter in {text!r}; expected {_wanted(space)}")
        if name in params:
            raise InvalidInputError(f"{name} is given twice; drop one")
        distribution = space.distributions[name]
        params[name] = parsed(name, value, distribution)
        if not SearchSpace.of({name: distribution}).contains({name: params[name]}):
            raise InvalidInputError(
                f"{name} is {params[name]!r}, outside the space: expected {expected_values(distribution)}"
            )
    if not complete:
        return params
    params |= {name: value for name, value in space.constants.items() if name not in params}
    active = active_names(space, params)
    missing = [name for name in active if name not in params]
    if missing:
        raise InvalidInputError(f"{missing[0]} is missing; expected {_wanted(space)}")
    return {name: value for name, value in params.items() if name in active}


def _wanted(space: SearchSpace) -> str:
    return " ".join(f"{name}=VALUE" for name in space.distributions)


def _chances(found: Outlook, kept: Kept) -> dict[str, float]:
    chances = {} if found.improves is None else {"to improve": found.improves}
    chances |= {"to be feasible": found.feasible} if kept.constraints else {}
    return chances | ({"to fail": found.fails} if found.fails > 0.0 else {})


def legend(found: Outlook) -> str:
    """What the figures beside suggestions mean."""
    text = "expected: the model's mean ± its standard deviation, noise left out"
    return text if found.over is None else f"{text}; chance to improve on {found.over}"


def expected_columns(found: Outlook, kept: Kept) -> list[str]:
    """Columns of a table of suggestions."""
    names = [f"expected {with_unit(name, kept.units)}" for name in found.expected]
    return [*names, *(words.replace("to ", "chance to ", 1) for words in _shown(found, kept))]


def expected_cells(found: Outlook, kept: Kept) -> list[str]:
    values = [plus_minus(value.mean, value.deviation) for value in found.expected.values()]
    return [*values, *(percent(chance) for chance in _shown(found, kept).values())]


def _shown(found: Outlook, kept: Kept) -> dict[str, float]:
    """Chances that a table has for every point."""
    return {words: chance for words, chance in _chances(found, kept).items() if words != "to fail"}


def expected_record(found: Outlook) -> dict[str, Any]:
    """For JSON."""
    return {
        "expected": {name: asdict(value) for name, value in found.expected.items()},
        "chance_to_improve": found.improves,
        "improves_on": None if found.over is None else found.over.expected,
        "improves_on_trial": None if found.over is None else found.over.trial,
        "chance_feasible": found.feasible,
        "chance_to_fail": found.fails,
    }
