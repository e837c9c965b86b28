"""A scripted coordinator for each test, and an environment that says nothing."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.live.client.scripted import Scripted


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SOCKET", "TOKEN_FILE", "PATIENCE", "DISABLE"):
        monkeypatch.delenv(f"PENSTOCK_{name}", raising=False)


@pytest.fixture
def place() -> Iterator[Path]:
    """Where a socket can be: pytest's own folders have names too long for one."""
    with TemporaryDirectory() as folder:
        yield Path(folder, "socket")


@pytest.fixture
def server(place: Path) -> Iterator[Scripted]:
    with Scripted(place) as scripted:
        yield scripted
