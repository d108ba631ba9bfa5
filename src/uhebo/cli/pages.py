"""Commands that make pages: report, watch, dashboard."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from uhebo.checks import number
from uhebo.cli import options
from uhebo.cli.bounds import names_of
from uhebo.cli.calls import called, shell_name
from uhebo.cli.output import say
from uhebo.cli.settings import bounds_of, named_objectives
from uhebo.errors import InvalidInputError
from uhebo.storage.places import load, opened, place_of, study_at


def report(
    file: options.StudyFile,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE.html", help="Default: STUDY-report.html, here.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading. Default: the study's name.")] = None,
    brief: Annotated[bool, typer.Option("--brief", help="One page: verdict, what to use, what to do next.")] = False,
    figures: Annotated[
        str | None, typer.Option("--figures", metavar="FOLDER", help="Write the pictures there, as SVG and PNG.")
    ] = None,
    study: options.StudyName = None,
) -> None:
    """Write a report: one HTML file that opens anywhere, without a network.

    On its first screen are the verdict, the recommended point, progress, importances and what to do next.

    \b
    Example:
      $ uhebo report lab.db -o report.html
      $ uhebo report lab.db --brief -o page.html
      $ uhebo report lab.db --figures figures
    """
    from uhebo.report.html import write_figures, write_report

    path = Path(output or ".")  # a folder: the file is named after the study
    html = path.suffix.lower() in (".html", ".htm") and path.parent.is_dir() and not path.is_dir()
    if output is not None and not html:
        raise InvalidInputError(f"the report is {output!r}; expected a name that ends in .html, in a folder")
    if figures is not None and Path(figures).exists() and not Path(figures).is_dir():
        raise InvalidInputError(
            f"--figures is {figures!r}, a file; expected a folder, which is made if it is not there"
        )
    with study_at(file, study) as loaded:
        if figures is not None:
            written = write_figures(loaded, figures)
            say(
                f"wrote {len(written)} files to {figures}"
                if written
                else "there is nothing to draw: no trial has finished"
            )
        if figures is None or output is not None or brief:
            made = write_report(loaded, path, title=title, place=shell_name(file, study), brief=brief)
            say(f"wrote {made}")


def dashboard(
    file: options.StudyFile,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 takes a free one.")] = 8080,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines in, although there is no password.")
    ] = False,
    study: options.StudyName = None,
) -> None:
    """Open optuna-dashboard with our pictures and the diagnosis; Ctrl-C ends it.

    It has no password: on another address than 127.0.0.1, whoever reaches it can read, change and delete every study.

    \b
    Example:
      $ uhebo dashboard lab.db --port 8080
    """
    from uhebo.report.dashboard import start_dashboard

    number("--port", port, 0, 65535)
    place = place_of(file)
    with opened(place) as storage:
        say("writing the diagnosis and the pictures")
        running = start_dashboard(storage, host, port, study_name=study, allow_remote=allow_remote, block=False)
        say(f"{running.url} shows {place.shown}; Ctrl-C ends it")
        try:
            running.wait()
        except KeyboardInterrupt:
            say("ended")
        finally:
            running.stop()


def watch(
    file: options.StudyFile,
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 takes a free one.")] = 8081,
    read_only: Annotated[bool, typer.Option("--read-only", help="No values can be told from the page.")] = False,
    study: options.StudyName = None,
) -> None:
    """Show a page that follows the study: the report, renewed as results come; Ctrl-C ends it.

    It listens on this machine only. Values can be told from it by whoever has the address that is printed, which has a
    key in it; without the key, the page only shows.

    \b
    Example:
      $ uhebo watch lab.db --port 8081
    """
    from uhebo.optuna_.corrected import corrected
    from uhebo.report.watch import Watch, start_watch

    number("--port", port, 0, 65535)
    place = place_of(file)
    with opened(place) as storage:
        first = corrected(load(storage, place, study))
        objectives = named_objectives(first)
        others = names_of(bounds_of(first))

        def tell(trial: int, texts: Sequence[str] | None) -> str:
            """By name where there are names, as on the command line."""
            names = [*(objectives or [""]), *others]
            given = [f"{name}={text}" if name else text for name, text in zip(names, texts or (), strict=False)]
            called("tell", file, study, ["--failed"] if texts is None else [], [str(trial), *given])
            return f"trial {trial}: stored"

        following = Watch(
            load=lambda: corrected(load(storage, place, study)),
            place=shell_name(file, study),
            tell=None if read_only else tell,
            measured=[*(objectives or ["value"]), *others],
        )
        running = start_watch(following, port)
        say(f"{running.url} follows {place.shown}; Ctrl-C ends it")
        try:
            running.wait()
        except KeyboardInterrupt:
            say("ended")
        finally:
            running.stop()
