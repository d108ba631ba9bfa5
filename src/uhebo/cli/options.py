"""Arguments and options that several commands share."""

from typing import Annotated

import typer

StudyFile = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="Where the study is: lab.db (SQLite), lab.log or lab.jsonl (journal), a database URL, or env:NAME.",
    ),
]
StudyName = Annotated[
    str | None, typer.Option("--study", metavar="NAME", help="Name of the study, where there are several.")
]
Target = Annotated[
    list[str], typer.Argument(metavar="TARGET…", help="module:function, or -- and a program with arguments.")
]
Storage = Annotated[str, typer.Option("--storage", metavar="STUDY", help="Study file or database URL.")]
Timeout = Annotated[float | None, typer.Option("--timeout", help="Seconds one trial may take.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
DecimalComma = Annotated[
    bool, typer.Option("--decimal-comma", help="CSV with 23,9 and semicolons, as a German spreadsheet opens it.")
]
Xlsx = Annotated[str | None, typer.Option("--xlsx", metavar="FILE.xlsx", help="Write a spreadsheet.")]
SpaceFile = Annotated[
    str | None, typer.Option("--space", metavar="FILE", help="The parameters, as TOML (see docs/shell.md) or JSON.")
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=TYPE:…",
        help="One parameter: lr=float:1e-5:0.1:log, depth=int:2:12, solver=cat:adam,sgd. Repeat for more.",
    ),
]
Constraints = Annotated[
    list[str] | None,
    typer.Option(
        "--constraint",
        metavar="'NAME >= NUMBER'",
        help="What every result says besides its value, and its limit: 'purity >= 95', 'hours <= 8'. Repeat for more.",
    ),
]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option(
        "--subject-to",
        metavar="'A + B <= 1'",
        help="A rule about parameters that every suggestion keeps to: 'a + b <= 1'. Repeat for more.",
    ),
]
Units = Annotated[
    list[str] | None,
    typer.Option("--unit", metavar="NAME=UNIT", help="Unit of a parameter or result: temperature=°C. Repeat for more."),
]
WhenExhausted = Annotated[
    str | None,
    typer.Option(
        "--when-exhausted",
        metavar="stop|repeat",
        help="When every point of a finite space has been tried, without noise. Default: stop.",
    ),
]
ObjectiveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--objective",
        metavar="NAME:minimize|maximize",
        help="What is measured and wanted: yield:maximize. Repeat for up to four; results then tell each by its name.",
    ),
]
ReferenceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--reference",
        metavar="NAME=NUMBER",
        help="A value of an objective that is just not worth having; for each of several. Default: from the results.",
    ),
]
DirectionOption = Annotated[
    list[str] | None,
    typer.Option("--direction", metavar="minimize|maximize", help="What is wanted. Default: minimize."),
]
Method = Annotated[
    str | None, typer.Option("--method", metavar="NAME", help="`uhebo methods` lists them. Default: auto.")
]
Seed = Annotated[int | None, typer.Option("--seed", help="Same seed, same suggestions. Default: drawn and kept.")]
Startup = Annotated[
    int | None, typer.Option("--startup", help="Random trials before the model. Default: three per parameter.")
]
Acquisition = Annotated[
    str | None,
    typer.Option(
        "--acquisition",
        metavar="NAME",
        help="ucb, log-ei, pi or thompson. Default: the method's (auto: log-ei, else ucb).",
    ),
]
Deterministic = Annotated[
    bool | None, typer.Option("--deterministic/--noisy", help="Whether repeating a trial gives the same value exactly.")
]
