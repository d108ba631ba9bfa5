"""The shell: `uhebo create`, `suggest`, `tell`, `optimize`, `diagnose`, `report`, …

Messages go to standard error, results alone to standard output; `app.EPILOG` has the exit codes.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from uhebo.cli.output import quiet_libraries, say
from uhebo.storage.explain import explain
from uhebo.storage.mask import mask

EXIT_ERROR, EXIT_INTERRUPTED = 1, 130


def main(args: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code; an error becomes one line."""
    from uhebo.cli.app import app

    with quiet_libraries():
        try:
            sys.exit(app(args=None if args is None else list(args), prog_name="uhebo", standalone_mode=False))
        except KeyboardInterrupt:
            say("interrupted")
            sys.exit(EXIT_INTERRUPTED)
        except Exception as error:
            sys.exit(_said(error))


def _said(error: Any) -> int:
    """The exit code of an error that has been shown."""
    if hasattr(error, "show"):  # wrong usage, in Typer's words; they quote arguments, so a URL may be among them
        from uhebo.cli.usage import hint

        instead = hint(error)
        if instead and getattr(error, "possibilities", None):  # those that are spelt alike, and not what is meant
            error.possibilities = None
        error.message = f"{mask(error.message or '')}{instead}"
        error.show()
        return int(error.exit_code)
    if os.environ.get("UHEBO_DEBUG"):
        sys.stderr.write(mask(traceback.format_exc()))
    say(f"error: {explain(error)}")
    return EXIT_ERROR
