"""The program `uhebo`: every command by name. What a command needs is imported when it runs, so that help is quick."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated

import typer

from uhebo.cli.look import best, dashboard, diagnose, history, methods, report
from uhebo.cli.optimise import optimize
from uhebo.cli.study import create, status
from uhebo.cli.suggest_tell import suggest, tell
from uhebo.cli.worker import worker

EPILOG = """\b
Exit codes: 0 done, 1 an error (one line on standard error), 2 wrong usage,
130 interrupted by Ctrl-C, 143 terminated. UHEBO_DEBUG=1 shows where an
error came from. Guide: docs/shell.md
"""

app = typer.Typer(
    name="uhebo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from uhebo._version import __version__

        typer.echo(f"uhebo {__version__}")
        raise typer.Exit


@app.callback()
def uhebo(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find good settings in few experiments, and say whether to trust the model that found them.

    \b
    Example:
      $ uhebo create lab.db --param temperature=20:90 --direction maximize
    """


_COMMANDS = (
    create,
    suggest,
    tell,
    best,
    history,
    status,
    optimize,
    worker,
    diagnose,
    report,
    dashboard,
    methods,
)
for _command in _COMMANDS:
    # A negative value (uhebo tell lab.db 3 -0.5) must not be read as an option.
    _settings = {"ignore_unknown_options": True} if _command is tell else {}
    app.command(context_settings=_settings)(_command)

EXPERIMENTS = {
    "problems": "List the test problems by name.",
    "reproduce": "Check the paper: run what is missing, draw the figures, judge the claims.",
    "bench": "Compare uhebo with Optuna, BoTorch, SMAC3 and others: ranks, regret, seconds.",
}
"""Commands of the package uhebo-experiments, and what they do."""


def _not_installed(name: str) -> Callable[[], None]:
    def absent() -> None:
        from uhebo.errors import MissingExtraError

        raise MissingExtraError(f"`uhebo {name}` is part of another package: pip install uhebo-experiments")

    absent.__doc__ = f"{EXPERIMENTS[name]} (Needs: pip install uhebo-experiments)"
    return absent


# Other packages add commands by entry points of this group: name = "module:function".
_added = {entry.name: entry for entry in entry_points(group="uhebo.commands")}
for _name, _entry in _added.items():
    app.command(_name)(_entry.load())
for _name in EXPERIMENTS.keys() - _added.keys():
    app.command(_name, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(
        _not_installed(_name)
    )
