"""The program `uhebo`: every command by name. A command is imported when it is called, so that the list is quick."""

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from uhebo.errors import MissingExtraError

EPILOG = """\b
Exit codes: 0 done, 1 an error (one line on standard error), 2 wrong usage,
130 interrupted by Ctrl-C, 143 terminated. UHEBO_DEBUG=1 shows where an
error came from. Guide: docs/shell.md
"""
COMMANDS = {
    "create": ("create", "Make a study in a file. Its parameters and settings are kept in it."),
    "suggest": ("suggest", "Suggest what to try next; each suggestion is a trial that waits for its value."),
    "tell": ("telling", "Tell a value for a suggested trial, or a whole CSV of results."),
    "predict": ("predict", "Show what the model expects at settings of your own."),
    "amend": ("correct", "Correct a trial that has ended: its value, what else was measured, where it was made."),
    "drop": ("correct", "Leave a trial out, as if it had never been tried."),
    "skip": ("correct", "Say that a trial was never run; unlike a failed one, it repels nothing."),
    "restore": ("correct", "Take back the latest change of a trial: amend, drop or skip; again, the one before."),
    "extend": ("extending", "Change the space in place: a wider range, a further choice, a further factor, a unit."),
    "log": (
        "correct",
        "Show every change of trials and of the space: when, what it was before, and why.",
    ),
    "best": ("best", "Show the best trial so far, or the front of several objectives."),
    "history": ("history", "Show every trial: number, state, value, parameters, and why it failed if known."),
    "status": (
        "look",
        "Show parameters, settings, trials, which of them wait for a value, and who works on the study.",
    ),
    "optimize": ("optimise", "Optimise a Python function or a program; run it again to go on."),
    "worker": ("optimise", "Work on a study together with other workers; start as many as you like."),
    "diagnose": ("look", "Say whether the model behind the suggestions can be trusted, why, and what to do next."),
    "report": ("pages", "Write a report: one HTML file that opens anywhere, without a network."),
    "watch": ("pages", "Show a page that follows the study: the report, renewed as results come; Ctrl-C ends it."),
    "dashboard": ("pages", "Open optuna-dashboard with our pictures and the diagnosis; Ctrl-C ends it."),
    "mcp": ("mcp", "Serve the study to an assistant (Model Context Protocol), on standard input and output."),
    "methods": ("look", "List the methods that suggest points."),
}
"""Name: module of this package, and the first line of the command's docstring."""
NEGATIVE = ("tell", "amend")
"""Commands that take numbers as arguments: -0.5 must not be read as an option."""
EXPERIMENTS = {
    "bench": "Compare uhebo with Optuna, BoTorch, SMAC3 and others: ranks, regret, seconds.",
    "problems": "List the test problems by name.",
    "reproduce": "Check the paper: run what is missing, draw the figures, judge the claims.",
}
"""Commands of the package uhebo-experiments, and what they do."""
PLUGINS: dict[str, EntryPoint] = {entry.name: entry for entry in entry_points(group="uhebo.commands")}
"""Commands that other packages add by entry points of this group: name = "module:function"."""
_STYLE: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class Commands(TyperGroup):
    """Commands without their options, for the list; the one that is called is loaded."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if name is None or command is None else loaded(name), rest


def loaded(name: str) -> Any:
    single = typer.Typer(add_completion=False, **_STYLE)
    single.command(name, context_settings={"ignore_unknown_options": name in NEGATIVE})(_function(name))
    return typer.main.get_command(single)


def _function(name: str) -> Any:
    if name in COMMANDS:
        return getattr(import_module(f"uhebo.cli.{COMMANDS[name][0]}"), name)
    if name not in PLUGINS:
        raise MissingExtraError(f"`uhebo {name}` is part of another package: pip install uhebo-experiments")
    try:
        return PLUGINS[name].load()
    except Exception as error:
        raise MissingExtraError(
            f"`uhebo {name}` comes from the plug-in {PLUGINS[name].value}, which cannot be loaded "
            f"({type(error).__name__}: {error}); install it again, or remove it"
        ) from error


app = typer.Typer(name="uhebo", cls=Commands, no_args_is_help=True, epilog=EPILOG, **_STYLE)


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


def _line(name: str) -> str:
    """What the list says about a command."""
    if name in COMMANDS:
        return COMMANDS[name][1]
    if name not in EXPERIMENTS:
        return f"From {PLUGINS[name].value}."
    return EXPERIMENTS[name] + ("" if name in PLUGINS else " (Needs: pip install uhebo-experiments)")


for _name in dict.fromkeys([*COMMANDS, *EXPERIMENTS, *PLUGINS]):
    app.command(_name, help=_line(_name))(lambda: None)
