"""Results told as people do: half-filled sheets, twice, with commas and notes, from any spreadsheet, all or nothing."""

from __future__ import annotations

import csv
import io

import pytest

import uhebo
from tests.conftest import require
from tests.shell import Shell

SPACE = ("--param", "x=float:0:1", "--param", "gas=cat:argon,=cmd|evil,@SUM(A1),-1", "--seed", "1")


@pytest.fixture
def lab(shell: Shell) -> Shell:
    shell("create", "lab.db", *SPACE)
    shell("suggest", "lab.db", "-n", "4")
    return shell


def values(lab: Shell) -> list[object]:
    return [row["value"] for row in lab.json("history", "lab.db")]


def test_a_sheet_is_filled_in_bit_by_bit(lab: Shell) -> None:
    half = lab.write("batch.csv", 'number,value,operator,lot\n0,"23,9",Ann,A-7\n1,,,\n2,failed,Bob,\n3,,,\n')
    told = lab.json("tell", "lab.db", "--csv", half)
    assert (told["told"], told["waiting"], told["told_before"]) == (2, 2, 0)
    assert "still waiting for a value: trials 1, 3" in lab.err
    assert "kept as notes: operator, lot" in lab.err
    assert values(lab) == [23.9, None, None, None]
    more = lab.write("batch.csv", 'number,value,operator,lot\n0,"23,9",Ann,A-7\n1,25,,\n2,failed,Bob,\n3,,,\n')
    told = lab.json("tell", "lab.db", "--csv", more)
    assert (told["told"], told["waiting"], told["told_before"]) == (1, 1, 2)
    assert "told before, with the same outcome: trials 0, 2" in lab.err
    assert "everything in it was told before (trials 0, 1, 2); --again" in lab.refuses("tell", "lab.db", "--csv", more)
    rows = list(csv.DictReader(io.StringIO(lab("history", "lab.db", "--csv"))))
    assert [(row["operator"], row["lot"]) for row in rows] == [("Ann", "A-7"), ("", ""), ("Bob", ""), ("", "")]
    other = lab.write("other.csv", "number,value\n0,24\n3,1\n")
    assert "trial 0 is finished already with value 23.9; uhebo amend" in lab.refuses("tell", "lab.db", "--csv", other)
    # A value that was corrected since is not told again by the sheet it came from.
    lab("amend", "lab.db", "0", "2.39")
    told = lab.json("tell", "lab.db", "--csv", lab.write("batch.csv", "number,value\n0,23.9\n3,7\n"))
    assert (told["told"], told["told_before"]) == (1, 1)
    assert values(lab) == [2.39, 25.0, None, 7.0]


def test_headings_in_another_case_and_with_their_unit(shell: Shell) -> None:
    """However people write the degree sign; choices are words in such a column too."""
    units = ("--unit", "t=°C", "--unit", "value=%")
    shell("create", "lab.db", "--param", "t=20:90", "--param", "Size=cat:1,2.5,words", *units, "--seed", "1")
    for heading in ("T [°C]", "T [º C]", "t [\N{DEGREE CELSIUS}]", "T"):
        sheet = shell.write("own.csv", f"{heading};SIZE;Value [%];Lot [kg];Value Error\n30;2,5;7,5;A-7;0,5\n")
        told = shell.json("tell", "lab.db", "--csv", sheet, "--dry-run")
        assert told["rows"][0]["t"] == 30
        assert told["rows"][0]["Size"] == 2.5
        assert told["rows"][0]["value"] == 7.5
        assert told["rows"][0]["value error"] == 0.5
        assert told["rows"][0]["Lot [kg]"] == "A-7"
    # Where two names differ in nothing else, the heading must be exact.
    shell("create", "two.db", "--param", "T=20:90", "--param", "t=float:0:3", "--seed", "1")
    told = shell.json("tell", "two.db", "--csv", shell.write("own.csv", "t,T,value\n1,30,7\n"), "--dry-run")
    assert (told["rows"][0]["T"], told["rows"][0]["t"]) == (30, 1.0)


def test_a_history_in_capitals_is_a_history_still(lab: Shell) -> None:
    """Its numbers are those of another study."""
    lab("tell", "lab.db", "0", "5")
    lines = lab("history", "lab.db", "--csv").splitlines()
    table = lab.write("all.csv", "\n".join([lines[0].upper(), lines[1]]) + "\n")
    lab("create", "new.db", *SPACE)
    lab("suggest", "new.db")
    told = lab.json("tell", "new.db", "--csv", table)
    assert (told["told"], told["added"]) == (0, 1)


def test_a_column_of_errors_that_is_ignored_on_request(lab: Shell) -> None:
    sheet = lab.write("batch.csv", "number,value,value_error\n0,5,1\n")
    assert "unknown column 'value_error'; did you mean 'value error'?" in lab.refuses("tell", "lab.db", "--csv", sheet)
    lab("tell", "lab.db", "--csv", sheet, "--ignore-extra")
    assert values(lab)[0] == 5.0


def test_a_further_measurement(lab: Shell) -> None:
    lab("tell", "lab.db", "0", "29,1", "--note", "new bottle")
    assert "--again tells a further measurement" in lab.refuses("tell", "lab.db", "0", "29.3")
    lab("tell", "lab.db", "0", "29.3", "--again")
    told = lab.json("tell", "lab.db", "--csv", lab.write("more.csv", "number,value\n0,29.2\n1,8\n"), "--again")
    assert (told["told"], told["added"], told["finished"]) == (1, 1, 4)
    rows = lab.json("history", "lab.db")
    assert [row["value"] for row in rows] == [29.1, 8.0, None, None, 29.3, 29.2]
    assert rows[0]["params"] == rows[4]["params"] == rows[5]["params"]


def test_the_same_sheet_twice_is_noticed(lab: Shell) -> None:
    own = lab.write("own.csv", "x,gas,value\n0.25,argon,1\n0.5,argon,2\n")
    lab("tell", "lab.db", "--csv", own)
    assert "2 of 2 experiments are in this study already" in lab.refuses("tell", "lab.db", "--csv", own)
    assert "was the sheet told before?" in lab.err
    lab("tell", "lab.db", "--csv", own, "--again")
    assert len(values(lab)) == 8


def test_everything_that_is_wrong_is_said_at_once_and_nothing_is_stored(lab: Shell) -> None:
    text = "number,value,operator\n0,1,Ann\n1,high,Ann\n2,2,Ann,5\n9,2,Ann\n"
    assert lab("tell", "lab.db", "--csv", lab.write("bad.csv", text), code=1) == ""
    lines = lab.err.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        "bad.csv, line 3",
        "bad.csv, line 4",
        "bad.csv, line 5",
        "error",
    ]
    assert "3 rows of bad.csv are wrong" in lines[-1]
    assert values(lab) == [None] * 4


def test_a_dry_run_stores_nothing(lab: Shell) -> None:
    lab("tell", "lab.db", "3", "1")
    sheet = lab.write("own.csv", "number,x,gas,value,lot\n0,,,5,A\n,0.25,argon,failed,\n3,,,1,\n1,,,,\n")
    shown = lab.json("tell", "lab.db", "--csv", sheet, "--dry-run")
    assert shown == {
        "dry_run": True,
        "rows": [
            {"what": "answer", "trial": 0, "value": 5.0, "lot": "A"},
            {"what": "own", "trial": None, "value": "failed", "x": 0.25, "gas": "argon"},
        ],
        "waiting": [1],
        "told_before": [3],
    }
    assert "2 would be stored; nothing was" in lab.err
    assert "answer" in lab("tell", "lab.db", "0", "5", "--dry-run")
    assert values(lab) == [None, None, None, 1.0]


@pytest.mark.parametrize(
    "raw",
    [
        "number;value;Bedienerin\r\n0;23,9;Jürgen\r\n".encode("cp1252"),
        "number\tvalue\tBedienerin\r\n0\t23.9\tJürgen\r\n".encode("utf-16"),
        "number\tvalue\tBedienerin\r\n0\t23.9\tJürgen\r\n".encode("utf-16-le"),
        "sep=;\r\nnumber;value;Bedienerin\r\n0;23,9;Jürgen\r\n".encode("utf-8-sig"),
        'number,value,Bedienerin\n0,"23,9",Jürgen\n'.encode(),
    ],
    ids=["windows", "utf-16", "utf-16 without a mark", "sep=", "quoted comma"],
)
def test_what_spreadsheets_save(lab: Shell, raw: bytes) -> None:
    (lab.folder / "sheet.csv").write_bytes(raw)
    lab("tell", "lab.db", "--csv", "sheet.csv")
    assert ("read as Windows-1252" in lab.err) == (b"J\xfcrgen\r" in raw)
    assert lab.json("history", "lab.db")[0]["value"] == 23.9
    assert "Jürgen" in lab("history", "lab.db", "--csv")


@pytest.mark.parametrize(
    "text",
    ["number;value\n0;1.234\n1;2,5\n", 'number,value\n0,1.234\n1,"2,5"\n', "number\tvalue\n0\t1.234 ± 0,5\n1\t2,5\n"],
    ids=["semicolon", "comma", "tab"],
)
def test_a_point_between_thousands_is_not_read_as_a_decimal_point(lab: Shell, text: str) -> None:
    said = lab.refuses("tell", "lab.db", "--csv", lab.write("german.csv", text))
    assert "german.csv, line 2: value is 1.234" in said
    assert "could be read in two ways; write 1234, or 1,2340; nothing was stored" in said
    assert values(lab) == [None] * 4


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("number;value\n0;1,234\n1;2,5\n", 1.234),
        ("number;value\n0;1.234\n1;2.5\n", 1.234),
        ("number;value;lot\n0;1234;1.234\n1;2,5;7\n", 1234.0),
        ('number,x,value\n0,,1.234\n1,,2.5\n2,,"failed"\n', 1.234),
        ("number;value\n0;0.234\n1;2,5\n", 0.234),
    ],
    ids=["comma", "points only", "a note", "english", "below one"],
)
def test_what_can_be_read_in_one_way_is(lab: Shell, text: str, value: float) -> None:
    lab("tell", "lab.db", "--csv", lab.write("sheet.csv", text))
    assert values(lab)[0] == value


@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_spreadsheets_themselves(lab: Shell, ending: str) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl" if ending == "xlsx" else "odf")
    frame = pd.DataFrame(
        {"number": [0, 1, 2], "value": [23.9, None, "failed"], "day": pd.to_datetime(["2026-11-16"] * 3)}
    )
    frame.to_excel(str(lab.folder / f"sheet.{ending}"), index=False)
    told = lab.json("tell", "lab.db", "--csv", f"sheet.{ending}")
    assert (told["told"], told["waiting"]) == (2, 1)
    assert values(lab) == [23.9, None, None, None]
    assert "2026-11-16" in lab("history", "lab.db", "--csv")
    lab.write(f"odd.{ending}", "no spreadsheet")
    assert f"odd.{ending} is not a spreadsheet, or damaged" in lab.refuses("tell", "lab.db", "--csv", f"odd.{ending}")


def test_no_cell_starts_a_formula_and_all_come_back(shell: Shell) -> None:
    """FIELD D5: a spreadsheet would compute it, or fetch it."""
    shell(
        "create",
        "lab.db",
        "--param",
        "@x=float:-1:1",
        "--param",
        "gas=cat:=HYPERLINK(1),@SUM(A1),+1+1,-1,a",
        "--seed",
        "2",
    )
    batch = list(csv.reader(io.StringIO(shell("suggest", "lab.db", "-n", "20", "--csv"))))
    cells = {cell for row in batch for cell in row}
    assert {"'@x", "'=HYPERLINK(1)", "'@SUM(A1)", "'+1+1", "-1"} <= cells
    dangerous = [
        cell for cell in cells if cell.startswith(("=", "+", "@")) or (cell.startswith("-") and cell[1:2].isalpha())
    ]
    assert not dangerous
    filled = "\n".join(",".join([*row[:-1], "value" if not n else str(n)]) for n, row in enumerate(batch))
    assert shell.json("tell", "lab.db", "--csv", shell.write("batch.csv", filled + "\n"))["told"] == 20
    table = shell("history", "lab.db", "--csv")
    assert "\n=" not in table
    assert ",=" not in table
    shell("create", "new.db", "--param", "@x=float:-1:1", "--param", "gas=cat:=HYPERLINK(1),@SUM(A1),+1+1,-1,a")
    assert shell.json("tell", "new.db", "--csv", shell.write("all.csv", table))["added"] == 20


def test_spreadsheets_of_either_language_come_back(shell: Shell) -> None:
    """A German Excel splits at semicolons and reads 0,5; an .xlsx has numbers, and text that is never a formula."""
    openpyxl = require("openpyxl", "pip install 'uhebo[sheets]'")
    choices = "gas=cat:=HYPERLINK(1),@SUM(A1),+1+1"
    shell("create", "lab.db", "--param", "x=float:0:3", "--param", "t=20:90", "--param", choices, "--unit", "t=°C")
    german = shell("suggest", "lab.db", "-n", "3", "--csv", "--decimal-comma")
    assert german.startswith("\N{ZERO WIDTH NO-BREAK SPACE}number;x;t [°C];gas;value\n")
    rows = list(csv.reader(io.StringIO(german[1:]), delimiter=";"))
    exact = [row["params"]["x"] for row in shell.json("history", "lab.db")]
    for row, x in zip(rows[1:], exact, strict=True):
        assert "." not in row[1]
        assert len(row[1]) <= 6  # sensible digits
        assert abs(float(row[1].replace(",", ".")) - x) < 3e-4
        assert row[3].startswith("'")
    filled = "\n".join(";".join([*row[:-1], "value" if not n else f"{n},5"]) for n, row in enumerate(rows))
    (shell.folder / "batch.csv").write_text(filled, encoding="cp1252")
    assert shell.json("tell", "lab.db", "--csv", "batch.csv")["told"] == 3
    assert values(shell) == [1.5, 2.5, 3.5]

    shell("suggest", "lab.db", "-n", "3", "--xlsx", "batch.xlsx")
    assert "then: uhebo tell lab.db --csv batch.xlsx" in shell.err
    book = openpyxl.load_workbook(shell.folder / "batch.xlsx")
    sheet = book.active
    assert [cell.value for cell in sheet[1]] == ["number", "x", "t [°C]", "gas", "value"]
    for at, row in enumerate(sheet.iter_rows(min_row=2), 2):
        assert [cell.data_type for cell in row[:4]] == ["n", "n", "n", "s"]
        sheet.cell(at, 5).value = 10.5 * at
    book.save(shell.folder / "batch.xlsx")
    assert shell.json("tell", "lab.db", "--csv", "batch.xlsx")["told"] == 3
    shell("history", "lab.db", "--xlsx", "all.xlsx")
    shell("create", "new.db", "--param", "x=float:0:3", "--param", "t=20:90", "--param", choices)
    assert shell.json("tell", "new.db", "--csv", "all.xlsx")["added"] == 6
    assert values(shell)[3:] == [21.0, 31.5, 42.0]
    assert "a name that ends in .xlsx" in shell.refuses("suggest", "lab.db", "--xlsx", "batch.csv")
    assert "choose one" in shell.refuses("suggest", "lab.db", "--xlsx", "b.xlsx", "--json")
    assert "--decimal-comma is for --csv" in shell.refuses("history", "lab.db", "--decimal-comma")


def test_errors_of_values(lab: Shell) -> None:
    """By ±, by an option, by a column; they come back from a history, and the model knows them."""
    lab("tell", "lab.db", "0", "23,9±0,4")
    lab("tell", "lab.db", "1", "25", "--error", "0.3")
    lab("tell", "lab.db", "--csv", lab.write("batch.csv", "number,value,error\n2,21,0.5\n3,22 +/- 0.2,\n"))
    noise = [trial.user_attrs["uhebo:noise"] for trial in uhebo.load("lab.db").study.trials]
    assert noise == [0.4, 0.3, 0.5, 0.2]
    table = lab("history", "lab.db", "--csv")
    assert table.startswith("number,state,value,value error,x,gas\n0,finished,23.9,0.4,")
    lab("create", "new.db", *SPACE)
    lab("tell", "new.db", "--csv", lab.write("all.csv", table))
    assert [trial.user_attrs["uhebo:noise"] for trial in uhebo.load("new.db").study.trials] == noise
    lab("amend", "lab.db", "0", "23.5±0.1")
    assert uhebo.corrected(uhebo.load("lab.db").study).trials[0].user_attrs["uhebo:noise"] == 0.1
    lab("tell", "lab.db", "1", "26", "--again", "--error", "0.3")
    best = lab.json("best", "lab.db")
    assert best["value"] == 21.0
    lab("suggest", "lab.db")
    for given, said in (
        (("4", "1", "--error", "-1"), "expected a standard deviation of 0 or more"),
        (("4", "1±2", "--error", "1"), "given twice"),
        (("4", "1±much"), "the error of value is 'much'"),
        (("--csv", lab.write("b.csv", "number,value,error\n4,1±1,2\n")), "the error of value is given twice"),
    ):
        assert said in lab.refuses("tell", "lab.db", *given)


def test_the_best_with_its_replicates_and_what_is_recommended(shell: Shell) -> None:
    shell("create", "lab.db", "--param", "x=float:0:1", "--direction", "maximize", "--seed", "1")
    rows = [f"{i / 10},{50 - 40 * (i / 10 - 0.6) ** 2 + (9 if i == 2 else 0)}" for i in range(11)]
    shell("tell", "lab.db", "--csv", shell.write("own.csv", "x,value\n" + "\n".join(rows) + "\n"))
    shell("tell", "lab.db", "2", "44.1", "--again")
    found = shell.json("best", "lab.db")
    assert found["number"] == 2
    assert found["measured"]["numbers"] == [2, 11]
    assert found["measured"]["mean"] == pytest.approx((found["value"] + 44.1) / 2)
    assert abs(found["recommended"]["params"]["x"] - 0.6) < 0.15
    assert found["recommended"]["low"] < found["recommended"]["expected"] < found["recommended"]["high"]
    shown = shell("best", "lab.db")
    for words in ("measured 2 times", "recommended", "expected there, second opinion", "expected there, model", "90 %"):
        assert words in shown
