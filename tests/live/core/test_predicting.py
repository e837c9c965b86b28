"""What is learned of a running application, and the phase that is expected next."""

from __future__ import annotations

import math
import warnings
from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli import why
from penstock.engine.chain import KEPT
from penstock.live.core import predicting
from penstock.live.core.clients import Client
from penstock.live.core.core import Core
from penstock.live.core.events import InformEvent, LeaveEvent, RegisterEvent, ReleaseEvent
from penstock.live.core.explaining import explain
from penstock.live.core.predicting import MOST_SEARCHES, Known, Prediction
from penstock.live.server.snapshot import Traffic, take_snapshot
from penstock.model import InputError
from penstock.numeric.arrays import Floats
from penstock.numeric.periodicity import dominant_period
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
    assert explain(core, client)["prediction"] == Prediction()._asdict()
    assert list(why._expected(explain(core, client)["prediction"])) == []


def test_after_one_operation_means_stand_in_for_a_period() -> None:
    core, client = periodic(1)
    assert explain(core, client)["prediction"] == Prediction(10.0, 9.0, 10.0, 0.0, 1)._asdict()
    assert core.registry.predictor.predict(client, 14.0).due == 5.0
    assert core.registry.predictor.predict(client, 24.0).due == 0.0
    assert list(why._expected(explain(core, client)["prediction"])) == [
        "expected next: 10 B in 9 s, after 1 operation",
        "no period found; the mean iteration takes 10 s",
    ]


def test_a_period_is_found_with_a_confidence() -> None:
    core, client = periodic(16)
    found = core.registry.predictor.predict(client, 160.0)
    assert found.period == pytest.approx(10.0, rel=0.02)
    assert found.confidence > 0.7
    assert (found.volume, found.due, found.operations) == (10.0, 9.0, 16)


NOISE, CYCLE, SEEDS = 0.2, 100.0, 20


def noisy(kind: str, count: int, seed: int) -> tuple[Floats, Floats]:
    """Dates and volumes of a phase every 100 s that takes 20 s; what is noisy varies by 20 %."""
    random = np.random.default_rng(seed)
    starts, volumes = 10.0 + CYCLE * np.arange(count), np.full(count, 200.0)
    if kind != "starts":
        volumes *= np.maximum(1.0 + NOISE * random.standard_normal(count), 0.1)
    if kind != "volumes":
        starts += 20.0 * NOISE * random.uniform(-1.0, 1.0, count)
    return starts, volumes


def run(starts: Floats, volumes: Floats) -> tuple[Core, Client]:
    """An application that posts `volumes` at the dates `starts`, or when it can, alone on a link of 10 bytes/s."""
    core = Core("set-10", 10.0, lease=math.inf)
    client = core.enter(0.0, RegisterEvent("a"))
    for start, volume in zip(starts.tolist(), volumes.tolist(), strict=True):
        begin = max(start, core.now)
        operate(core, client, begin, begin + volume / 10.0, volume)
    return core, client


def test_the_search_is_that_of_the_importers() -> None:
    """To the last bit, on the latest operations."""
    starts, volumes = noisy("both", 100, seed=1)
    core, client = run(starts, volumes)
    found = core.registry.predictor.predict(client, core.now)
    offline = dominant_period(starts[-KEPT:], volumes[-KEPT:], starts[-KEPT:] + volumes[-KEPT:] / 10.0)
    assert offline is not None
    assert (found.period, found.confidence) == (offline.seconds, offline.confidence)


@pytest.mark.parametrize("kind", ["volumes", "starts", "both"])
@pytest.mark.parametrize("count", [12, 24, 100])
def test_noise_of_a_fifth_moves_the_period_by_two_percent_at_most(kind: str, count: int) -> None:
    for seed in range(SEEDS):
        core, client = run(*noisy(kind, count, seed))
        found = core.registry.predictor.predict(client, core.now)
        assert found.confidence > 0.25
        assert found.period == pytest.approx(CYCLE, rel=0.02)
        assert found.volume == pytest.approx(200.0, rel=0.25)  # the mean of 12: four standard deviations


def test_no_period_is_claimed_for_random_operations() -> None:
    """Exponential pauses and volumes. The mean iteration stands in for the period, and says so."""
    for seed in range(100):
        random, count = np.random.default_rng(seed), (10, 24, 48, 80)[seed % 4]
        core, client = run(np.cumsum(random.exponential(80.0, count)), random.exponential(200.0, count))
        found = core.registry.predictor.predict(client, core.now)
        assert found.confidence == 0.0
        assert found.period == pytest.approx(client.known.work + client.known.alone)


@examples(60)
@given(
    rows=st.lists(st.tuples(st.floats(0.0, 1e12), st.floats(0.0, 1e12), st.floats(1e-9, 1e308)), min_size=1, max_size=60),
)
def test_any_operations_make_a_prediction(rows: list[tuple[float, float, float]]) -> None:
    """Whatever clients say: a volume, and where there is a date or a period, one that is not negative."""
    core, client = periodic(1)
    predictor, now = core.registry.predictor, core.now
    for number, (pause, took, volume) in enumerate(rows):
        predictor.ended(client, now + pause, now + pause + took, volume)
        now += pause + took
        client.operations = number + 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = predictor.predict(client, now)
    volume, due, period, confidence, _ = (math.nan if value is None else value for value in found)
    assert volume > 0.0
    assert due >= 0.0
    assert 0.0 < period < math.inf
    assert 0.0 <= confidence <= 1.0


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


def in_threes(count: int, *, predicted: bool) -> tuple[Core, Client]:
    """Three operations of 10 bytes, 3 s apart, every 36 s, and the first of the next three under way."""
    core = Core("set-10", 10.0, lease=math.inf, predicted=predicted)
    client = core.enter(0.0, RegisterEvent("a"))
    for begin in np.add.outer(36.0 * np.arange(count) + 29.0, [0.0, 3.0, 6.0]).ravel().tolist():
        operate(core, client, begin, begin + 1.0, 10.0)
    core.handle(36.0 * count + 29.0, InformEvent(client, client.last_operation + 1, 10.0))
    return core, client


@pytest.mark.parametrize(("predicted", "iteration"), [(False, 12.0), (True, 36.0)])
def test_set_10_is_shown_iterations_of_whole_phases_where_it_is_shown_predictions(predicted: bool, iteration: float) -> None:
    core, client = in_threes(9, predicted=predicted)
    assert (client.known.per_phase, client.known.searched) == ((3, 27) if predicted else (1, 0))
    assert shown(core, "mean_iteration") == [pytest.approx(iteration)]
    assert explain(core, client)["under_way"][0]["mean_iteration"] == pytest.approx(iteration)
    assert core.registry.predictor.predict(client, core.now).volume == 30.0


def test_phases_survive_in_the_journal_until_as_many_operations_have_ended_as_are_kept() -> None:
    """The latest operations are in no journal. After a restart the pattern is another one: each operation by itself."""
    core, client = in_threes(9, predicted=True)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(client), type=Client)
    assert (again.known.per_phase, again.known.searched) == (3, 27)
    core.registry.predictor.forget(client.number)
    core.handle(core.now + 1.0, ReleaseEvent(client, client.last_operation))
    for _ in range(KEPT - 1):
        assert client.known.per_phase == 3
        operate(core, client, core.now + 11.0, core.now + 12.0, 10.0)
    assert client.known.per_phase == 1


def test_an_operation_under_way_is_the_phase() -> None:
    core, client = periodic(2)
    core.handle(29.0, InformEvent(client, 3, 10.0))
    assert explain(core, client)["prediction"]["due"] == 0.0


def test_a_period_is_looked_for_once_and_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(predicting, "period_of_latest", lambda _: calls.append(1) or (None, 1))
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
    monkeypatch.setattr(predicting, "period_of_latest", lambda _: calls.append(1) or (None, 1))
    core = Core("set-10", 10.0, lease=math.inf)
    clients = [core.enter(0.0, RegisterEvent(f"a{index}")) for index in range(20)]
    for index, client in enumerate(clients):
        operate(core, client, 2.0 * index + 1.0, 2.0 * index + 2.0, 10.0)
    for expected in (MOST_SEARCHES, 2 * MOST_SEARCHES, 20, 20):
        shown = take_snapshot(core, TRAFFIC).as_dict()["applications"]
        assert len(calls) == expected
        assert all(one["prediction"]["volume"] == 10.0 for one in shown)


def test_those_who_go_on_do_not_keep_others_from_a_search() -> None:
    """Ten applications end an operation between any two snapshots: each is searched before any is searched twice."""
    core = Core("set-10", 10.0, lease=math.inf)
    clients = [core.enter(0.0, RegisterEvent(f"a{index}")) for index in range(2 * MOST_SEARCHES)]
    seen: list[int] = []
    for lap in range(4):
        for client in clients:
            now = core.now
            operate(core, client, now + 1.0, now + 2.0, 10.0)
        chosen = core.registry.predictor.to_search(clients)
        for number in chosen:
            core.registry.predictor.predict(core.registry.clients[number], core.now)
        seen += chosen
        assert max(Counter(seen).values()) == lap // 2 + 1


def test_memory_is_bounded_and_given_back() -> None:
    core, client = periodic(KEPT + 30)
    predictor = core.registry.predictor
    assert len(predictor._latest[client.number]) == 3 * KEPT
    explain(core, client)
    core.handle(1e5, LeaveEvent(client))
    assert (predictor._latest, predictor._searches) == ({}, {})


def test_what_is_learned_survives_in_the_journal() -> None:
    _, client = periodic(3)
    assert client.known == Known(3, 10.0, 3, 9.0, 1.0)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(client), type=Client)
    assert again.known == client.known
    older = msgspec.to_builtins(client)[: Client.__struct_fields__.index("known")]  # as written before anything was learned
    assert msgspec.convert(older, Client).known == Known()


def test_the_means_of_all_come_back_with_the_clients() -> None:
    """Two clients with 3 and 1 iterations of 1 s and 5 s alone: 2 s over all, before a restart and after it."""
    before = Core("greedy-com", 10.0, lease=math.inf, predicted=True)
    a, b = (before.enter(0.0, RegisterEvent(name)) for name in "ab")
    for lap in range(3):
        operate(before, a, 10.0 * lap + 1.0, 10.0 * lap + 2.0, 10.0)
    operate(before, b, 40.0, 45.0, 50.0)
    assert before.registry.predictor.together == Known(operations=4, alone=2.0)
    after = Core("greedy-com", 10.0, lease=math.inf, predicted=True, now=100.0)
    assert after.restore([a, b]) == []
    assert after.registry.predictor.together == Known(operations=4, alone=pytest.approx(2.0))
    assert after.registry.predictor.predict(a, 100.0) == Prediction(10.0, 0.0, 19.0 / 3.0 + 1.0, 0.0, 3)  # works 1, 9, 9 s
    new = after.enter(100.0, RegisterEvent("new"))
    after.handle(101.0, InformEvent(new, 1, 1.0))
    assert shown(after, "volume") == pytest.approx([20.0])  # 2 s at 10 bytes/s


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
    """a has moved 20 bytes and announces 1; b 10, and announces 5."""
    granted = {}
    for predicted in (False, True):
        core = Core("greedy-com", 10.0, lease=math.inf, predicted=predicted)
        a, b = (core.enter(0.0, RegisterEvent(name)) for name in "ab")
        operate(core, a, 1.0, 3.0, 20.0)
        operate(core, b, 3.0, 4.0, 10.0)
        told = core.handle(9.0, InformEvent(a, 2, 1.0), InformEvent(b, 2, 5.0))
        granted[predicted] = [grant.client.job for grant in told.grants if grant.rate > 0.0]
        assert core.pending.column("volume").tolist() == [1.0, 5.0]  # what moves is what was announced
        assert shown(core, "volume") == ([20.0, 10.0] if predicted else [1.0, 5.0])
        assert {row["job"]: row["remaining"] for row in explain(core, a)["under_way"]} == dict(
            zip("ab", shown(core, "remaining"), strict=True)
        )
    assert granted == {False: ["a"], True: ["b"]}


def test_who_does_not_tell_its_length_is_half_done() -> None:
    core = Core("shortest-remaining", 10.0, lease=math.inf)
    a = core.enter(0.0, RegisterEvent("a"))
    b = core.enter(0.0, RegisterEvent("b", dedicated_seconds=100.0))
    core.handle(10.0, InformEvent(a, 1, 10.0), InformEvent(b, 1, 10.0))
    assert shown(core, "whole") == [20.0, 100.0]
