"""Test beds: the real thing, as root."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.testbed import bed as beds
from penstock.testbed import system


def lacking() -> str | None:
    """What a test bed would need of the machine that no package brings, and is not there."""
    missing = []
    if os.geteuid() != 0:
        missing.append("root")
    if not system.LOOP_CONTROL.exists():
        missing.append("loop devices")
    if system.blkio_root() is None:
        missing.append("the blkio controller of cgroup v1")
    return f"a test bed needs {', '.join(missing)}" if missing else None


@pytest.fixture(scope="session")
def machine() -> None:
    """A machine that can have test beds; elsewhere tests are skipped, or fail if only programs are missing and
    PENSTOCK_REQUIRE_ALL is set: a kernel cannot be installed.
    """
    reason = lacking()
    if reason is not None:
        pytest.skip(reason)
    programs = [program for program in beds.PROGRAMS if shutil.which(program) is None]
    if programs and "PENSTOCK_REQUIRE_ALL" in os.environ:
        pytest.fail(f"a test bed needs {', '.join(programs)}")
    if programs:
        pytest.skip(f"a test bed needs {', '.join(programs)}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the test beds of this test are kept; there are none yet."""
    place = tmp_path / "beds"
    monkeypatch.setenv(system.VARIABLE, str(place))
    return place


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the name of the next test bed ends with; no other test has it."""
    text = f"test-{os.getpid()}-{tmp_path.name}"
    monkeypatch.setattr(beds.secrets, "token_hex", lambda _: text)
    return text


@pytest.fixture(scope="module")
def bed(machine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[beds.Bed]:
    """A test bed of 40 MiB/s."""
    place = tmp_path_factory.mktemp("bed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(system.VARIABLE, str(place / "beds"))
        yield beds.up(place / "store", "40 MiB/s", "160 MiB")
        assert beds.down(place / "store")
    assert not list(place.iterdir())
