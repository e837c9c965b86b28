"""The attacks of the table that no other test carries out, and that the tests it names are there."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.live.server.attacks import ROWS, files_of
from tests.live.server.serving import ROOT

ATTACKS = [one.doing for one in ROWS if not isinstance(one.doing, tuple)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where sockets can be: pytest's own folders have names too long for one."""
    with TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.long
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_the_promise_is_kept(attack: Callable[[Path], str], folder: Path) -> None:
    """What happened is asserted in the attack; here it only has to say so."""
    assert attack(folder)


@pytest.mark.parametrize("name", sorted(set(files_of(ROWS))))
def test_the_tests_of_the_table_are_there(name: str) -> None:
    file, *parts = name.split("::")
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    for part in parts:
        (found,) = [one for one in body if isinstance(one, ast.ClassDef | ast.FunctionDef) and one.name == part]
        body = found.body
    assert body
