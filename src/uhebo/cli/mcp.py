"""`uhebo mcp`: a study for an assistant, over the Model Context Protocol.

Every tool is a command of the shell with `--json`: what an assistant gets is what the shell prints, and it is refused
what the shell refuses. The study is chosen when the server is started.
"""

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from uhebo.checks import integer, number
from uhebo.cli import options
from uhebo.cli.calls import called, shell_name
from uhebo.cli.output import say
from uhebo.errors import InvalidInputError, MissingExtraError, UheboError
from uhebo.storage.places import study_at

INSTRUCTIONS = """\
A study of experiments that are optimised by a model: `{place}`. Ask `status` first: it has the parameters, what is
measured and which way is better. `diagnose` says whether the model can be trusted, why, and what to do next; say so to
the user rather than trusting predictions blindly. `history` has every experiment, `best` the best one, `predict` what
the model expects at settings of your own. {writing}Values are measured by the user: never invent one."""
WRITING = """`suggest` starts experiments: call it only when they will be made. `tell` stores what came of one, `skip`
says that one was not made. """
READING = "This server only shows: to suggest and to tell, start it with --write. "
EVIDENCE = ("verdict", "kind", "headline", "reasons", "next_action", "commands", "if_right", "trials", "importance",
            "noise", "prospects", "feasibility", "slips")  # fmt: skip
"""What an assistant gets of a diagnosis; the rest is long tables."""
LATEST = 50
"""Trials that `history` has if not told otherwise."""
MOST_AT_ONCE = 100


def mcp(
    file: options.StudyFile,
    write: Annotated[bool, typer.Option("--write", help="Also let it suggest, tell and skip.")] = False,
    http: Annotated[
        int | None, typer.Option("--http", metavar="PORT", help="On this port of this machine, not standard input.")
    ] = None,
    study: options.StudyName = None,
) -> None:
    """Serve the study to an assistant (Model Context Protocol), on standard input and output.

    An assistant that speaks the protocol starts this command itself. It can look at everything and change nothing,
    unless --write is given. Needs: pip install 'uhebo[mcp]'.

    \b
    Example:
      $ uhebo mcp lab.db
    """
    if http is not None:
        number("--http", http, 1, 65535)
    with study_at(file, study):
        pass  # what is wrong with the file is said at the start
    server = study_server(file, study, write=write)
    if http is None:
        server.run("stdio")
    else:
        say(f"http://127.0.0.1:{http}/mcp serves {shell_name(file, study)}; Ctrl-C ends it")
        server.run("streamable-http", host="127.0.0.1", port=http)


def study_server(file: str, study: str | None = None, *, write: bool = False) -> Any:
    """The server, not started."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError as error:
        raise MissingExtraError("this needs mcp 2, which is not installed: pip install 'uhebo[mcp]'") from error
    from uhebo._version import __version__

    told = INSTRUCTIONS.format(place=shell_name(file, study), writing=WRITING if write else READING)
    server = MCPServer("uhebo", instructions=told, version=__version__, log_level="WARNING")
    tools = Tools(file, study)
    for tool, changes in [
        *((each, False) for each in tools.looking),
        *((each, True) for each in tools.changing if write),
    ]:
        hints = ToolAnnotations(read_only_hint=not changes, destructive_hint=False, open_world_hint=False)
        server.add_tool(_said(tool, ToolError), name=tool.__name__, description=tool.__doc__, annotations=hints)
    return server


def _said(tool: Callable[..., Any], error_type: type[Exception]) -> Callable[..., Any]:
    """The same function, whose errors are told to the assistant in the words of the shell."""

    @wraps(tool)
    def said(*args: Any, **kwargs: Any) -> Any:
        try:
            return tool(*args, **kwargs)
        except UheboError as error:
            raise error_type(str(error)) from error

    return said


class Tools:
    """What an assistant can do with one study."""

    def __init__(self, file: str, study: str | None) -> None:
        self.file, self.study = file, study

    @property
    def looking(self) -> tuple[Callable[..., Any], ...]:
        return self.status, self.history, self.best, self.diagnose, self.predict

    @property
    def changing(self) -> tuple[Callable[..., Any], ...]:
        return self.suggest, self.tell, self.skip

    def _call(self, command: str, *given: str, options: tuple[str, ...] = ()) -> Any:
        return called(command, self.file, self.study, options, given)[0]

    def status(self) -> dict[str, Any]:
        """Parameters with their ranges, what is measured, which way is better, settings, number of trials."""
        found: dict[str, Any] = self._call("status")
        return found

    def history(self, last: int = LATEST) -> dict[str, Any]:
        """The latest trials: number, state, value, parameters, and why one failed if known."""
        return {"trials": self._call("history", options=("--last", str(integer("last", last, 1))))}

    def best(self) -> dict[str, Any]:
        """The best trial so far; with several objectives, the trials that no other one beats in every objective."""
        found: dict[str, Any] = self._call("best")
        return found

    def diagnose(self) -> dict[str, Any]:
        """Whether the model behind the suggestions can be trusted, why, which parameters matter, what to do next."""
        found: dict[str, Any] = self._call("diagnose")
        if "verdict" in found:
            return {name: found[name] for name in EVIDENCE if name in found}
        return {target: {name: each[name] for name in EVIDENCE if name in each} for target, each in found.items()}

    def predict(self, params: dict[str, Any]) -> dict[str, Any]:
        """What the model expects at these settings (every parameter by name): mean, deviation and 90 % interval, noise
        left out, and the chance to improve on the best so far."""
        if not params:
            raise InvalidInputError("there are no settings; give every parameter by name")
        found: dict[str, Any] = self._call("predict", *(f"{name}={value}" for name, value in params.items()))
        return found

    def suggest(self, count: int = 1) -> dict[str, Any]:
        """Suggest experiments to be made at the same time. Each becomes a trial that waits for its value: tell it."""
        wanted = integer("count", count, 1)
        if wanted > MOST_AT_ONCE:
            raise InvalidInputError(f"count is {wanted}; expected 1 to {MOST_AT_ONCE}")
        return {"suggestions": self._call("suggest", options=("-n", str(wanted)))}

    def tell(
        self, number: int, values: dict[str, float] | float | None = None, failed: bool = False, note: str = ""
    ) -> dict[str, Any]:
        """Store what was measured in a suggested trial: a number, or by name where there are several quantities
        (objectives, what constraints are about). `failed` where the experiment was made and gave no value."""
        given = [] if values is None else [str(values)]
        if isinstance(values, dict):
            given = [f"{name}={value}" for name, value in values.items()]
        options = (*(("--failed",) if failed else ()), *(("--note", note) if note else ()))
        found: dict[str, Any] = self._call("tell", str(number), *given, options=options)
        return found

    def skip(self, number: int, reason: str = "") -> dict[str, Any]:
        """Say that a suggested experiment was never made; unlike a failed one, it says nothing of its place."""
        found: dict[str, Any] = self._call("skip", str(number), options=("--reason", reason) if reason else ())
        return found
