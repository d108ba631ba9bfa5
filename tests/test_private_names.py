"""Rules of this repository that no linter has.

Private names of Optuna's are in the adapter alone, each with a comment that says why there is no public one. What tests
share is in helper modules.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ADAPTER = ROOT / "src" / "uhebo" / "optuna_"
SOURCES = sorted(path for folder in ("src", "experiments/src") for path in (ROOT / folder).rglob("*.py"))
NOT_OPTUNAS = {"_exit", "_parameter_constraints", "_checked_cv_orig"}
"""Of the standard library and of scikit-learn, which document them."""
TABLES = ("trials", "trial_params", "trial_values", "trial_system_attributes", "studies", "study_user_attributes")


def private_uses(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of every private name that this file has not defined itself."""
    nodes = list(ast.walk(ast.parse(source)))
    own = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in NOT_OPTUNAS | own:
            owner = node.value
            if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")) and not is_super(owner):
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "optuna":
            parts = [*(node.module or "").split("."), *(name.name for name in node.names)]
            if any(map(is_private, parts)):
                yield node.lineno, ".".join(parts)
        elif isinstance(node, ast.Import):
            found = [
                n.name for n in node.names if n.name.startswith("optuna.") and any(map(is_private, n.name.split(".")))
            ]
            yield from ((node.lineno, name) for name in found)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr"):
            name = node.args[1]
            if isinstance(name, ast.Constant) and is_private(str(name.value)):
                yield node.lineno, str(name.value)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and not name.endswith("_")  # enums have `_value_`


def is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def test_private_names_stand_in_the_adapter_and_are_explained() -> None:
    elsewhere, unexplained = [], []
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        for line, name in private_uses(source):
            use = f"{path.relative_to(ROOT)}:{line} {name}"
            elsewhere += [use] * (path.parent != ADAPTER)
            unexplained += [use] * (not lines[line - 2].lstrip().startswith("#"))
    assert not elsewhere, "let a function of uhebo.optuna_ do it"
    assert not unexplained, "say in a comment above why there is no public name"


def test_nobody_runs_sql_on_the_tables_of_optunas_or_hooks_into_its_sessions() -> None:
    """FIELD D12: a change of Optuna's schema would have broken the workers unseen."""
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"_rdb|scoped_session|before_flush|before_commit|sqlalchemy\.orm", source), path
        for node in ast.walk(ast.parse(source)):
            text = node.value.lower() if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            assert not re.search(
                rf"\b(select\b.*from|insert into|update|join|table|delete from)\s+({'|'.join(TABLES)})\b", text
            ), (path, text)


def test_the_rule_finds_what_it_is_for() -> None:
    source = """
from optuna.storages._rdb.models import TrialModel
import optuna._gp
study._storage
trial._suggest("x", d)
getattr(storage, "_backend")
self._mine, os._exit, x.__class__
"""
    assert [line for line, _ in sorted(private_uses(source))] == [2, 3, 4, 5, 6]


def imported(path: Path) -> set[str]:
    """Names that a file imports, wherever in it, with their modules."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_what_tests_share_is_in_helper_modules() -> None:
    """A test module that imports from another one breaks when that one is moved, and runs its fixtures twice."""
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert len(files) > 40
    found = {path.name: [name for name in imported(path) if name.startswith("tests.test_")] for path in files}
    assert not {name: modules for name, modules in found.items() if modules}
