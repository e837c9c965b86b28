"""The coordinator's core: in virtual time it is the engine, and whatever happens, what is granted never passes B."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given

from penstock.coordinator.core import Core
from penstock.engine import dedicated, simulate
from penstock.policies import REGISTRY, find
from penstock.policies.policy import Policy
from tests.coordinator.virtual import VirtualTime
from tests.naive.compare import close
from tests.naive.engine import NaiveRun
from tests.naive.profiles import examples
from tests.naive.strategies import suited, workloads


@pytest.mark.parametrize("name", REGISTRY)
@examples(60)
@given(workloads())
def test_in_virtual_time_it_is_the_engine(name, workload):
    begun = suited(name, workload)
    twin = NaiveRun(begun, name, delta=dedicated(begun).default_delta if REGISTRY[name].periodic else 0.0).run()
    assume(not (twin.doubtful or twin.edge))
    result = simulate(begun, name)
    virtual = VirtualTime(begun, name)
    virtual.run()
    assert virtual.most <= begun.platform.bandwidth * (1.0 + 1e-12)
    for mine, client in zip(result.applications, virtual.clients, strict=True):
        assert (math.nan if mine.end is None else mine.end) == pytest.approx(client.end, rel=1e-9, abs=1e-9, nan_ok=True)
        if mine.end is None and client.known is not None:
            virtual.core.decide(result.end)
            assert virtual.core.progress(client.known) == close(mine.progress)
            assert client.known.operations == mine.operations


def test_the_first_application_does_not_wait_for_the_policy_to_be_loaded(monkeypatch):
    fresh = [replace(find(name), _compiled={}) for name in ("set-10", "greedy-yield")]
    core = Core(fresh[0], 1.0)
    core.set_policy(0.0, fresh[1])
    monkeypatch.setattr(Policy, "_compile", lambda self: pytest.fail(f"{self.name} is loaded when it is asked"))
    core.inform(1.0, core.register(0.0, "first"), 1, 10.0)
    (grant,) = core.decide(1.0)
    assert grant.rate == 1.0
