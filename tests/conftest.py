"""Settings of all tests."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.slurm import Slurm, missing, running

# Machines differ in speed, so no example has a deadline. The examples are the same in every run, so that a change is judged
# by what it changes; PENSTOCK_HUNT=1 draws new ones.
settings.register_profile("penstock", deadline=None, derandomize="PENSTOCK_HUNT" not in os.environ)
settings.load_profile("penstock")


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    """A private Slurm of two nodes; where that cannot be, the test is skipped, or fails if PENSTOCK_REQUIRE_ALL is set."""
    reason = missing()
    if reason is not None:
        if "PENSTOCK_REQUIRE_ALL" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)
    with running(nodes=2) as started:
        yield started
