"""Runs that stop and go on, held applications, determinism, order of applications, long traces."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Run, simulate
from penstock.engine import run as run_module
from penstock.model import Application, InputError, Platform, Workload
from penstock.numeric.compiled import JIT, ByAddress
from penstock.policies import REGISTRY, find
from penstock.policies.policy import STATIC
from tests.naive.compare import assert_feasible, close
from tests.naive.profiles import examples
from tests.naive.strategies import suited, workloads

NAMES = list(REGISTRY)


def bits(result):
    """Everything a result says but for the time it took."""
    trace = result.trace and [column.tolist() for column in result.trace]
    return {**result.to_dict(), "seconds": None, "end": result.end, "trace": trace}


def stepwise(workload, policy, **options):
    run = Run(workload, policy, **options)
    ended: list[int] = []
    while now := run.advance():
        ended.extend(now)
        assert all(run.result().applications[i].end == run.now for i in now)
    return run, ended


@pytest.mark.parametrize("name", NAMES)
@examples(20)
@given(workloads(applications=5, window=True))
def test_from_end_to_end_equals_one_go_bit_for_bit(name, workload):
    workload = suited(name, workload)
    whole = simulate(workload, name, trace=True, check=True)
    run, ended = stepwise(workload, name, trace=True, check=True)
    assert bits(run.finish()) == bits(whole)
    assert sorted(ended) == [i for i, a in enumerate(whole.applications) if a.end is not None]
    assert bits(simulate(workload, name, trace=True, check=True)) == bits(whole)


@pytest.mark.parametrize("name", [n for n in NAMES if not REGISTRY[n].periodic])
@examples(12)
@given(workloads(applications=5, window=False))
def test_from_end_to_end_equals_one_go_without_a_window(name, workload):
    workload = suited(name, workload)
    whole = simulate(workload, name, trace=True)
    run, ended = stepwise(workload, name, trace=True)
    assert bits(run.finish()) == bits(whole)
    assert sorted(ended) == list(range(len(workload.applications)))


@examples(60)
@given(workloads(applications=4), st.sampled_from(["fair-share", "fcfs", "greedy-com"]), st.integers(1, 12))
def test_a_stop_at_any_date_changes_nothing_but_the_last_bits(workload, name, quarters):
    whole = simulate(workload, name)
    run = Run(workload, name, check=True)
    stop = workload.begin + quarters / 4.0
    while run.now < stop and run.advance(until=stop):
        pass
    assert run.now <= stop
    result = run.finish()
    assert list(result.yields) == close(list(whole.yields))
    assert result.events == whole.events


def test_finish_twice_is_the_same():
    w = Workload(
        Platform(1.0), tuple(Application.of(n, [("io", 3.0), ("work", 1.0), ("io", 9.0)]) for n in "ab"), (0.0, 4.0)
    )
    for name in NAMES:
        run = Run(w, name, check=True)
        first = bits(run.finish())
        assert {**bits(run.finish()), "decisions": 0} == {**first, "decisions": 0}, name


def test_an_operation_posted_at_the_end_of_the_window_is_no_trouble_later():
    # a posts at 4.0, the end of the window; asked to go on, the run is over, whatever the policy would say with no
    # time left.
    w = Workload(Platform(1.0), tuple(Application.of(n, [("work", 4.0), ("io", 9.0)]) for n in "ab"), (0.0, 4.0))
    for name in NAMES:
        run = Run(w, name, check=True)
        run.finish()
        assert run.advance() == ()
        assert run.now == 4.0


def test_time_does_not_go_back():
    # Asked to go on to a date in the past, a run stays where it is (or refuses), and nothing is taken back.
    w = Workload(Platform(1.0), (Application.of("a", [("io", 10.0)]),))
    run = Run(w, "fcfs", check=True)
    run.advance(until=5.0)
    assert run.result().applications[0].transferred == 5.0
    with contextlib.suppress(InputError):
        run.advance(until=3.0)
    assert run.now == 5.0
    assert run.result().applications[0].transferred == 5.0
    assert run.finish().applications[0].end == 10.0


def test_a_periodic_run_without_a_window_ends():
    # In a process of its own, as it would never come back.
    script = """
        from penstock.engine import simulate
        from penstock.model import Application, Platform, Workload
        apps = tuple(Application.of(n, [("io", 4.0), ("work", 1.0)]) for n in "ab")
        result = simulate(Workload(Platform(1.0), apps), "periodic-greedy-yield:delta=1")
        print(result.makespan)
    """
    # Ticks at 1, 2, …: a and b alternate (b has yield 0 at 1; at 2 both have 1/2 and a, the lower index, goes on; …);
    # the link is never idle, so the last transfer ends at 8 and the last work at 9.
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=True
    )
    assert float(done.stdout) == pytest.approx(9.0)


# ------------------------------------------------------------------ held applications


def two(**options):
    return Workload(
        Platform(1.0), (Application.of("a", [("io", 2.0), ("work", 1.0)]), Application.of("b", [("io", 1.0)], **options))
    )


def test_a_held_application_starts_when_told():
    run = Run(two(), "fair-share", held={1}, trace=True, check=True)
    assert run.advance() == (0,)
    assert run.now == 3.0
    run.start(1)
    result = run.finish()
    # b is released at 3, alone: ends at 4 with yield 1.
    assert [a.end for a in result.applications] == [3.0, 4.0]
    assert list(result.yields) == [1.0, 1.0]
    assert result.makespan == 4.0
    assert_feasible(run.workload, result)


def test_a_held_application_that_never_starts():
    result = Run(two(), "fair-share", held={1}).finish()
    assert [a.end for a in result.applications] == [3.0, None]
    assert (result.makespan, result.min_yield, result.efficiency) == (None, 1.0, 1.0)


def test_started_in_the_middle_it_shares():
    # a alone until 1, then both at 1/2 until 3, when both are done: a (1 byte left) and b (1 byte); a works until 4.
    run = Run(two(), "fair-share", held={1}, check=True)
    run.advance(until=1.0)
    run.start(1)
    result = run.finish()
    assert [a.end for a in result.applications] == [4.0, 3.0]
    assert list(result.yields) == pytest.approx([3 / 4, 1 / 2])


def test_a_held_application_has_no_history():
    # Held in a window that begins at 10, released (in the file) at 0: it starts at 12 with nothing done, works 8 of
    # the 10 s of the window.
    w = Workload(Platform(1.0), (Application.of("a", [("work", 50.0)], release=0.0),), (10.0, 20.0))
    run = Run(w, "fcfs", held={0}, check=True)
    run.advance(until=12.0)
    run.start(0)
    result = run.finish()
    assert (result.min_yield, result.utilization, result.efficiency) == (1.0, 0.8, 0.8)


def test_only_held_applications_can_be_started():
    run = Run(two(), "fair-share", held={1})
    with pytest.raises(InputError, match=r"^applications\[0\]: is not held; only a held application can be started$"):
        run.start(0)
    with pytest.raises(InputError, match=r"applications\[7\]: is not held"):
        run.start(7)
    with pytest.raises(InputError, match=r"applications\[-1\]: is not held"):
        run.start(-1)
    run.start(1)
    with pytest.raises(InputError, match="is not held"):
        run.start(1)
    with pytest.raises(InputError, match=r"^held: \[5\] are not all positions"):
        Run(two(), "fair-share", held={5})


# ------------------------------------------------------------------ order and length


@st.composite
def without_ties(draw):
    """Workloads whose applications all differ in size and date, so that no tie ever asks for the index."""
    workload = draw(workloads(nice=False, applications=5))
    members = []
    for index, application in enumerate(workload.applications):
        shift = 0.0137 * (index + 1) ** 0.5
        members.append(replace(application, lead=application.lead + shift))
    return replace(workload, applications=tuple(members))


BY_THE_LIST = ("lowest-id", "johnson", *[name for name in NAMES if REGISTRY[name].family == STATIC])
"""Policies that the place in the workload tells more than to break ties between requests."""


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BY_THE_LIST])
@examples(20)
@given(without_ties(), st.randoms(use_true_random=False))
def test_the_order_of_applications_does_not_matter(name, workload, random):
    if REGISTRY[name].periodic and workload.window is None:
        return
    order = list(range(len(workload.applications)))
    random.shuffle(order)
    shuffled = replace(workload, applications=tuple(workload.applications[i] for i in order))
    straight, other = simulate(workload, name), simulate(shuffled, name)
    assert [other.yields[order.index(i)] for i in range(len(order))] == close(list(straight.yields))
    assert other.events == straight.events


@pytest.mark.parametrize("name", ["fair-share", "greedy-yield"])
def test_a_trace_longer_than_its_buffer(name, monkeypatch):
    # 3 applications, 3 × 200 operations in a buffer of 16 rows: it overflows many times and loses nothing.
    w = Workload(
        Platform(1.0, 0.7),
        tuple(Application.of(f"a{i}", [("work", 0.3 + 0.1 * i), ("io", 0.5 + 0.07 * i)] * 200) for i in range(3)),
    )
    whole = simulate(w, name, trace=True, check=True)
    monkeypatch.setattr(run_module, "_TRACE_ROWS", 16)
    short = simulate(w, name, trace=True, check=True)
    assert len(short.trace.rate) > 600
    assert bits(short) == bits(whole)
    assert_feasible(w, short)


def test_no_trace_unless_asked():
    assert simulate(two(), "fcfs").trace is None


def test_the_trace_of_an_unfinished_run_reaches_to_now():
    run = Run(two(), "fair-share", trace=True)
    run.advance(until=0.5)
    result = run.result()
    assert result.trace.end.tolist() == [0.5, 0.5]
    assert_feasible(run.workload, result)
    assert_feasible(run.workload, run.result())
    assert_feasible(run.workload, run.finish())


@pytest.mark.skipif(not JIT, reason="without the compiler, no kernel is called")
def test_an_interrupt_while_a_kernel_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt that comes while numba looks at the arguments of a call is an interrupt, and no other error."""

    def interrupted(policy: ByAddress) -> int:
        signal.raise_signal(signal.SIGINT)
        return policy.address

    workload = Workload(Platform(1.0), (Application.of("a", [("io", 1.0)]),))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        policy = find("look-ahead-greedy-yield")
        simulate(workload, policy)
        monkeypatch.setattr(ByAddress, "__wrapper_address__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            simulate(workload, policy)
    finally:
        signal.signal(signal.SIGINT, before)
