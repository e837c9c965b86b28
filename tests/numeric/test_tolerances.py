"""Tolerances stand in one table, each with its reason, and modules take them from there."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock
from penstock.numeric import tolerances

ROOT = Path(penstock.__file__).parent
TABLE = ROOT / "numeric" / "tolerances.py"
LARGEST = 1e-5
"""A float literal up to here is taken for a tolerance."""
NO_TOLERANCES = {
    ("model/parse_units.py", 1e-9),  # nanoseconds
    ("model/parse_units.py", 1e-6),  # microseconds
    ("model/scales.py", 1e-6),  # a duration that no operation has
    ("report/format_units.py", 1e-6),  # microseconds
    ("native/records.py", 1e-6),  # the grain of the dates that are recorded
    ("papers/dash/claims.py", 1e-6),  # ε of an instance
    ("papers/revisiting/experiments.py", 1e-6),  # ε of an instance
}


def small_literals(source: str) -> Iterator[tuple[int, float]]:
    """Line and value of every float literal above 0 and up to LARGEST."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and 0.0 < node.value <= LARGEST:
            yield node.lineno, node.value


def test_the_scan_finds_a_literal() -> None:
    assert list(small_literals("x = 1.0\ny = x + 3e-9")) == [(2, 3e-9)]


def test_no_tolerance_stands_outside_the_table() -> None:
    found, allowed = [], set()
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for line, value in small_literals(path.read_text(encoding="utf-8")):
            if (name, value) in NO_TOLERANCES:
                allowed.add((name, value))
            elif path != TABLE:
                found.append(f"{name}:{line}: {value:g}")
    assert not found, "move these to numeric/tolerances.py: " + ", ".join(found)
    assert allowed == NO_TOLERANCES


def test_every_tolerance_is_explained_and_used() -> None:
    body = ast.parse(TABLE.read_text(encoding="utf-8")).body[1:]
    names = set()
    for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.AnnAssign):
            assert isinstance(node.target, ast.Name)
            names.add(node.target.id)
            reason = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            assert ": " in str(reason), f"{node.target.id}: expected its unit, a colon and the reason"
    used: set[str] = set()
    for path in ROOT.rglob("*.py"):
        for statement in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(statement, ast.ImportFrom) and statement.module == tolerances.__name__:
                used.update(alias.name for alias in statement.names)
    assert used == names


@pytest.mark.parametrize("heavy", ["numpy", "numba"])
def test_the_table_imports_neither_numpy_nor_numba(heavy: str) -> None:
    code = f"import sys, penstock.numeric.tolerances; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
