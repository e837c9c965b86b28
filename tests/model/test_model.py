"""Platform, Application, Workload and Phases: what they hold and what they refuse."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from penstock.model import Application, InputError, Phases, Platform, Workload


def an_application(**options: Any) -> Application:
    return Application.of("a", [("work", 1.0), ("io", 2.0)], **options)


def test_a_cap_is_nodes_times_node_bandwidth_up_to_the_bandwidth() -> None:
    platform = Platform(bandwidth=100.0, node_bandwidth=30.0)
    assert [platform.cap(nodes) for nodes in (1, 3, 4)] == [30.0, 90.0, 100.0]
    assert Platform(100.0).cap(1) == 100.0


def test_an_application_may_bring_its_own_cap() -> None:
    platform = Platform(bandwidth=100.0, node_bandwidth=30.0)
    assert an_application(bandwidth="50 B/s").cap(platform) == 50.0
    assert an_application(bandwidth=500.0).cap(platform) == 100.0


def test_phases_expand_repetitions() -> None:
    inner = {"repeat": 2, "phases": [["io", 1], {"repeat": 3, "phases": [["read", "1 kB"]]}]}
    assert list(Phases.of([["work", "1 min"], inner])) == [("work", 60.0)] + 2 * ([("io", 1.0)] + 3 * [("read", 1000.0)])


def test_phases_cannot_be_changed() -> None:
    amounts = np.array([1.0, 2.0])
    phases = Phases(np.array([0, 1], np.uint8), amounts)
    amounts[0] = 7.0
    assert phases.amounts[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        phases.amounts[0] = 7.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        an_application().nodes = 3  # type: ignore[misc]


def test_operations_of_volume_zero_do_not_count() -> None:
    assert Phases.of([("io", 0), ("io", 1), ("work", 3), ("write", 2)]).operations == 2


def test_history_is_all_of_the_time_since_the_release_unless_given() -> None:
    applications = (
        an_application(release=4.0),
        Application.of("b", [("io", 1)], release=4.0, progress=3.5),
        Application.of("c", [("io", 1)], release=15.0),
    )
    workload = Workload(Platform(1.0), applications, (10.0, 20.0))
    assert [workload.history(application) for application in workload.applications] == [6.0, 3.5, 0.0]
    assert [workload.start(application) for application in workload.applications] == [10.0, 10.0, 15.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Platform(0.0), "bandwidth: 0.0 is not a bandwidth"),
        (lambda: Platform(float("nan")), "bandwidth: nan is not finite"),
        (lambda: Platform(1.0, nodes=0), "nodes: 0 is not a number of nodes"),
        (lambda: Phases.of([]), "phases: the chain is empty; expected at least one phase"),
        (
            lambda: Phases.of([("work", 1), ("sleep", 2)]),
            "phases[1]: kind 'sleep' is unknown; expected one of work, io, read",
        ),
        (lambda: Phases.of([("work", 1), ("io",)]), "phases[1]: ('io',) is not a phase"),
        (lambda: Phases.of([("work", 1), ("io", -2.0)]), "phases[1]: -2.0 is negative"),
        (lambda: Phases.of([{"repeat": 0, "phases": [("io", 1)]}]), "phases[0].repeat: 0 is not a number of repetitions"),
        (lambda: Phases.of([{"repeat": 2, "phases": []}]), "phases[0].phases: [] is not a list of phases"),
        (lambda: Phases.of([{"repeat": 2, "phase": []}]), "phases[0]: unknown key 'phase'; expected repeat, phases"),
        (lambda: Phases.of([{"repeat": 2, "phases": [("io", 1), ("x", 1)]}]), "phases[0].phases[1]: kind 'x' is unknown"),
        (
            lambda: Phases.of([{"repeat": 10**6, "phases": [{"repeat": 10**3, "phases": [("io", 1)]}]}]),
            "phases[0].repeat: 1000000 repetitions make over 200,000,000 phases",
        ),
        (lambda: Phases(np.array([0, 9], np.uint8), np.ones(2)), "phases[1]: kind 9 is unknown"),
        (lambda: Phases(np.array([0, 1], np.uint8), np.array([1.0, np.nan])), "phases[1]: amount nan is not finite"),
        (lambda: Phases(np.array([0, 1], np.uint8), np.array([-1.0, 1.0])), "phases[0]: amount -1.0 is negative"),
        (lambda: Phases(np.array([0], np.uint8), np.ones(2)), "phases: (1,) kinds for (2,) amounts"),
        (lambda: Application.of("", [("io", 1)]), "name: '' is not a name"),
        (lambda: an_application(lead=-1), "lead: -1 is negative"),
        (lambda: an_application(nodes=1.5), "nodes: 1.5 is not a number of nodes"),
        (lambda: an_application(past=3), "past: 3 is no past; expected [number of iterations, their mean seconds]"),
        (lambda: an_application(past=(0, 1.0)), "past[0]: 0"),
        (lambda: an_application(past=(2, -1.0)), "past[1]: -1.0 is negative"),
        (lambda: an_application(nominal=3.0), "nominal: 3.0 is no couple; expected [seconds of work, bytes of I/O]"),
        (lambda: an_application(nominal=(1, 2, 3)), "nominal: (1, 2, 3) is no couple"),
        (lambda: an_application(nominal=(-1.0, 2.0)), "nominal[0]: -1.0 is negative; expected a finite number of seconds"),
        (lambda: an_application(nominal=(1.0, float("inf"))), "nominal[1]: inf is not finite"),
        (lambda: Workload(Platform(1.0), ()), "applications: the workload is empty; expected at least one application"),
        (
            lambda: Workload(Platform(1.0), (an_application(), an_application())),
            "applications[1].name: 'a' is also applications[0]; expected different names",
        ),
        (lambda: Workload(Platform(1.0), (an_application(),), (3.0, 3.0)), "window: the end 3.0 is not after the start 3.0"),
        (lambda: Workload(Platform(1.0), (an_application(),), (3.0, float("inf"))), "window[1]: inf is not finite"),
        (
            lambda: Workload(Platform(1.0, nodes=4), (an_application(nodes=5),)),
            "applications[0].nodes: 5 nodes on a platform",
        ),
        (
            lambda: Workload(Platform(1.0), (an_application(release=9.0),), (0.0, 9.0)),
            "applications[0].release: 9.0 is not before the end of the window",
        ),
        (
            lambda: Workload(Platform(1.0), (an_application(release=0.0, progress=6.0),), (5.0, 9.0)),
            "applications[0].progress: 6.0 s done in 5.0 s before the window; expected 5.0 or less",
        ),
    ],
)
def test_wrong_values_are_refused_with_their_place(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_speeds_of_a_direction_may_pass_the_link_and_its_limits_do_not() -> None:
    plain = Platform(10.0, node_bandwidth=2.0)
    assert (plain.read_limit, plain.write_limit) == (10.0, 10.0)
    one_way = Platform(10.0, read_bandwidth=20.0, write_bandwidth=4.0)
    assert (one_way.read_limit, one_way.write_limit) == (10.0, 4.0)
    for options, read, write in (
        ({"nodes": 3}, 6.0, 6.0),
        ({"nodes": 30}, 10.0, 10.0),
        ({"bandwidth": 50.0}, 50.0, 50.0),
        ({"bandwidth": 50.0, "read_bandwidth": 1.0}, 1.0, 50.0),
        ({"nodes": 30, "write_bandwidth": 70.0}, 10.0, 70.0),
    ):
        application = Application.of("a", [("io", 1.0)], **options)
        assert (application.read_speed(plain), application.write_speed(plain)) == (read, write)


def on_resources(*placements: object, resources: int | None = 4, curve: bool = True) -> Workload:
    options: dict[str, Any] = {"curve": {1: 1.0, 2: 1.5}} if curve else {}
    chains = (("work", 1.0), ("io", 2.0))
    applications = [
        Application.of(f"a{index}", chains, placement=placement, **options) for index, placement in enumerate(placements)
    ]
    return Workload(Platform(1.0, resources=resources), tuple(applications))


def test_a_placement_is_that_of_all_applications_or_of_none() -> None:
    assert on_resources([0, 3], (1,)).placement == ((0, 3), (1,))
    assert on_resources(None, None).placement is None
    with pytest.raises(InputError, match=r"applications\[1\]: the key 'placement' is missing; expected it for every"):
        _ = on_resources([0], None).placement


def test_resources_are_used_where_all_have_curves_or_some_are_placed() -> None:
    assert on_resources(None).on_resources
    assert on_resources([0], None, curve=False).on_resources
    assert not on_resources(None, curve=False).on_resources
    assert not on_resources(None, resources=None).on_resources


def test_a_placement_needs_resources() -> None:
    message = (
        r"^applications\[0\].placement: \[0\] on a platform without I/O resources; expected platform.resources, or leave"
    )
    with pytest.raises(InputError, match=message):
        on_resources([0], resources=None)


def divided(*shares: object, buffer: Any = None, idle: object = None) -> Workload:
    """Applications that write, with these shares, and one that only works."""
    writers = [Application.of(f"a{index}", [("write", 2.0)], share=share) for index, share in enumerate(shares)]
    worker = Application.of("idle", [("work", 1.0), ("io", 0.0)], share=idle)
    return Workload(Platform(1.0, buffer=buffer), (*writers, worker))


def test_shares_are_those_of_all_that_do_io() -> None:
    assert divided(None, None).shares is None
    assert divided("1 kB", 5, buffer={"size": 1000}).shares == (1000.0, 5.0, 0.0)
    assert divided(0.0, buffer={"size": 0}, idle=0).shares == (0.0, 0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: divided(1.0),
            "applications[0].share: 1.0 bytes of a buffer without a size; expected platform.buffer.size, or",
        ),
        (
            lambda: divided(None, 1.0, buffer={"bandwidth": 1}),
            "applications[1].share: 1.0 bytes of a buffer without a size; ",
        ),
        (
            lambda: divided(None, 1.0, buffer={"size": 4}),
            "applications[0]: the key 'share' is missing; expected bytes for every application that does I/O, as applic",
        ),
        (
            lambda: divided(4.5, 1.0, buffer={"size": 4}),
            "applications[0].share: 4.5 bytes are more than the buffer's 4.0; exp",
        ),
        (lambda: divided(-1.0, buffer={"size": 4}), "share: -1.0 is negative; expected a finite number of bytes, 0 or more"),
        (lambda: divided("1 s", buffer={"size": 4}), "share: '1 s' has the unknown unit 's'; expected one of B, kB"),
    ],
)
def test_wrong_shares_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_a_buffer_may_stand_before_all_resources() -> None:
    buffer = Platform(1.0, resources=3, buffer={"size": 5, "resources": [2, 0, 1]}).buffer  # type: ignore[arg-type]
    assert buffer is not None
    assert buffer.document() == {"size": 5.0, "resources": [2, 0, 1]}


def test_nobody_is_released_before_it_is_submitted() -> None:
    """A job list may say when jobs are submitted and nothing else; no command may start them earlier."""
    chain = [("work", 1.0)]
    assert Application.of("a", chain, submit=36_000.0).release == 36_000.0
    assert Application.of("a", chain, submit="10 h", release=5.0).release == 36_000.0
    assert Application.of("a", chain, submit=5.0, release=7.0).release == 7.0
    assert Application.of("a", chain, submit=-5.0).release == 0.0
