"""The APEX schedules and windows of 000 §6.3: their laws, against integrations and twins of their own."""

import itertools
import math
from collections import Counter
from functools import cache

import numpy as np
import pytest

from penstock.engine import dedicated, simulate
from penstock.model import Application, InputError, Workload
from penstock.model.application import READ, WORK, WRITE
from penstock.workloads import ApexJob, ApexMachine, ApexSchedule, schedule, windows
from penstock.workloads.apex import CLASSES, DAY, GIB, HOUR, NERSC, TRILAB, chain, find_machine

CASES = [("trilab", "cielo"), ("trilab", "M_10"), ("nersc", "cielo")]
LARGEST = ("nersc", "M_10")

made = cache(schedule)
made_windows = cache(windows)


def named(plan: ApexSchedule, application: Application) -> ApexJob:
    kind, number = application.name.split("-")
    job = plan.jobs[int(number)]
    assert job.kind.name == kind
    return job


@pytest.mark.parametrize(("workload", "machine"), [*CASES, LARGEST])
def test_no_node_runs_two_jobs(workload: str, machine: str) -> None:
    plan = made(workload, machine, 3)
    # Ends come before starts of the same instant, so sorting by (time, change) frees nodes before they are taken.
    changes = sorted([(job.start, job.nodes) for job in plan.jobs] + [(job.end, -job.nodes) for job in plan.jobs])
    used = np.cumsum([change for _, change in changes])
    assert used.min() == used[-1] == 0
    assert used.max() <= plan.machine.nodes
    assert used.max() > 0.99 * plan.machine.nodes


@pytest.mark.parametrize(("workload", "machine"), [*CASES, LARGEST])
def test_three_months_with_the_shares_of_the_table(workload: str, machine: str) -> None:
    plan = made(workload, machine, 3)
    placed = Counter(job.kind for job in plan.jobs)
    listed = sum(kind.share for kind in CLASSES[workload])
    assert 90 <= plan.days <= 180
    for kind in CLASSES[workload]:
        mean = kind.hours * math.ceil(kind.cores / 16)  # node-hours of a job
        target = kind.share / listed * plan.machine.nodes * plan.days * 24.0 / mean
        assert plan.targets()[kind.name] == pytest.approx(target)
        assert abs(placed[kind] - target) <= 0.1 * target
    assert sum(job.nodes * (job.end - job.start) for job in plan.jobs) >= 90 * DAY * plan.machine.nodes


def test_the_spread_of_cores_and_walltime() -> None:
    jobs = [job for job in made("nersc", "M_10", 3).jobs if job.kind.name == "SkySurvey"]
    hours = np.array([(job.end - job.start) / HOUR for job in jobs])
    assert len(jobs) > 20_000
    assert hours.min() == pytest.approx(7.6)
    # P(N(0, 1) < −0.5) = 0.3085 of them are raised to 0.95 of the mean. With E max(Z, −½) = φ(½) − ½ P(Z < −½) = 0.1978
    # the mean is 8 · (1 + 0.1 · 0.1978) = 8.158.
    assert np.mean(hours < 7.6 + 1e-6) == pytest.approx(0.3085, abs=0.01)
    assert hours.mean() == pytest.approx(8.158, abs=0.02)
    nodes = np.array([job.nodes for job in jobs])
    assert nodes.min() == 23  # ⌈0.95 · 384 / 16⌉
    # 23 takes up to 368 cores, at 0.4167 σ below the mean: P = 0.3385.
    assert np.mean(nodes == 23) == pytest.approx(0.3385, abs=0.01)


def earliest(job: ApexJob, before: list[ApexJob], machine: int) -> float:
    """The first of all possible starts (0 and the ends of jobs) from which the nodes suffice, by looking at each."""
    starts, ends, nodes = np.array([(other.start, other.end, other.nodes) for other in before] or np.zeros((0, 3))).T
    seconds = job.end - job.start
    for start in np.unique(np.append(0.0, ends)):
        instants = np.append(starts[(starts > start) & (starts < start + seconds)], start)
        used = ((starts <= instants[:, None]) & (ends > instants[:, None])) @ nodes
        if used.max() + job.nodes <= machine:
            return float(start)
    raise AssertionError("behind the last end every node is free")


@pytest.mark.parametrize(("workload", "machine"), [("trilab", "cielo"), ("nersc", "cielo")])
def test_each_job_starts_at_the_first_fit(workload: str, machine: str) -> None:
    plan = made(workload, machine, 3)
    for number, job in enumerate(plan.jobs[:300]):
        assert job.start == pytest.approx(earliest(job, list(plan.jobs[:number]), plan.machine.nodes), abs=1e-3)


@pytest.mark.parametrize(("workload", "machine"), CASES)
def test_windows_are_the_longest_times_without_a_start_or_an_end(workload: str, machine: str) -> None:
    plan, found = made(workload, machine, 3), made_windows(workload, machine, 3)
    last = max(job.start for job in plan.jobs)
    events = sorted({job.start for job in plan.jobs} | {job.end for job in plan.jobs if job.end < last})
    gaps = set(itertools.pairwise(events))
    lengths = [window.window[1] - window.window[0] for window in found if window.window]
    assert len(lengths) == 20
    assert {window.window for window in found} <= gaps
    assert lengths == sorted((end - begin for begin, end in gaps), reverse=True)[:20]
    for window in found:
        assert window.window is not None
        begin, end = window.window
        running = [job for job in plan.jobs if job.start < end and job.end > begin]
        assert all(job.start <= begin and job.end >= end for job in running)
        assert [named(plan, application) for application in window.applications] == running
        assert {application.release for application in window.applications} == {begin}
    assert made_windows(workload, machine, 3)[:5] == windows(workload, machine, 3, count=5)


def transferred(job: ApexJob, machine: ApexMachine, begin: float, end: float) -> float:
    """Bytes that the job alone on the machine moves between two dates, followed from its first second to its last."""
    memory, cap = job.nodes * 32 * GIB, min(job.nodes * 1.2 * GIB, machine.bandwidth)
    total, now = 0.0, job.start

    def move(volume: float) -> None:
        nonlocal total, now
        total += cap * max(0.0, min(end, now + volume / cap) - max(begin, now))
        now += volume / cap

    output = job.kind.output * memory
    checkpoint = job.kind.checkpoint * memory
    move(job.kind.input * memory)
    while checkpoint and now + HOUR + (checkpoint + output) / cap <= job.end + 1e-6:
        now += HOUR
        move(checkpoint)
    now = job.end - output / cap
    move(output)
    return total


@pytest.mark.parametrize(("workload", "machine"), CASES)
def test_volumes_in_a_window_are_those_of_the_jobs(workload: str, machine: str) -> None:
    plan = made(workload, machine, 3)
    for window in made_windows(workload, machine, 3):
        assert window.window is not None
        begin, end = window.window
        whole = 0.0
        for application in window.applications:
            expected = transferred(named(plan, application), plan.machine, begin, end)
            alone = dedicated(Workload(window.platform, (application,), window.window)).volume
            # A date is known to 2e-9 s; a sum of a thousand phases to about 1e-6 s.
            assert alone == pytest.approx(expected, abs=1e-5 * application.cap(window.platform))
            whole += expected
        assert dedicated(window).volume == pytest.approx(whole, rel=1e-6)


@pytest.mark.parametrize(("workload", "machine"), CASES)
def test_nobody_ends_inside_a_window(workload: str, machine: str) -> None:
    plan = made(workload, machine, 3)
    with_the_window = 0
    for window in made_windows(workload, machine, 3):
        assert window.window is not None
        begin, end = window.window
        for application in window.applications:
            job = named(plan, application)
            left = application.seconds_alone(application.cap(window.platform))
            assert left == pytest.approx(max(job.end - begin, end - begin + 1.0), abs=1e-4)
            with_the_window += job.end == end
        assert not simulate(window, "fair-share").ended_early
    assert with_the_window > 0  # the case that rounding could spoil is among them


def test_three_starts() -> None:
    cut, lead, fresh = (windows("trilab", "M_2", 3, count=3, start=start) for start in ("cut", "lead", "fresh"))
    moved = 0
    for one, other, anew in zip(cut, lead, fresh, strict=True):
        for whole, parted, begun in zip(one.applications, other.applications, anew.applications, strict=True):
            assert begun.lead == whole.lead == 0.0
            if parted.lead:
                moved += 1
                assert whole.phases.amounts[0] == parted.lead < HOUR
                assert np.array_equal(whole.phases.amounts[1:], parted.phases.amounts)
            else:
                assert whole == parted
            # Anew, everyone begins with input or a whole hour of work, as its chain does.
            assert begun.phases.amounts[0] == HOUR or begun.phases.kinds[0] != WORK
    assert moved > 0
    with pytest.raises(InputError, match=r"start.*expected lead, cut, fresh"):
        windows("trilab", "M_2", 3, start="late")


def test_the_chain_of_a_job() -> None:
    # LAP on 256 nodes: 8,192 GiB of memory at 200 GiB/s: input 0.05 · 8192 / 200 = 2.048 s, a checkpoint 30.72 s, output
    # 131.072 s. In 4 h: 14400 − 133.12 = 14266.88 s hold three periods of 3630.72 s and 3374.72 s of work.
    kind = TRILAB[1]
    phases = chain(kind, 256, 4 * HOUR, find_machine("cielo"))
    assert phases.kinds.tolist() == [READ, *[WORK, WRITE] * 3, WORK, WRITE]
    seconds = phases.dedicated_seconds(200 * GIB)
    assert seconds.tolist() == pytest.approx([2.048, *[3600.0, 30.72] * 3, 3374.72, 131.072])
    # Without checkpoints one stretch of work; without input nothing before it.
    assert chain(NERSC[0], 7, HOUR, find_machine("M_5")).kinds.tolist() == [READ, WORK, WRITE]
    assert chain(NERSC[1], 500, HOUR, find_machine("cielo")).kinds.tolist() == [WORK, WRITE]


def test_a_chain_needs_the_time_to_move_its_data() -> None:
    # CESM writes 10.2795 times its memory: 164,472 GiB at 40 GiB/s are 4,112 s.
    message = "machine: CESM cannot move its data in 4000 s; expected more bandwidth"
    with pytest.raises(InputError, match=message):
        chain(NERSC[1], 500, 4000.0, find_machine("M_10"))


def test_pressures_of_the_paper() -> None:
    # 000 §6.3.1: about 0.15 on Cielo, up to 1.4 on the scaled machines; §6.3.2: larger machines, higher pressures.
    for workload in ("nersc", "trilab"):
        means = [
            np.mean([dedicated(window).pressure for window in made_windows(workload, machine, 3)])
            for machine in ("cielo", "M_3", "M_10")
        ]
        assert 0.1 < means[0] < 0.25
        assert means[0] < means[1] < means[2]
        assert 1.1 < means[2] < 1.7


def test_the_same_seed_makes_the_same_schedule() -> None:
    assert schedule("trilab", "M_3", 5) == schedule("trilab", find_machine("M_3"), 5)
    assert schedule("trilab", "M_3", 5) != schedule("trilab", "M_3", 6)
    assert windows("nersc", "cielo", 3) == made_windows("nersc", "cielo", 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lanl", "cielo", 1), "workload: 'lanl' is unknown; expected one of nersc, trilab"),
        (("nersc", "M_11", 1), "machine: 'M_11' is unknown; expected one of cielo, M_1, M_2, M_3, "),
        (("nersc", "cielo", 1, 0), "count: 0 is not a number of windows; expected a whole number, 1 or more"),
        (("trilab", ApexMachine("tiny", 1000, 1e9), 1), "machine: 1000 nodes are too few for "),
        (("trilab", ApexMachine("thin", 8894, 1e6), 1), " cannot move its data in "),
    ],
)
def test_what_cannot_be_made(arguments: tuple[str, str, int], message: str) -> None:
    with pytest.raises(InputError) as caught:
        windows(*arguments)
    assert message in str(caught.value)


def test_a_machine_for_which_no_schedule_has_the_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.workloads.apex.TOLERANCE", 1e-9)
    message = "machine: 180 days of trilab on 8894 nodes do not reach the shares of its classes; expected a larger machine"
    with pytest.raises(InputError, match=message):
        schedule("trilab", "cielo", 1)


def test_history_is_lead_with_the_iterations_before_the_window() -> None:
    lead, history = (windows("trilab", "cielo", 1, count=2, start=start) for start in ("lead", "history"))
    pasts = []
    for one, other in zip(lead, history, strict=True):
        for before, after in zip(one.applications, other.applications, strict=True):
            assert before.past is None
            assert (before.phases, before.lead) == (after.phases, after.lead)
            pasts.append(after.past)
    known = [past for past in pasts if past is not None]
    assert known, "some applications have ended iterations before their windows"
    # An hour of work and a checkpoint each.
    assert all(3600.0 < seconds < 2 * 3600.0 for _, seconds in known)
