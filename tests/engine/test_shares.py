"""Shares of a buffer that a workload says, and shares that cannot be there at the same time."""

import pytest

from penstock.engine import Buffering, Run, simulate
from penstock.model import Application, InputError, Platform, Workload
from penstock.theory import bounds
from tests.naive.machine import NaiveRun


def workload(*members: tuple[list[tuple[str, float]], dict[str, object]], size: float = 10.0) -> Workload:
    applications = [Application.of(f"a{index}", chain, **options) for index, (chain, options) in enumerate(members)]
    return Workload(Platform(1.0, buffer={"size": size}), tuple(applications))  # type: ignore[arg-type]


WRITER = [("work", 5.0), ("write", 4.0)]


def test_a_share_is_all_that_its_application_has() -> None:
    """Both write 4 bytes at 8 bytes/s. A has room for all of them and ends after half a second. B has none: it writes at
    what the link gives, half of it until A has drained.
    """
    fast = {"write_bandwidth": 8.0}
    apart = workload(([("write", 4.0)], {"share": 4.0, **fast}), ([("write", 4.0)], {"share": 0.0, **fast}))
    result = simulate(apart, "best-effort", check=True)
    assert list(result.ends) == pytest.approx([0.5, 8.0])
    assert result.buffer is not None
    assert result.buffer.pool is None
    assert list(result.buffer.shares) == [4.0, 0.0]
    pool = simulate(workload(*(([("write", 4.0)], fast) for _ in range(2))), "best-effort", check=True)
    assert pool.buffer is not None
    assert pool.buffer.pool == 10.0


@pytest.mark.parametrize("policy", ["best-effort", "fcfs", "greedy-yield"])
def test_shares_of_the_workload_are_those_that_can_be_given(policy: str) -> None:
    shared = workload((WRITER, {"share": 3.0}), ([("read", 2.0), ("write", 5.0)], {"share": 2.0, "release": 1.0}))
    given = Buffering(shares=[3.0, 2.0])
    assert (
        simulate(shared, policy).to_dict()["applications"]
        == simulate(shared, policy, buffer=given).to_dict()["applications"]
    )
    twin = NaiveRun(shared, policy, shares=[3.0, 2.0]).run()
    assert list(simulate(shared, policy).ends) == pytest.approx([one.end for one in twin.applications], rel=1e-9)


def test_a_bound_goes_by_the_shares() -> None:
    chain = [("write", 4.0)]
    whole, divided = (workload(*[(chain, options)] * 2, size=8.0) for options in ({}, {"share": 1.0}))
    assert bounds(divided).min_yield <= bounds(whole).min_yield
    assert simulate(divided, "best-effort").min_yield <= bounds(divided).min_yield


def test_shares_that_are_there_at_once_must_fit() -> None:
    with pytest.raises(InputError) as caught:
        simulate(workload((WRITER, {"share": 6.0}), (WRITER, {"share": 5.0})), "fcfs")
    assert str(caught.value) == (
        "applications[1].share: 5.0 bytes: the shares of the 2 applications that are there at 0.0 s add up to 11.0, "
        "more than the buffer's 10.0; expected at most that at a time"
    )
    with pytest.raises(InputError, match=r"applications\[1\].share: .* that are there at 8.9 s add up to 11.0"):
        simulate(workload((WRITER, {"share": 6.0}), (WRITER, {"share": 5.0, "release": 8.9})), "fcfs")
    with pytest.raises(InputError, match=r"applications\[0\].share: .* at 1.0 s add up to 12.0"):
        bounds(workload((WRITER, {"share": 6.0, "release": 1.0}), (WRITER, {"share": 6.0})))


@pytest.mark.parametrize(
    "members",
    [
        ((WRITER, {"share": 5.0}), (WRITER, {"share": 5.0})),
        # Handed over at the end, 5 s of work and 4 of a write; rounding is no overlap.
        ((WRITER, {"share": 6.0}), (WRITER, {"share": 6.0, "release": 9.0})),
        ((WRITER, {"share": 6.0}), (WRITER, {"share": 6.0, "release": 9.0 - 1e-7})),
        ((WRITER, {"share": 5.0}), (WRITER, {"share": 5.0 * (1.0 + 1e-9)})),
        ((WRITER, {"share": 10.0}), ([("work", 9.0)], {})),
    ],
)
def test_shares_one_after_the_other_may_be_the_same_room(
    members: tuple[tuple[list[tuple[str, float]], dict[str, object]], ...],
) -> None:
    assert simulate(workload(*members), "fcfs", check=True).makespan is not None


def test_when_a_held_application_starts_is_not_known() -> None:
    run = Run(workload((WRITER, {"share": 6.0}), (WRITER, {"share": 6.0})), "fcfs", held={1})
    assert run.advance() == (0,)
    run.start(1)
    assert run.finish().makespan == pytest.approx(18.0)


def overlapping() -> Workload:
    """A ends at 60 s and not at 7 s, as it could at its own speed: from 8 s on both have a share of 10 bytes."""
    late = {"bandwidth": 10.0, "share": 10.0}
    return workload(([("work", 1.0), ("write", 60.0)], late), ([("work", 1.0), ("write", 40.0)], {**late, "release": 8.0}))


def test_shares_that_turn_out_to_overlap_are_told() -> None:
    found = simulate(overlapping(), "fair-share").buffer
    assert found is not None
    assert (found.room, found.at_once, found.overcommitted) == (10.0, 20.0, True)
    assert {key: found.to_dict()[key] for key in ("room", "at_once")} == {"room": 10.0, "at_once": 20.0}
    apart = simulate(workload((WRITER, {"share": 6.0}), (WRITER, {"share": 6.0, "release": 9.0})), "fair-share").buffer
    assert apart is not None
    assert (apart.at_once, apart.overcommitted) == (6.0, False)


def test_shares_that_turn_out_to_overlap_break_a_law() -> None:
    with pytest.raises(InputError) as caught:
        simulate(overlapping(), "fair-share", check=True)
    assert str(caught.value) == (
        "applications[1].share: 10.0 bytes: the shares of the 2 applications that are there at 8.0 s add up to 20.0, "
        "more than the buffer's 10.0; expected at most that at a time"
    )


def test_a_buffer_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="buffer: True is no buffer; expected a Buffering, False, or None"):
        Run(overlapping(), "fair-share", buffer=True)  # type: ignore[arg-type]
