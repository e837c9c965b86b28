"""Levels of the six calls compose in C as in Python: the same stack announces the same operation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.live.client.access import Announcement, Levels
from penstock.live.client.errors import UsageError
from tests.naive.profiles import examples
from tests.native.test_session import InC

RANGE, NO_VOLUME = -4001, -4009
VOLUMES = st.one_of(st.integers(0, 50), st.sampled_from([100, 96, 2**24 + 1, 2**53, 2**53 + 1]))
PARTS = st.one_of(st.integers(0, 7), st.sampled_from([1000, 2**32]))
TOLD = st.fixed_dictionaries({}, optional={"volume": VOLUMES, "rounds": PARTS, "files": PARTS})
CALLS = st.one_of(
    st.tuples(st.sampled_from(["push", "announce", "inside"]), TOLD),
    st.tuples(st.just("pop"), st.just({})),
    st.tuples(st.just("count"), st.integers(0, 60)),
)


def words(told: dict[str, int]) -> list[int]:
    return [told.get(name, -1) for name in ("volume", "rounds", "files")]


def in_python(levels: Levels, call: str, told: dict[str, Any]) -> tuple[int, Announcement | None]:
    """The code that C should return, and the announcement."""
    try:
        match call:
            case "push":
                return 0, levels.push(told)
            case "announce":
                return 0, levels.announce(told)
            case _:
                return 0, levels.announce_inside(told["volume"], told.get("rounds"))
    except UsageError as error:
        return NO_VOLUME if "no volume" in str(error) else RANGE, None


def compare(c: InC, levels: Levels, call: str, told: dict[str, Any]) -> None:
    """Make a call on both; their codes and announcements must be the same."""
    if call == "inside":
        told = {"volume": 0} | {name: value for name, value in told.items() if name != "files"}
    _, answered = c.apply(call, 0.0, *words(told))
    code, announced = in_python(levels, call, told)
    assert answered["code"] == [code]
    if announced is not None:
        assert answered["announced"] == [announced.volume, announced.rounds, min(announced.follows, 2**53)]


@examples(150)
@given(st.lists(CALLS, max_size=25))
def test_levels_are_those_of_python(calls: list[tuple[str, Any]]) -> None:
    levels = Levels()
    with InC() as c:
        c.apply("new", 0.0, 0.0)
        for call, value in calls:
            if call == "pop":
                if len(levels):
                    levels.pop()
                    c.apply("pop", 0.0)
            elif call == "count":
                levels.count(value)
                c.apply("count", 0.0, value)
            elif call != "push" or len(levels) < 32:
                compare(c, levels, call, value)


@pytest.mark.parametrize(
    ("stack", "told", "announced"),
    [
        ([{"volume": 100}], {}, [100, 1, 0]),
        # 4 files of 25 bytes in 5 rounds each: one operation of 20 rounds
        ([{"volume": 100, "files": 4, "rounds": 5}], {}, [100, 20, 0]),
        # the inner level is one of the 4 files; 75 bytes follow
        ([{"volume": 100, "files": 4}, {"rounds": 5}], {}, [25, 5, 75]),
        # 4 files of 30 bytes, as the inner level says
        ([{"files": 4}, {"volume": 30}], {}, [30, 1, 90]),
        # three levels: half of one of 4 files
        ([{"volume": 400, "files": 4}, {"rounds": 2}], {"volume": 50}, [50, 2, 350]),
    ],
)
def test_by_hand(stack: list[dict[str, int]], told: dict[str, int], announced: list[int]) -> None:
    with InC() as c:
        c.apply("new", 0.0, 0.0)
        for level in stack:
            assert c.apply("push", 0.0, *words(level))[1]["code"] == [0]
        assert c.apply("announce", 0.0, *words(told))[1]["announced"] == announced


def test_a_full_stack() -> None:
    """32 levels; an operation inside the last one is still described."""
    with InC() as c:
        c.apply("new", 0.0, 0.0)
        for _ in range(32):
            assert c.apply("push", 0.0, 64, 1, 1)[1]["code"] == [0]
        assert c.apply("push", 0.0, 64, 1, 1)[1]["code"] == [-4011]
        assert c.apply("inside", 0.0, 16, 2, -1)[1]["announced"] == [16, 2, 48]
