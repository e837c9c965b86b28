"""A folder for sockets, a real coordinator, and the C driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.live.server.process import Coordinator
from tests.native.building import built
from tests.native.driving import Driver, driver


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where sockets can be: pytest's own folders have names too long for one."""
    with TemporaryDirectory() as made:
        yield Path(made)


Serve = Callable[..., Coordinator]
Start = Callable[..., Driver]


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
    """Starts `penstock serve` with the socket in the folder."""
    started: list[Coordinator] = []

    def start(*options: str) -> Coordinator:
        # A turn that nobody uses ends after a lease, which here is longer than any test takes.
        steady = ["--bandwidth", "1 GB/s", "--policy", "fcfs", "--lease", "1 h"]
        started.append(Coordinator(folder, *steady, *options))
        return started[-1]

    yield start
    for coordinator in started:
        coordinator.kill()


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Starts the driver with its file `name` in the folder; it finds the coordinator of the folder."""
    with ExitStack() as stack:

        def begin(name: str = "file", kind: str = "", program: str = "driver", **environment: str) -> Driver:
            told = {"PENSTOCK_SOCKET": str(folder / "socket")} | environment
            return stack.enter_context(driver(built(kind) / program, folder / name, **told))

        yield begin
