"""MPI jobs and a coordinator of their own; where there is no MPI the tests are skipped, or fail if all must run."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.live.mpi.running import MpiJob, missing
from tests.live.server.process import Coordinator


@pytest.fixture(autouse=True, scope="session")
def _mpi() -> None:
    reason = missing()
    if reason is not None:
        if "PENSTOCK_REQUIRE_ALL" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture
def mpi(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., MpiJob]]:
    """Starts MPI jobs, and ends those that still run."""
    for name in ("SOCKET", "TOKEN_FILE", "PATIENCE", "DISABLE"):
        monkeypatch.delenv(f"PENSTOCK_{name}", raising=False)
    started: list[MpiJob] = []

    def start(*arguments: object, **environment: str) -> MpiJob:
        started.append(MpiJob(*arguments, **environment))
        return started[-1]

    yield start
    for job in started:
        job.close()


@pytest.fixture
def coordinator() -> Iterator[Callable[..., Coordinator]]:
    """Starts a coordinator of 8 MB/s; pytest's own folders have names too long for its socket."""
    started: list[Coordinator] = []
    with TemporaryDirectory() as folder:

        def start(*options: str) -> Coordinator:
            started.append(Coordinator(Path(folder), "--bandwidth", "8 MB/s", *options))
            return started[-1]

        yield start
        for one in started:
            one.kill()
