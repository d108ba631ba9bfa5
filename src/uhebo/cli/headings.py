"""Headings of a sheet: as the study calls them, or refused with what was probably meant."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence, Set
from difflib import get_close_matches

from uhebo.cli.records import HISTORY_COLUMNS
from uhebo.cli.rows import needed
from uhebo.errors import InvalidInputError
from uhebo.space import SearchSpace

UNIT = re.compile(r"(.*\S)\s*\[([^][]*)\]")
BETWEEN = re.compile(r"[\s_.\-]+")
"""What parts the words of a heading."""
ERROR_WORDS = ("error", "errors", "err")
DEGREES = str.maketrans({"\N{MASCULINE ORDINAL INDICATOR}": "\N{DEGREE SIGN}", "\N{RING ABOVE}": "\N{DEGREE SIGN}"})
"""Signs that keyboards have in place of the right one."""
NEARLY, ROUGHLY = 0.8, 0.6
"""How alike a column that may be a note must be to one of ours, and one in place of a column that is missing."""


def named_as_ours(
    header: list[str], path: str, params: Collection[str], results: Collection[str], units: Mapping[str, str]
) -> list[str]:
    """The columns as the study calls them: temperature for Temperature [°C], where that is the unit in the study."""
    history = tuple(name.casefold() for name in header[: len(HISTORY_COLUMNS)]) == HISTORY_COLUMNS
    known = [*params, *results, "number", *(["state"] if history else []), "error", *(f"{n} error" for n in results)]
    found, there = [], {*header}
    for name in header:
        match = UNIT.fullmatch(name) if name not in known else None
        ours = _ours(match[1] if match else name, known, there)
        if match and ours is not None:
            _check_unit(path, name, ours, match[2], units)
        found.append(name if ours is None else ours)
    return found


def _ours(name: str, known: Collection[str], there: Set[str]) -> str | None:
    """The name that a heading stands for; in another case if that leaves no doubt, and no other heading is the name."""
    if name in known:
        return name
    alike = {each for each in known if each.casefold() == name.casefold()}
    return alike.pop() if len(alike) == 1 and not alike & there else None


def _check_unit(path: str, heading: str, name: str, unit: str, units: Mapping[str, str]) -> None:
    there = units.get(name, units.get(name.removesuffix(" error")))
    if there is not None and _plain_unit(there) != _plain_unit(unit):
        raise InvalidInputError(
            f"{path}: column {heading!r} is in {unit.strip() or 'no unit'}, and the study has {name} in {there}; "
            "convert the column, or correct its heading (uhebo extend --unit corrects the unit in the study)"
        )


def _plain_unit(text: str) -> str:
    """A unit without blanks, its signs written in one way."""
    return "".join(unicodedata.normalize("NFKC", text.translate(DEGREES)).split())


def value_columns(
    header: Sequence[str], objectives: Sequence[str], given: str | None, space: SearchSpace
) -> tuple[str, ...]:
    """Columns of the values: named after the objectives; one alone may also be `value`, or what the user says."""
    if len(objectives) > 1 and given is not None:
        raise InvalidInputError(
            f"--value-column is for one objective; name the columns as the objectives are: {', '.join(objectives)}"
        )
    clash = [name for name in objectives if name in space.distributions or name in ("number", "state", "failure")]
    if clash:
        raise InvalidInputError(
            f"the objective {clash[0]!r} has the name of another column; rename it: study.set_metric_names in Python"
        )
    if len(objectives) > 1 or (given is None and set(objectives) & set(header)):
        return tuple(objectives)
    return ("value" if given is None else given,)


def error_columns(header: Sequence[str], columns: Sequence[str], space: SearchSpace) -> dict[str, str]:
    """Of each value that has one, the column of its error: `yield error`, or `error` where there is one value."""
    found: dict[str, str] = {}
    for name in columns:
        names = [f"{name} error", *(["error"] if len(columns) == 1 else [])]
        there = [each for each in names if each in header and each not in space.distributions]
        found |= {name: there[0]} if there else {}
    return found


def refuse_unusable_errors(
    path: str,
    header: Sequence[str],
    known: Collection[str],
    columns: Sequence[str],
    objectives: Sequence[str],
    limited: Sequence[str],
) -> None:
    """Refuse columns of errors that would be notes, and not weigh anything: `error` of several values, `yield_error`,
    or errors of what has a limit."""
    results = {_words(name): name for name in [*limited, *objectives, *columns]}
    for name in header:
        of = _error_of(name)
        if of is None or name in known or (of and of not in results):
            continue
        target = results.get(of, "")
        if target in limited:
            raise InvalidInputError(
                f"{path}: column {name!r} cannot be used: errors are told of objectives only, and {target} has a "
                "limit; take it out, rename it to keep it as a note, or import with --ignore-extra"
            )
        if not of and len(columns) > 1:
            names = " or ".join(f"'{each} error'" for each in columns)
            raise InvalidInputError(f"{path}: column {name!r} does not say which value it is of; name it {names}")
        meant = f"{target} error" if target in columns else f"{columns[0]} error"
        raise InvalidInputError(
            f"{path}: unknown column {name!r}; did you mean {meant!r}? Else rename it to keep it as a note"
        )


def _error_of(name: str) -> str | None:
    """What a column is the error of, in plain words; empty where it does not say, None where it is of none."""
    words = _words(name).split()
    if not words or not {words[0], words[-1]} & {*ERROR_WORDS}:
        return None
    rest = words[:-1] if words[-1] in ERROR_WORDS else words[1:]
    return " ".join(rest[1:] if rest[:1] == ["of"] else rest)


def _words(name: str) -> str:
    return " ".join(BETWEEN.split(name.casefold())).strip()


def check_columns(
    path: str,
    header: Sequence[str],
    space: SearchSpace,
    columns: Sequence[str],
    ignore_extra: bool,
    history: bool,
    others: Sequence[str],
) -> list[str]:
    """Refuse columns that are missing or mistyped; the others, which are notes."""
    twice = [name for name in header if name and header.count(name) > 1]
    if twice:
        raise InvalidInputError(f"{path}: column {twice[0]!r} is there twice; drop one")
    ours = ("state", "failure", "feasible") if history else ()
    known = {"number", *columns, *space.distributions, *others, *ours}
    extra = [name for name in header if name not in known]
    if "" in extra and not ignore_extra:
        raise InvalidInputError(f"{path}: a column without a name has cells; name it, or empty it")
    absent = {name.lower(): name for name in known - set(header)}
    for name in extra if not ignore_extra else ():
        meant = get_close_matches(name.lower(), absent, n=1, cutoff=NEARLY)
        if meant or name.startswith("uhebo:"):
            wanted = ", ".join([*space.distributions, *columns, *others, "and if you like number"])
            which = (
                f"did you mean {absent[meant[0]]!r}? Expected" if meant else "which looks like one of ours; expected"
            )
            raise InvalidInputError(f"{path}: unknown column {name!r}{'; ' if meant else ', '}{which} {wanted}")
    answers = "number" in header and not history
    points = [] if answers else needed(space)
    missing = [name for name in [*columns, *others, *points] if name not in header]
    if missing:
        hint = " (--value-column names another)" if (missing[0],) == tuple(columns) else ""
        near = get_close_matches(missing[0], [name for name in extra if name], n=1, cutoff=ROUGHLY)
        meant_by = f"; is it what you call {near[0]!r}? Rename that" if near else ""
        raise InvalidInputError(f"{path}: column {missing[0]!r} is missing{hint}{meant_by}; it has {', '.join(header)}")
    return extra
