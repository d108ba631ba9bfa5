"""Conditions and rules through every door: `minimize`, workers, scikit-learn, `space.toml` and the shell."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import optuna
import pytest

import uhebo
from tests.shell import Shell
from uhebo import Float, When
from uhebo.errors import InvalidInputError

SPACE: dict[str, Any] = {
    "model": ["svm", "forest"],
    "C": When("model == 'svm'", Float(1e-2, 1e2, log=True)),
    "depth": When("model == 'forest'", (1, 9)),
}


def loss(model: str, C: float = 1.0, depth: int | None = None) -> float:
    assert (depth is None) == (model == "svm")
    return abs(C - 2.0) + 0.1 if depth is None else 0.2 * abs(depth - 7)


def demanding(model: str, C: float, depth: int = 1) -> float:
    return loss(model, C, depth)


def test_minimize_calls_the_function_with_what_is_there() -> None:
    result = uhebo.minimize(loss, SPACE, 16, seed=0, n_startup_trials=6)
    assert result.best_params == {"model": "forest", "depth": 7}
    assert {frozenset(trial.params) for trial in result.study.trials} == {
        frozenset(("model", "C")),
        frozenset(("model", "depth")),
    }
    assert result.belief.predict({"model": "forest", "depth": 7})[0] == pytest.approx(0.0, abs=0.3)
    assert result.diagnose().conditional == {"C": "model == 'svm'", "depth": "model == 'forest'"}


def test_minimize_keeps_to_rules_from_the_first_trial() -> None:
    space = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    result = uhebo.minimize(lambda a, b: -a - 2 * b, space, 8, seed=0, subject_to=["a + b <= 0.1"], n_startup_trials=4)
    assert all(sum(trial.params.values()) <= 0.1 for trial in result.study.trials)
    assert result.best_value == pytest.approx(-0.2, abs=1e-3)


@pytest.mark.parametrize(
    ("fn", "options", "message"),
    [
        (demanding, {}, "fn needs 'C', which not every point has; give it a default"),
        (loss, {"subject_to": "c < 1"}, "no parameter 'c'; the parameters are model, C, depth"),
        (loss, {"subject_to": "C < -1 and depth < 0"}, "no point of the space keeps to"),
        (
            loss,
            {"initial": [{"model": "svm", "depth": 3}]},
            "point 0 of initial has a parameter 'depth'; expected model, C",
        ),
        (loss, {"initial": [{"model": "svm"}]}, "point 0 of initial lacks 'C'"),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_call(fn: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        uhebo.minimize(fn, SPACE, 4, **options)


def test_a_condition_that_reads_no_parameter_of_the_space() -> None:
    with pytest.raises(InvalidInputError, match="no parameter 'modell'"):
        uhebo.minimize(loss, {**SPACE, "C": When("modell == 'svm'", (0.0, 1.0))}, 4)


def test_initial_points_have_what_is_active() -> None:
    result = uhebo.minimize(
        loss, SPACE, 3, seed=0, initial=[{"model": "svm", "C": 2.0}, {"model": "forest", "depth": 7}]
    )
    assert [trial.params for trial in result.study.trials[:2]] == [
        {"model": "svm", "C": 2.0},
        {"model": "forest", "depth": 7},
    ]


def test_workers_share_a_branching_study(tmp_path: Path) -> None:
    for _ in range(2):
        uhebo.work(loss, SPACE, 6, storage=str(tmp_path / "x.db"), study_name="x", seed=0, subject_to="C < 50")
    study = optuna.load_study(storage=f"sqlite:///{tmp_path / 'x.db'}", study_name="x")
    assert len(study.trials) == 6
    assert all(trial.params.get("C", 0.0) < 50 for trial in study.trials)


def test_scikit_learn_searches_branches() -> None:
    pytest.importorskip("sklearn")
    from sklearn.datasets import make_classification
    from sklearn.svm import SVC

    X, y = make_classification(40, 4, random_state=0)
    space = {"kernel": ["linear", "rbf"], "gamma": When("kernel == 'rbf'", Float(1e-3, 10.0, log=True))}
    search = uhebo.UHESearchCV(SVC(), space, n_iter=5, cv=2, random_state=0).fit(X, y)
    assert all(("gamma" in params) == (params["kernel"] == "rbf") for params in search.cv_results_["params"])


# The shell

TOML = """
direction = "maximize"
seed = 1
n_startup_trials = 4
subject_to = ["`flow rate` + share <= 1", "temperature < 90 or solvent != 'THF'"]
[parameters]
"flow rate" = [0.0, 1.0]
share = [0.0, 1.0]
temperature = [20, 120]
solvent = ["THF", "water"]
salt = {type = "float", low = 0.0, high = 2.0, when = "solvent == 'water'"}
"""


def allowed(row: dict[str, Any]) -> bool:
    cool = float(row["temperature"]) < 90 or row["solvent"] != "THF"
    return float(row["flow rate"]) + float(row["share"]) <= 1 and cool


def test_a_space_file_with_rules_and_branches(shell: Shell) -> None:
    shell("create", "lab.db", "--space", shell.write("space.toml", TOML))
    shown = shell("status", "lab.db")
    assert "where solvent == 'water'" in shown
    rows = list(csv.DictReader(shell("suggest", "lab.db", "-n", "6", "--csv").splitlines()))
    assert all(map(allowed, rows))
    assert all((row["salt"] == "") == (row["solvent"] == "THF") for row in rows)
    for row in rows:
        row["value"] = row["flow rate"]
    text = "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)])
    told = json.loads(shell("tell", "lab.db", "--csv", shell.write("done.csv", text), "--json"))
    assert told["told"] == 6
    later = json.loads(shell("suggest", "lab.db", "-n", "2", "--json"))
    assert all(allowed(suggestion["params"]) for suggestion in later)
    history = shell("history", "lab.db", "--csv")
    shell("create", "other.db", "--space", "space.toml")
    assert json.loads(shell("tell", "other.db", "--csv", shell.write("h.csv", history), "--json"))["added"] == 6


def test_rules_and_the_end_as_options(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    space = ("--param", "a=0:4", "--param", "b=0:4")
    assert "'c'" in shell.refuses("create", "no.db", *space, "--subject-to", "a + c <= 1")
    assert "call" in shell.refuses("create", "no.db", *space, "--subject-to", "max(a, b) <= 1")
    assert "unknown when_exhausted 'end'" in shell.refuses("create", "no.db", *space, "--when-exhausted", "end")
    assert not (shell.folder / "no.db").exists()
    file = shell.write("rules.toml", 'subject_to = ["a >= 1"]\n[parameters]\na = [0, 4]\nb = [0, 4]\n')
    shell.write("summed.py", "def total(a, b): return a + b")
    monkeypatch.syspath_prepend(str(shell.folder))
    options = ("--subject-to", "a + b <= 2", "--storage", "sums.db", "--deterministic", "--seed", "1")
    for more in ((), ("--when-exhausted", "repeat")):
        shell("optimize", "summed:total", "--space", file, *options, "--study", f"s{len(more)}", "--trials", "5", *more)
    points = {tuple(row["params"].values()) for row in shell.json("history", "sums.db", "--study", "s0")}
    assert points - {()} == {(1, 0), (1, 1), (2, 0)}  # and the one that found nothing left
    assert len(shell.json("history", "sums.db", "--study", "s2")) == 5


OWN = "flow rate,share,temperature,solvent,salt,value\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0.1,0.2,50,THF,1.0,3", "salt is 1.0, and is there only where solvent == 'water'; empty the cell"),
        ("0.1,0.2,50,water,,3", "salt is empty, expected a number from 0.0 to 2.0"),
    ],
)
def test_cells_of_parameters_that_are_not_there(shell: Shell, row: str, message: str) -> None:
    shell("create", "lab.db", "--space", shell.write("space.toml", TOML))
    assert message in shell.refuses("tell", "lab.db", "--csv", shell.write("own.csv", OWN + row))


def test_experiments_outside_the_rules_are_data(shell: Shell) -> None:
    shell("create", "lab.db", "--space", shell.write("space.toml", TOML))
    shell("tell", "lab.db", "--csv", shell.write("own.csv", OWN + "0.9,0.9,50,THF,,3\n0.2,0.2,50,water,1,3"))
    assert allowed(json.loads(shell("suggest", "lab.db", "--json"))[0]["params"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("solvent != 'THF'", "solvent != 'THFF'", "'solvent' is one of 'THF', 'water'"),
        ("share <= 1", "shares <= 1", "no parameter 'shares'"),
        ("share <= 1", "share == 1", "measure zero"),
        ("\"solvent == 'water'\"", "3", "when is 3, expected a text"),
        ("solvent == 'water'", "solvnt == 'water'", "no parameter 'solvnt'"),
        ("subject_to = [", "subject_to = [3, ", "expected a list such as"),
        ("share <= 1", "max(share, 0) <= 1", "a call is not part of a rule"),
    ],
)
def test_a_space_file_with_a_mistake(shell: Shell, old: str, new: str, message: str) -> None:
    assert old in TOML
    said = shell.refuses("create", "lab.db", "--space", shell.write("space.toml", TOML.replace(old, new)))
    assert message in said
    assert not (shell.folder / "lab.db").exists() or "no study" in shell.refuses("status", "lab.db")


def test_a_branching_study_of_optunas_is_continued_in_the_shell(shell: Shell) -> None:
    def objective(trial: optuna.Trial) -> float:
        model = trial.suggest_categorical("model", ["svm", "forest"])
        return trial.suggest_float("C", 0, 1) if model == "svm" else trial.suggest_int("depth", 1, 9)

    study = optuna.create_study(
        storage=f"sqlite:///{shell.folder / 'x.db'}", sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.optimize(objective, n_trials=8)
    for suggestion in json.loads(shell("suggest", "x.db", "-n", "3", "--json")):
        assert set(suggestion["params"]) in ({"model", "C"}, {"model", "depth"})
