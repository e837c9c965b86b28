"""The fault campaign in its short form: every kind of fault, and nothing is lost, leaked or waited for in vain."""

from __future__ import annotations

import pytest

from tests.live.server.faults import OFTEN, Plan, run
from tests.naive.profiles import LONG


@pytest.mark.long
@pytest.mark.parametrize(
    "plan",
    [
        Plan(seed=3, faults=140 if LONG else 35),
        Plan(seed=4, faults=80 if LONG else 20, policy="fifo", tcp=True),
    ],
    ids=["unix", "tcp"],
)
def test_faults_harm_nobody(plan: Plan) -> None:
    """All checks are the campaign's own; what is left to see is that it did what it says."""
    outcome = run(plan)
    assert sum(outcome.faults.values()) >= plan.faults
    assert set(outcome.faults) == set(OFTEN)
    assert all(outcome.faults.values()), outcome.table()
    assert outcome.restarts_compared == outcome.faults["coordinators killed"]
    assert outcome.operations > plan.applications
    assert outcome.samples > 100
    assert 0.5 < outcome.most_granted <= 1.0 + 1e-9
