"""What the README says of other libraries, number by number, is what the records give; its wording is free."""

from __future__ import annotations

import functools
import re

from tests.pages import README, ROOT

LEVEL = 0.05
NAMED = ("uhebo", "smac3", "botorch-qlognei", "optuna-gp", "optuna-tpe", "random")
"""Libraries whose mean rank the README gives, in its order."""
WORDS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
PARTS = {"seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12}


@functools.cache
def rows(section: str) -> list[list[str]]:
    """Cells of a table of the page of records, its head first (tests/test_peers.py makes the page again)."""
    page = (ROOT / "results" / "peers" / "peers.md").read_text(encoding="utf-8")
    part = page.split(f"[start:{section}]")[1].split(f"[end:{section}]")[0]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if "|" in line]
    return [row for row in found if not set("".join(row)) <= set("- ")]


def said() -> str:
    """The part of the README with the comparison, in one line."""
    text = " ".join(README.read_text(encoding="utf-8").split())
    (part,) = re.findall(r"!\[Mean rank.*?(?= ## )", text)
    return str(part)


def mean_ranks() -> dict[str, float]:
    return {row[0]: float(row[1].split()[0]) for row in rows("ranks")[1:]}


def test_the_number_of_problems() -> None:
    numbers = re.findall(r"(\d+) problems", said())
    assert numbers
    assert {int(number) for number in numbers} == {len(rows("regret")) - 1}


def test_the_number_of_optimisers_in_the_figure() -> None:
    (word,) = re.findall(r"!\[[^\]]*?(\w+) optimisers\b", said())
    assert WORDS.index(word) + 10 == len(mean_ranks())


def test_the_mean_ranks() -> None:
    decimals = re.findall(r"(?<![\d.])\d+\.\d(?!\d)", said())
    assert decimals == [f"{mean_ranks()[name]:.1f}" for name in NAMED]


def test_who_is_first_and_who_is_level() -> None:
    """Of the libraries of others none has a better mean rank; those named as level differ in no significant way."""
    others = {name: rank for name, rank in mean_ranks().items() if not name.startswith("uhebo")}
    assert mean_ranks()["uhebo"] < min(others.values())
    assert re.search(r"SMAC3 and BoTorch(?:'s qLogNEI)? are (?:statistically )?level", said())
    p = {row[0]: float(row[4]) for row in rows("ranks")[1:] if row[4] != "–"}
    assert p["smac3"] > LEVEL
    assert p["botorch-qlognei"] > LEVEL
    assert max(p["optuna-gp"], p["optuna-tpe"]) < LEVEL


def test_how_much_faster_and_for_how_many_trials() -> None:
    (sizes,) = re.findall(r"(\d[\d,]*) to (\d[\d,]*) trials", said())
    low, high = (int(size.replace(",", "")) for size in sizes)
    head, *others = rows("seconds")
    (ratio,) = (row for row in others if row[0].startswith("fastest other GP"))
    timed = {int(cell.removeprefix("n = ")): float(x.rstrip("×")) for cell, x in zip(head[1:], ratio[1:], strict=True)}
    assert {low, high} <= timed.keys()
    found = [times for n, times in timed.items() if low <= n <= high]
    numbers = re.findall(r"(\d+) to (\d+) times faster", said())
    fractions = re.findall(r"a (\w+) to a (\w+) of the time", said())
    ((least, most),) = numbers or [tuple(str(PARTS[word]) for word in pair) for pair in fractions]
    assert (int(least), int(most)) == (round(min(found)), round(max(found)))
