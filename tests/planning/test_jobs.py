"""What a batch scheduler knows of the jobs."""

import pytest
from hypothesis import given

from penstock.model import Application, InputError, Platform, Workload
from penstock.model.workload import io_load
from penstock.planning.jobs import Jobs, Machine
from tests.naive.compare import close
from tests.naive.profiles import examples
from tests.planning.instances import batch, batches, work


@examples(60)
@given(batches())
def test_time_and_volume_alone(workload: Workload) -> None:
    machine = Machine.of(workload)
    jobs = Jobs.of(workload, machine)
    for index, application in enumerate(workload.applications):
        phases = list(application.phases)
        volume = sum(amount for kind, amount in phases if kind != "work")
        time = application.lead + sum(amount for kind, amount in phases if kind == "work") + volume / machine.bandwidth
        operations = sum(kind != "work" and amount > 0.0 for kind, amount in phases)
        assert jobs.volume[index] == close(volume)
        assert jobs.seconds[index] == close(time)
        assert jobs.occupation[index] == close(volume / machine.bandwidth)
        assert jobs.load[index] == close(volume / machine.bandwidth / time if time else 0.0)
        assert jobs.iteration[index] == close((time - application.lead) / max(1, operations))
    node_seconds = sum(a.nodes * t for a, t in zip(workload.applications, jobs.seconds, strict=True))
    expected = machine.nodes * jobs.volume.sum() / machine.bandwidth / node_seconds if node_seconds else 0.0
    assert jobs.io_load(machine) == close(expected)
    if node_seconds:
        assert jobs.io_load(machine) == close(io_load(workload))


def test_a_job_that_cannot_use_the_whole_link_takes_longer() -> None:
    # 2 nodes of 0.25 bytes/s each: 4 bytes take 8 s and not 4.
    workload = Workload(Platform(1.0, 0.25, 4), (Application.of("a", [("work", 1.0), ("io", 4.0)], nodes=2),))
    machine = Machine.of(workload)
    assert Jobs.of(workload, machine).seconds.tolist() == [9.0]
    # Others can use the rest of the link, unless it serves one job at a time.
    assert Jobs.of(workload, machine).occupation.tolist() == [4.0]
    assert Jobs.of(workload, machine, exclusive=True).occupation.tolist() == [8.0]


def test_the_kinds_of_jobs_are_counted() -> None:
    workload = batch((1, work(3.0)), (1, [("io", 0.0)]), (1, [("work", 1.0), ("io", 1.0)], 5.0))
    jobs = Jobs.of(workload, Machine.of(workload))
    assert jobs.counts() == {"jobs": 3, "without_io": 2, "of_no_length": 1, "released_later": 1}
    assert jobs.iteration.tolist() == [3.0, 0.0, 2.0]


def test_a_machine_can_be_given_or_is_that_of_the_platform() -> None:
    workload = batch((1, work(1.0)), nodes=4, bandwidth=3.0)
    assert Machine.of(workload) == Machine(4, 3.0, 1)
    assert Machine.of(workload, nodes=7, io_nodes=2) == Machine(7, 3.0, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": 0}, "nodes: 0 is not a number of nodes; expected a whole number, 1 or more"),
        ({"io_nodes": 0}, "io-nodes: 0 is not a number of I/O nodes; expected a whole number, 1 or more"),
        ({"io_nodes": -3}, "io-nodes: -3 is not a number of I/O nodes; expected a whole number, 1 or more"),
    ],
)
def test_no_such_machine(options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError) as error:
        Machine.of(batch((1, work(1.0))), **options)
    assert str(error.value) == message


def test_a_machine_needs_nodes() -> None:
    workload = Workload(Platform(1.0), (Application.of("a", work(1.0)),))
    with pytest.raises(
        InputError, match="nodes: the platform of the workload has no number of nodes; expected one there or"
    ):
        Machine.of(workload)


def test_jobs_larger_than_the_machine_are_refused_and_counted() -> None:
    workload = batch((1, work(1.0)), (3, work(1.0)), (4, work(1.0)))
    with pytest.raises(InputError) as error:
        Jobs.of(workload, Machine(2, 1.0))
    assert str(error.value) == (
        "applications[1].nodes: 3 nodes where an I/O node has 2 (2 jobs are too large); expected at most 2"
    )


def test_a_window_is_refused() -> None:
    workload = Workload(Platform(1.0, nodes=1), (Application.of("a", work(9.0)),), (0.0, 5.0))
    with pytest.raises(InputError, match="window: jobs are planned to their ends; expected a workload without a window"):
        Jobs.of(workload, Machine.of(workload))
