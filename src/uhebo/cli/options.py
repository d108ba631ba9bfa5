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
Storage = Annotated[
    str,
    typer.Option(
        "--storage", metavar="STUDY", envvar="UHEBO_STORAGE", show_envvar=False, help="A file, a URL, env:NAME."
    ),
]
Timeout = Annotated[float | None, typer.Option("--timeout", metavar="S", help="Seconds one trial may take.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
DecimalComma = Annotated[
    bool, typer.Option("--decimal-comma", help="CSV with 23,9 and semicolons, as a German Excel opens it.")
]
Xlsx = Annotated[str | None, typer.Option("--xlsx", metavar="FILE.xlsx", help="Write a spreadsheet.")]
# The options of a study: one line each in a terminal of 80 characters, or their help is longer than the screen.
SpaceFile = Annotated[str | None, typer.Option("--space", metavar="FILE", help="The parameters, as TOML or JSON.")]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=…", help="lr=float:1e-5:0.1:log, gas=cat:argon,neon *"),
]
Constraints = Annotated[
    list[str] | None,
    typer.Option("--constraint", metavar="LIMIT", help="What is measured too: 'purity >= 95' *"),
]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option("--subject-to", metavar="RULE", help="What suggestions keep to: 'a + b <= 1' *"),
]
Units = Annotated[
    list[str] | None, typer.Option("--unit", metavar="NAME=UNIT", help="Of a parameter or result: temperature=°C *")
]
WhenExhausted = Annotated[
    str | None,
    typer.Option("--when-exhausted", metavar="stop|repeat", help="After every point of a finite space."),
]
ObjectiveOption = Annotated[
    list[str] | None,
    typer.Option("--objective", metavar="NAME:WAY", help="What is wanted: yield:maximize; up to four *"),
]
ReferenceOption = Annotated[
    list[str] | None,
    typer.Option("--reference", metavar="NAME=NUMBER", help="Just not worth having, of each objective *"),
]
DirectionOption = Annotated[
    list[str] | None, typer.Option("--direction", metavar="WAY", help="minimize or maximize. Default: minimize.")
]
Method = Annotated[
    str | None, typer.Option("--method", metavar="NAME", help="`uhebo methods` lists them. Default: auto.")
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Same seed, same suggestions. Default: drawn.")]
Startup = Annotated[
    int | None, typer.Option("--startup", metavar="N", help="Trials before the model, if not the usual.")
]
Acquisition = Annotated[
    str | None,
    typer.Option("--acquisition", metavar="NAME", help="Or the method's own (auto: log-ei, else ucb)."),
]
Deterministic = Annotated[
    bool | None, typer.Option("--deterministic/--noisy", help="Whether a repeat gives the very same value.")
]
