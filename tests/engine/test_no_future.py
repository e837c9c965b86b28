"""On predicted information, and on none, what an application does later changes no decision before it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock.engine import Result, Run
from penstock.engine.information import AHEAD, NONE, PREDICTED, TRUE
from penstock.model import Application, Workload
from penstock.policies import REGISTRY
from penstock.policies.policy import STATIC
from tests.naive.profiles import examples
from tests.naive.strategies import LOOPS, odd_floats

TIED = "closing-yield"
"""It takes the last bits of yields for losses while nobody has lost anything, and these depend on volumes."""
LOOKING = [n for n, p in REGISTRY.items() if set(p.needs) & AHEAD and p.family != STATIC and not p.periodic and n != TIED]
"""Policies that read what lies ahead. Periodic ones decide at dates that are set, by default from the workload."""

Chain = list[tuple[str, float]]


@st.composite
def chains(draw) -> Chain:
    """Work and I/O, some of it in a loop of several operations, so that periods are found."""
    loop = [phase for work, volume in draw(LOOPS) for phase in (("work", work), ("io", volume))]
    return loop * draw(st.sampled_from([1, 2, 6, 12]))


def run(chains: list[Chain], policy: str, information: str) -> Result:
    members = tuple(Application.of(f"a{place}", chain) for place, chain in enumerate(chains))
    return Run(Workload(penstock.Platform(2.0), members), policy, information=information, trace=True).finish()


def end_of(result: Result, index: int, volume: float) -> float:
    """The date at which an application has moved so many bytes."""
    moved = 0.0
    for who, begin, end, rate in segments(result):
        moved += (end - begin) * rate if who == index else 0.0
        if moved >= volume * (1.0 - 1e-9):
            return end
    raise AssertionError("it has moved less")


def segments(result: Result) -> list[tuple[int, float, float, float]]:
    assert result.trace is not None
    rows = zip(*(column.tolist() for column in result.trace[:4]), strict=True)
    return sorted(rows, key=lambda row: (row[1], row[0]))


def moved_by(result: Result, date: float) -> list[float]:
    """The bytes that each application has moved by a date."""
    moved = [0.0] * len(result.applications)
    for who, begin, end, rate in segments(result):
        moved[who] += max(0.0, min(end, date) - begin) * rate
    return moved


def differences(chains: list[Chain], index: int, cut: int, tail: Chain, policy: str, information: str) -> list[str]:
    """What two runs decide differently before anybody can know that they differ.

    From its operation in phase `cut` on, application `index` goes another way. That operation begins at one date in both
    runs, and nobody can know that its volume is another one before it ends in one of them.
    """
    others = [chain[:cut] + tail if place == index else chain for place, chain in enumerate(chains)]
    runs = [run(chains, policy, information), run(others, policy, information)]
    known = min(
        end_of(result, index, sum(amount for kind, amount in own[index][: cut + 1] if kind == "io"))
        for result, own in zip(runs, (chains, others), strict=True)
    )
    dates = {date for result in runs for _, begin, end, _ in segments(result) for date in (begin, end) if date < known}
    found = []
    for date in sorted({*dates, known}):
        one, other = (moved_by(result, date) for result in runs)
        if one != pytest.approx(other, rel=1e-9, abs=1e-9):
            found.append(f"at {date}: {one} or {other}")
    return found


@pytest.mark.parametrize("information", [PREDICTED, NONE])
@pytest.mark.parametrize("name", LOOKING)
@examples(72)
@given(st.data())
def test_the_future_changes_no_decision(name, information, data):
    own = data.draw(st.lists(chains(), min_size=2, max_size=4))
    index = data.draw(st.integers(0, len(own) - 1))
    cut = 2 * data.draw(st.integers(0, len(own[index]) // 2 - 1)) + 1
    tail = [("io", data.draw(odd_floats(0.1, 40.0))), *data.draw(chains())]
    assert differences(own, index, cut, tail, name, information) == []


def test_it_does_on_the_truth():
    """Of two who post at 1 s, greedy-com serves the one with less to move: the other way around with 4 bytes for 1."""
    own = [[("work", 1.0), ("io", 1.0)], [("work", 1.0), ("io", 3.0)]]
    for information, differ in ((TRUE, True), (PREDICTED, False), (NONE, False)):
        assert bool(differences(own, 0, 1, [("io", 4.0)], "greedy-com", information)) == differ
