"""The I/O of jobs: from their logs, from Slurm's counters, from the nearest job, or drawn."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import InputError
from penstock.workloads.importers.job_io import IoModel, join, likened, regular, with_io
from penstock.workloads.importers.job_records import IoPhases, JobRecord, workload_of
from tests.naive.profiles import examples

HOUR = 3600.0


def job(number: int, start: float = 0.0, seconds: float = 1000.0, **more: object) -> JobRecord:
    """A job as a batch system knows it."""
    usual = {"nodes": 2, "user": "ann", "program": "climate"}
    return JobRecord(str(number), start, start + seconds, **{**usual, **more})  # type: ignore[arg-type]


def log(number: int, *phases: tuple[float, float, float, str], start: float = 0.0, seconds: float = 1000.0) -> JobRecord:
    """What a log says of that job."""
    made = IoPhases.of(phases)
    source_bytes = made.total()
    return JobRecord(
        *(str(number), start, start + seconds),
        phases=made,
        source="dxt",
        source_bytes=source_bytes,
        volumes={"POSIX": source_bytes},
        files=(f"{number}.darshan",),
    )


WRITES = ((100.0, 110.0, 4e9, "write"), (500.0, 510.0, 6e9, "write"))


def test_a_log_gives_its_job_the_phases_at_their_dates() -> None:
    made = join([job(7, 1000.0), job(8, 1000.0)], [log(7, *WRITES, start=1020.0, seconds=600.0), log(9, *WRITES)])
    joined, other = made.records
    assert list(joined.phases) == [(120.0, 130.0, 4e9, "write"), (520.0, 530.0, 6e9, "write")]
    assert (joined.source, joined.source_bytes, joined.files, joined.user) == ("dxt", (0.0, 1e10), ("7.darshan",), "ann")
    assert (other.source, len(other.phases)) == ("none", 0)
    assert made.counts == {"logs joined with their jobs": 1, "left out, logs of jobs that are not listed": 1}


def test_the_log_of_a_requeued_job_is_divided_among_its_runs() -> None:
    runs = [job(7, 2000.0), job(7, 0.0, 900.0)]
    whole = log(7, *WRITES, (2100.0, 2200.0, 1e9, "read"), seconds=3000.0)
    made = join(runs, [whole])
    assert list(made.records[0].phases) == [(100.0, 200.0, 1e9, "read")]
    assert list(made.records[1].phases) == list(IoPhases.of(WRITES))
    assert [record.source_bytes for record in made.records] == [(1e9, 0.0), (0.0, 1e10)]


def test_a_log_far_from_its_job_is_that_of_another_one() -> None:
    far = join([job(7)], [log(7, *WRITES, start=200_000.0)])
    assert far.records[0].source == "none"
    assert far.counts == {"left out, logs more than a day away from the job with their id": 1}


def test_several_logs_of_a_job_are_one() -> None:
    """One for each program that it ran."""
    made = join([job(7)], [log(7, *WRITES), log(7, (0.0, 5.0, 1e9, "read"), start=700.0)])
    assert [phase[0] for phase in made.records[0].phases] == [100.0, 500.0, 700.0]
    assert made.records[0].phases.total() == made.records[0].source_bytes == (1e9, 1e10)


def test_a_log_that_ends_after_its_job_is_moved_and_else_counted() -> None:
    """The clocks of two machines differ by seconds; the bytes stay."""
    made = join([job(7), job(8)], [log(7, *WRITES, start=495.0, seconds=511.0), log(8, (0.0, 1500.0, 3e9, "read"))])
    assert made.records[0].phases.ends.max() == 1000.0
    assert [record.phases.total() for record in made.records] == [(0.0, 1e10), (3e9, 0.0)]
    assert made.counts["logs that last longer than their job says"] == 1
    before = join([job(7, 100.0)], [log(7, *WRITES, start=-50.0, seconds=600.0)])
    assert before.records[0].phases.starts[0] == 0.0


def test_clocks_in_different_zones() -> None:
    """All logs begin an hour after their jobs have ended: the dates of the accounting are read in the wrong zone."""
    jobs = [job(number, 5000.0 * number) for number in range(5)]
    logs = [log(number, *WRITES, start=5000.0 * number + HOUR + 3.0, seconds=600.0) for number in range(5)]
    made = join(jobs, logs)
    assert all(next(iter(record.phases))[0] == 103.0 for record in made.records)
    assert made.notes == ["most logs begin 1 h after their jobs; they were moved: is the time zone right?"]
    right = join(jobs, [replace(one, start=one.start - HOUR, end=one.end - HOUR) for one in logs])
    assert right.notes == []
    assert [list(one.phases) for one in right.records] == [list(one.phases) for one in made.records]


@given(
    seconds=st.floats(1.0, 1e6),
    read=st.integers(0, 2**50).map(float),
    written=st.integers(0, 2**50).map(float),
    part=st.floats(0.01, 1.0),
    iterations=st.integers(1, 200),
)
@examples(200)
def test_equal_iterations_hold_exactly_the_bytes(
    seconds: float, read: float, written: float, part: float, iterations: int
) -> None:
    phases = regular(seconds, read, written, part * seconds, iterations)
    assert phases.total() == (read, written)
    if not read + written:
        assert len(phases) == 0
        return
    assert phases.starts.min() >= 0.0
    assert phases.ends.max() <= seconds * (1.0 + 1e-12)
    if all(amount == 0 or amount >= iterations for amount in (read, written)):
        assert (phases.ends - phases.starts).sum() == pytest.approx(part * seconds, rel=1e-6, abs=1e-9 * seconds)


def test_counters_take_a_part_of_the_time_or_what_the_bandwidth_needs() -> None:
    counted = job(7, seconds=1000.0, nodes=4, volumes={"Slurm": (1e9, 3e9)})
    (free,) = with_io([counted], (), IoModel(io_parts := 5, 0.2)).records
    assert free.source == "accounting"
    assert free.source_bytes == free.phases.total() == (1e9, 3e9)
    assert len(free.phases) == 2 * io_parts
    assert free.phases.seconds.sum() == pytest.approx(200.0)
    (given_,) = with_io([counted], (), IoModel(bandwidth=1e9, node_bandwidth=1e7)).records
    assert given_.phases.seconds.sum() == pytest.approx(4e9 / 4e7)
    (slow,) = with_io([counted], (), IoModel(bandwidth=1e3)).records
    assert slow.phases.seconds.sum() == pytest.approx(1000.0)  # all of its time, and not more
    application = workload_of([free]).applications[0]
    assert application.source == "accounting"
    assert application.seconds_alone(application.cap(workload_of([free]).platform)) == pytest.approx(1000.0)


def test_a_log_comes_before_counters() -> None:
    (record,) = with_io([job(7, volumes={"Slurm": (1e9, 3e9)})], [log(7, *WRITES)], IoModel()).records
    assert record.source == "dxt"
    assert record.volumes == {"Slurm": (1e9, 3e9), "POSIX": (0.0, 1e10)}


def test_a_log_without_io_is_known() -> None:
    silent = replace(log(8), source="none")
    made = with_io([job(7), job(8)], [log(7, *WRITES), silent], IoModel())
    assert [record.source for record in made.records] == ["dxt", "none"]
    assert "with the I/O of the nearest job" not in made.counts


def test_the_model_keeps_bytes_per_node_second_and_the_part_of_the_time() -> None:
    likes = likened(job(8, seconds=500.0, nodes=8), replace(log(7, *WRITES), nodes=2))
    # Half as long on four times the nodes: twice the bytes, in half the time.
    assert list(likes.phases) == [(50.0, 55.0, 8e9, "write"), (250.0, 255.0, 12e9, "write")]
    assert (likes.source, likes.source_bytes) == ("model", (0.0, 2e10))


@pytest.mark.parametrize(
    ("unknown", "like"),
    [
        (job(9, user="ann", program="climate", nodes=2), "1"),
        (job(9, user="bob", program="genome", nodes=2), "2"),
        (job(9, user="ann", program="genome", nodes=64, seconds=64_000.0), "3"),
        (job(9, user="ann", program="climate_017", nodes=2), "1"),  # digits do not count
        (job(9, user="eve", program="climate", nodes=2, seconds=900.0), "1"),  # another user, the same program
        (job(9, user="eve", program="other", nodes=60, seconds=60_000.0), "3"),  # nothing but the size
        (job(9, user=None, program=None, nodes=60, seconds=60_000.0), "3"),
    ],
)
def test_the_nearest_job(unknown: JobRecord, like: str) -> None:
    known = [
        job(1, user="ann", program="climate", nodes=2),
        job(2, user="bob", program="genome", nodes=2),
        job(3, user="ann", program="genome", nodes=64, seconds=64_000.0),
    ]
    logs = [log(number, (0.0, 10.0, 1e9 * number, "write")) for number in (1, 2, 3)]
    made = with_io([*known, unknown], logs, IoModel())
    assert made.records[3].notes[0].startswith(f"I/O like that of job-{like} (distance ")


def test_of_equally_near_jobs_the_latest_in_time_wins() -> None:
    """Time only decides between jobs that are otherwise equally near."""
    month = 30 * 86_400.0
    known = [job(1, 0.0), job(2, 2.0 * month)]
    logs = [log(1, *WRITES), log(2, *WRITES, start=2.0 * month)]
    made = with_io([*known, job(3, 1.9 * month)], logs, IoModel())
    assert made.records[2].notes[0] == "I/O like that of job-2 (distance 0.1)"


def test_counters_are_followed_where_there_are_no_logs() -> None:
    made = with_io([job(1, volumes={"Slurm": (0.0, 8e9)}), job(2, nodes=4)], (), IoModel())
    assert [record.source for record in made.records] == ["accounting", "model"]
    assert made.records[1].phases.total() == (0.0, 1.6e10)
    assert made.notes[-1] == "66.7% of the I/O rests on a model"
    logged = with_io(
        [job(1, volumes={"Slurm": (0.0, 8e9)}), job(2, nodes=4), job(3, user="bob")], [log(3, *WRITES)], IoModel()
    )
    assert logged.records[1].notes[0].startswith("I/O like that of job-3")


def test_how_far_off_the_model_is() -> None:
    """Four equal jobs, of which one moves twice as much: each is predicted from another one."""
    volumes = (1e9, 1e9, 1e9, 2e9)
    jobs = [job(number, 10.0 * number) for number in range(4)]
    logs = [log(number, (0.0, 10.0, volumes[number], "write"), start=10.0 * number) for number in range(4)]
    made = with_io([*jobs, job(9)], logs, IoModel())
    # The nearest in time, the first of two: 1, 0, 1 and 2; 4e9 predicted of 5e9, the last one off by 2.
    tried = next(note for note in made.notes if "tried on" in note)
    assert tried == (
        "  tried on the 4 jobs with a log, each from the others: typically off by a factor of 1 (median), "
        "0.8 times the bytes in sum"
    )


@pytest.mark.parametrize(("without", "names"), [("model", "12"), ("none", "12"), ("leave-out", "1")])
def test_jobs_of_which_nothing_is_known(without: str, names: str) -> None:
    made = with_io([job(1), job(2)], [log(1, *WRITES)], IoModel(without=without))
    assert [record.job_id for record in made.records] == list(names)
    share = "50.0%" if without == "model" else "0.0%"
    assert made.notes[-1] == f"{share} of the I/O rests on a model"
    if without == "none":
        assert len(made.records[1].phases) == 0


def test_no_job_is_left() -> None:
    with pytest.raises(InputError, match="no job is left; expected jobs with a log or counters"):
        with_io([job(1)], (), IoModel(without="leave-out"))


def test_drawn_io_follows_its_law() -> None:
    jobs = [job(number, nodes=25, seconds=100.0) for number in range(2000)]
    made = with_io(jobs, (), IoModel(nodes=1000, bandwidth=8e9))
    assert made.platform is not None
    cap = made.platform.cap(25)
    assert cap == pytest.approx(8e9 / 10)  # a quarter of the machine fills the link
    parts = np.array([sum(record.phases.total()) / cap / 100.0 for record in made.records])
    # N(0.1, 0.1²) on [0, 0.9]: mean 0.1288, standard deviation 0.0794.
    assert parts.mean() == pytest.approx(0.1288, abs=5.0 * 0.08 / math.sqrt(2000))
    assert parts.std() == pytest.approx(0.0794, abs=0.008)
    assert made.notes[-1] == "100.0% of the I/O rests on a model"
    again = with_io(jobs, (), IoModel(nodes=1000, bandwidth=8e9))
    assert [one.phases.total() for one in again.records] == [one.phases.total() for one in made.records]
    other = with_io(jobs, (), IoModel(nodes=1000, bandwidth=8e9, seed=2))
    assert other.records[0].phases.total() != made.records[0].phases.total()


@pytest.mark.parametrize(
    ("field", "value"),
    [("iterations", 0), ("fraction", 0.0), ("fraction", 0.95), ("most", 1.5), ("sigma", -1.0), ("without", "x")],
)
def test_a_model_that_makes_no_sense(field: str, value: object) -> None:
    with pytest.raises(InputError, match="out of range"):
        IoModel(**{field: value})  # type: ignore[arg-type]


@examples(100)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 64), st.floats(1.0, 1e5), st.integers(0, 2), st.sampled_from(("log", "counters", "nothing"))
        ),
        min_size=1,
        max_size=12,
    )
)
def test_the_bytes_of_the_phases_are_those_of_the_source(jobs: list[tuple[int, float, int, str]]) -> None:
    records, logs = [], []
    for number, (nodes, seconds, user, kind) in enumerate(jobs):
        volumes = {"Slurm": (float(number), 1e6 * nodes)} if kind == "counters" else {}
        records.append(job(number, 100.0 * number, seconds, nodes=nodes, user=str(user), volumes=volumes))
        if kind == "log":
            logs.append(log(number, (0.0, seconds / 2, 7.0 * nodes, "read"), start=100.0 * number, seconds=seconds))
    made = with_io(records, logs, IoModel())
    for record in made.records:
        assert record.phases.total() == record.source_bytes
    assert {record.source for record in made.records} <= {"dxt", "accounting", "model", "drawn"}
    workload = workload_of(made.records, made.platform)
    total = sum(float(one.phases.amounts[one.phases.kinds != 0].sum()) for one in workload.applications)
    assert total == pytest.approx(sum(sum(record.source_bytes) for record in made.records))


@examples(100)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("pq"), st.integers(1, 4096), st.floats(1.0, 1e6)
        ),
        min_size=3,
        max_size=30,
    ),
    st.data(),
)
def test_the_nearest_job_is_found_without_looking_at_all(
    jobs: list[tuple[str, str, str, int, float]], data: st.DataObject
) -> None:
    """Against a search through all jobs with the distance as the documentation has it."""
    records = [
        job(number, 5e5 * number, seconds, user=user, program=program, group=group, nodes=nodes)
        for number, (user, program, group, nodes, seconds) in enumerate(jobs)
    ]
    known = data.draw(st.sets(st.integers(0, len(jobs) - 2), min_size=1))
    logs = [log(number, (0.0, 1e-3, 1e9, "write"), start=records[number].start, seconds=1.0) for number in known]
    made = with_io(records, logs, IoModel())
    for number in set(range(len(jobs))) - known:
        apart = {other: distance(records[number], records[other]) for other in known}
        least = min(apart.values())
        said = made.records[number].notes[0]
        like = int(said.split("job-")[1].split()[0])
        assert apart[like] == pytest.approx(least, abs=1e-9)
        assert said.endswith(f"(distance {apart[like]:.1f})")


def distance(one: JobRecord, two: JobRecord) -> float:
    lengths = [record.end - record.start for record in (one, two)]
    return (
        4 * (one.user != two.user)
        + 4 * (one.program != two.program)
        + (one.group != two.group)
        + abs(math.log2((one.nodes or 1) / (two.nodes or 1)))
        + abs(math.log2(lengths[0] / lengths[1]))
        + min(1.0, abs(one.start - two.start) / 86_400 / 30)
    )
