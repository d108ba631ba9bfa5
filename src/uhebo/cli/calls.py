"""Commands called by programs: the page that follows a study, and the door for assistants."""

import io
import json
import shlex
import threading
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from uhebo.cli.output import quiet_libraries
from uhebo.errors import InvalidInputError, UheboError
from uhebo.storage.explain import explain
from uhebo.storage.mask import mask
from uhebo.storage.places import place_of

_ONE_AT_A_TIME = threading.Lock()
"""What a command prints is caught, and standard output is the whole process's."""


def shell_name(file: str, study: str | None) -> str:
    """What a command calls the study, to be pasted."""
    return shlex.quote(place_of(file).shown) + (f" --study {shlex.quote(study)}" if study is not None else "")


def called(command: str, file: str, study: str | None, options: Sequence[str], given: Sequence[str] = ()) -> Any:
    """What `uhebo COMMAND FILE … --json` prints, and its messages; an error says what the shell would."""
    from uhebo.cli.app import app

    named = [] if study is None else ["--study", study]
    args = [command, "--json", *named, *options, "--", file, *given]
    out, messages = io.StringIO(), io.StringIO()
    with _ONE_AT_A_TIME, redirect_stdout(out), redirect_stderr(messages), quiet_libraries():
        try:
            app(args=args, prog_name="uhebo", standalone_mode=False)
        except UheboError:
            raise
        except Exception as error:
            said = getattr(error, "message", "")  # wrong usage, in Typer's words
            raise InvalidInputError(mask(str(said)) if said else explain(error)) from error
    return json.loads(out.getvalue() or "null"), messages.getvalue().strip()
