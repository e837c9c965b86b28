"""Levels of an I/O stack announce together."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.live.client import UsageError
from penstock.live.client.access import Announcement, Levels
from penstock.live.protocol import MOST_ROUNDS


def levels(*told: dict[str, Any]) -> Levels:
    made = Levels()
    for information in told:
        made.push(information)
    return made


@pytest.mark.parametrize(
    ("told", "volume", "rounds", "follows"),
    [
        ([{"volume": 100}], 100, 1, 0),
        ([{"volume": 100, "rounds": 4}], 100, 4, 0),
        ([{"volume": 100, "files": 5}], 100, 5, 0),
        ([{"volume": 100, "files": 5, "rounds": 4}], 100, 20, 0),  # rounds of each file
        ([{"volume": 400, "files": 4}, {"rounds": 16}], 100, 16, 300),  # a part of 4
        ([{"files": 4}, {"volume": 100, "rounds": 16}], 100, 16, 300),  # 4 of these
        ([{"volume": 10, "files": 4}, {"rounds": 1}], 3, 1, 7),
        ([{"volume": 400, "files": 4}, {"volume": 70}], 70, 1, 330),
        ([{"volume": 400}, {"volume": 500}], 500, 1, 0),  # more than announced is allowed
        ([{"volume": 1200, "files": 3}, {"files": 4}, {"rounds": 5}], 100, 5, 1100),
        ([{"files": 3}, {"files": 4}, {"volume": 100, "rounds": 5}], 100, 5, 1100),
        ([{"volume": 400, "files": 4, "follows": 7}, {"rounds": 16, "follows": 1}], 100, 16, 308),
        ([{"bandwidth": 5.0}, {}, {"volume": 8}], 8, 1, 0),
    ],
)
def test_what_levels_announce(told: list[dict[str, Any]], volume: int, rounds: int, follows: int) -> None:
    found = levels(*told).announce({})
    assert (found.volume, found.rounds, found.follows) == (volume, rounds, follows)


def test_values_of_inform_stand_beside_those_of_the_innermost_level() -> None:
    made = levels({"volume": 400, "files": 4, "store": "scratch"}, {"rounds": 16, "bandwidth": 1e9})
    assert made.announce({"rounds": 2}) == Announcement(100, 2, outer=300, bandwidth=1e9, store="scratch")
    assert made.announce({"volume": 50, "store": "home"}) == Announcement(50, 16, outer=350, bandwidth=1e9, store="home")
    assert made.announce_inside(10, None) == Announcement(10, 1, outer=390, bandwidth=1e9, store="scratch")
    assert Levels().announce({"volume": 5}) == Announcement(5, 1)
    with pytest.raises(UsageError, match=r"^inform: no volume; expected prepare\(volume=…\) or inform\(volume=…\)$"):
        levels({"files": 4}).announce({})


@given(st.integers(1, 1000), st.integers(1, 12), st.data())
def test_parts_add_up_to_what_the_outer_level_announced(volume: int, files: int, data: st.DataObject) -> None:
    made, moved = levels({"volume": volume, "files": files}), 0
    while moved < volume:
        made.push({"rounds": 3})
        found = made.announce({})
        assert found.follows == volume - moved - found.volume
        assert found.volume > 0
        count = data.draw(st.integers(1, found.volume))
        made.count(count)
        moved += count
        made.pop()
    made.push({})
    assert made.announce({}) == Announcement(-(-volume // files), 1)  # beyond what was announced: one more part


def test_a_level_that_is_begun_announces_its_rest() -> None:
    made = levels({"volume": 100, "rounds": 10})
    made.count(35)
    assert made.announce({}) == Announcement(65, 7)
    made.count(65)
    assert made.announce({}) == Announcement(100, 10)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"volume": -1}, "volume -1 is out of range; expected a whole number, 0 or more"),
        ({"files": 0}, "files 0 is out of range; expected a whole number, 1 or more"),
        ({"rounds": 1.5}, "rounds 1.5"),
        ({"follows": -3}, "follows -3"),
        ({"bandwidth": 0}, "bandwidth 0 is out of range; expected bytes per second, above 0"),
        ({"bandwidth": "1 GB/s"}, "bandwidth '1 GB/s'"),
        ({"store": 7}, "store 7 is no name; expected text of at most 200 characters"),
    ],
)
def test_wrong_values(told: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        levels(told)
    with pytest.raises(UsageError, match=says):
        levels({"volume": 1}).announce(told)


def test_more_rounds_than_a_message_may_have() -> None:
    assert levels({"volume": 10**15, "files": 10**6, "rounds": 10**6}).announce({}).rounds == MOST_ROUNDS
