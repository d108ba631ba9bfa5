"""Values that look mistyped, said wherever a person meets them, with the commands that correct or confirm them."""

from contextlib import suppress
from dataclasses import asdict
from typing import Any

from optuna.study import Study

from uhebo.cli.calls import shell_name
from uhebo.cli.output import say
from uhebo.errors import UheboError

MOST_SAID = 3
"""Values that are named; `uhebo diagnose` names the others."""


def warn_of_suspicious(study: Study, file: str, name: str | None) -> list[dict[str, Any]]:
    """Two lines for each value that looks mistyped until somebody corrects or confirms it; the same for JSON."""
    from uhebo.diagnosis.commands import amendment  # where it is needed: importing it takes a while
    from uhebo.diagnosis.suspicious import suspicious_values

    found, several = [], len(study.directions) > 1
    with suppress(UheboError):  # a model of other parameters than those that the study goes on with
        for each in suspicious_values(study):
            slip, named = each.slip, each.objective if several else None
            mistyped, right = (
                amendment(shell_name(file, name), slip.number, value, named) for value in (slip.meant, slip.value)
            )
            found.append({"objective": each.objective, **asdict(slip), "if_mistyped": mistyped, "if_right": right})
            if len(found) <= MOST_SAID:
                say(f"careful: {each.words}")
                say(f"if it was mistyped: {mistyped}; if it is right: {right}")
    if len(found) > MOST_SAID:
        say(f"{len(found) - MOST_SAID} more values look mistyped: uhebo diagnose {shell_name(file, name)}")
    return found
