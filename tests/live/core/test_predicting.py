"""What is learned of a running application, and the phase that is expected next."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli import why
from penstock.live.core import predicting
from penstock.live.core.clients import Client
from penstock.live.core.core import Core
from penstock.live.core.events import InformEvent, LeaveEvent, RegisterEvent, ReleaseEvent
from penstock.live.core.explaining import explain
from penstock.live.core.predicting import MOST_SEARCHES, PHASES_KEPT, Known, Prediction
from penstock.live.server.snapshot import Traffic, take_snapshot
from penstock.model import InputError
from tests.naive.profiles import examples

TRAFFIC = Traffic({}, (), 0, 0, 0, 0, None)


def operate(core: Core, client: Client, post: float, end: float, volume: float) -> None:
    """One operation of an application that has the link to itself."""
    core.handle(post, InformEvent(client, client.last_operation + 1, volume))
    core.handle(end, ReleaseEvent(client, client.last_operation))


def periodic(count: int, work: float = 9.0, volume: float = 10.0) -> tuple[Core, Client]:
    """An application on a link of 10 bytes/s that works, writes and begins anew."""
    core = Core("set-10", 10.0, lease=math.inf)
    client = core.enter(0.0, RegisterEvent("a"))
    period = work + volume / 10.0
    for number in range(count):
        operate(core, client, number * period + work, (number + 1) * period, volume)
    return core, client


def test_nothing_is_known_before_an_operation_has_ended() -> None:
    core, client = periodic(0)
    assert explain(core, client)["prediction"] == Prediction(None, None, None, 0.0, 0)._asdict()
    assert list(why._expected(explain(core, client)["prediction"])) == []


def test_after_one_operation_means_stand_in_for_a_period() -> None:
    core, client = periodic(1)
    assert explain(core, client)["prediction"] == Prediction(10.0, 9.0, 10.0, 0.0, 1)._asdict()
    assert core.registry.predictor.predict(client, 14.0).due == 5.0
    assert core.registry.predictor.predict(client, 24.0).due == 0.0
    assert list(why._expected(explain(core, client)["prediction"])) == [
        "expected next: 10 B in 9 s, after 1 operations",
        "no period found; the mean iteration takes 10 s",
    ]


def test_a_period_is_found_with_a_confidence() -> None:
    core, client = periodic(16)
    found = core.registry.predictor.predict(client, 160.0)
    assert found.period == pytest.approx(10.0, rel=0.02)
    assert found.confidence > 0.7
    assert (found.volume, found.due, found.operations) == (10.0, 9.0, 16)


def test_operations_close_together_are_one_phase() -> None:
    """Three operations of 10 bytes at 0, 1.5 and 3 s of every 40 s: a phase of 30 bytes, 40 s after the last one began."""
    core = Core("set-10", 10.0, lease=math.inf)
    client = core.enter(0.0, RegisterEvent("a"))
    for cycle in range(12):
        for part in range(3):
            begin = 40.0 * cycle + 1.5 * part + 5.0
            operate(core, client, begin, begin + 1.0, 10.0)
    now = 40.0 * 11 + 20.0
    found = core.registry.predictor.predict(client, now)
    assert found.period == pytest.approx(40.0, rel=0.02)
    assert found.volume == 30.0
    assert found.due == pytest.approx(40.0 * 12 + 5.0 - now, abs=0.8)


def test_an_operation_under_way_is_the_phase() -> None:
    core, client = periodic(2)
    core.handle(29.0, InformEvent(client, 3, 10.0))
    assert explain(core, client)["prediction"]["due"] == 0.0


def test_a_period_is_looked_for_once_and_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(predicting, "dominant_period", lambda *_: calls.append(1))
    core, client = periodic(20)
    assert calls == []
    for _ in range(3):
        explain(core, client)
    assert len(calls) == 1
    operate(core, client, 209.0, 210.0, 10.0)
    explain(core, client)
    assert len(calls) == 2


def test_a_snapshot_looks_for_few_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(predicting, "dominant_period", lambda *_: calls.append(1))
    core = Core("set-10", 10.0, lease=math.inf)
    clients = [core.enter(0.0, RegisterEvent(f"a{index}")) for index in range(20)]
    for index, client in enumerate(clients):
        operate(core, client, 2.0 * index + 1.0, 2.0 * index + 2.0, 10.0)
    for expected in (MOST_SEARCHES, 2 * MOST_SEARCHES, 20, 20):
        shown = take_snapshot(core, TRAFFIC).as_dict()["applications"]
        assert len(calls) == expected
        assert all(one["prediction"]["volume"] == 10.0 for one in shown)


def test_memory_is_bounded_and_given_back() -> None:
    core, client = periodic(PHASES_KEPT + 30)
    predictor = core.registry.predictor
    assert len(predictor._phases[client.number]) == 3 * PHASES_KEPT
    explain(core, client)
    core.handle(1e5, LeaveEvent(client))
    assert (predictor._phases, predictor._found) == ({}, {})


def test_what_is_learned_survives_in_the_journal() -> None:
    _, client = periodic(3)
    assert client.known == Known(3, 10.0, 3, 9.0, 1.0)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(client), type=Client)
    assert again.known == client.known
    older = msgspec.to_builtins(client)[:-1]  # as written before anything was learned
    assert msgspec.convert(older, Client).known == Known()


@examples(20)
@given(st.integers(2, 12), st.floats(0.5, 50.0), st.floats(1.0, 80.0))
def test_set_10_is_shown_the_mean_iteration(count: int, work: float, volume: float) -> None:
    core, client = periodic(count, work, volume)
    core.handle(core.now + work, InformEvent(client, count + 1, volume))
    assert core.view().mean_iteration[0] == pytest.approx(work + volume / 10.0)


def johnson(first: str, *, predicted: bool = False, volume: float = 10.0) -> dict[str, float]:
    """Three that post at once while none moves: a short and b long in work, c of which nothing is known; what each gets."""
    core = Core("johnson", 10.0, lease=math.inf, predicted=predicted)
    names = ("a", "b", "c")
    clients = {name: core.enter(0.0, RegisterEvent(name)) for name in names}
    operate(core, clients["a"], 0.5, 1.5, 10.0)  # a ≤ b: first group
    operate(core, clients["b"], 8.0, 9.0, 10.0)  # a > b: last group
    order = [first, *(name for name in names if name != first)]
    told = core.handle(20.0, *(InformEvent(clients[name], clients[name].last_operation + 1, volume) for name in order))
    return {grant.client.job: grant.rate for grant in told.grants if grant.rate > 0.0}


@pytest.mark.parametrize("first", ["a", "b", "c"])
def test_johnson_runs_without_a_workload_by_what_is_learned(first: str) -> None:
    assert johnson(first) == {"a": 10.0}


def test_a_static_order_still_needs_the_workload() -> None:
    with pytest.raises(InputError, match="expected a workload file, --workload FILE"):
        Core("periodic-fifo", 10.0, lease=math.inf)
    with pytest.raises(InputError, match="on predicted information it has none"):
        Core("periodic-fifo", 10.0, lease=math.inf, predicted=True)


def shown(core: Core, name: str) -> list[float]:
    return [float(value) for value in getattr(core.view(), name)]


def test_what_is_announced_goes_before_what_is_learned() -> None:
    """a has moved 10 bytes each time and announces 1; b 10 and announces 5."""
    granted = {}
    for predicted in (False, True):
        core = Core("greedy-com", 10.0, lease=math.inf, predicted=predicted)
        a, b = (core.enter(0.0, RegisterEvent(name)) for name in "ab")
        operate(core, a, 1.0, 3.0, 20.0)
        operate(core, b, 3.0, 4.0, 10.0)
        told = core.handle(9.0, InformEvent(a, 2, 1.0), InformEvent(b, 2, 5.0))
        granted[predicted] = [grant.client.job for grant in told.grants if grant.rate > 0.0]
        assert shown(core, "volume") == [1.0, 5.0]  # what moves is what was announced
    assert granted == {False: ["a"], True: ["b"]}


def test_who_does_not_tell_its_length_is_half_done() -> None:
    core = Core("shortest-remaining", 10.0, lease=math.inf)
    a = core.enter(0.0, RegisterEvent("a"))
    b = core.enter(0.0, RegisterEvent("b", dedicated_seconds=100.0))
    core.handle(10.0, InformEvent(a, 1, 10.0), InformEvent(b, 1, 10.0))
    assert shown(core, "whole") == [20.0, 100.0]
