"""Lines of accounting become runs of jobs: steps, arrays, requeues, clocks, jobs that have not ended."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.workloads.importers.accounting import Accounting, named_after_programs, read_accounting
from penstock.workloads.importers.job_records import JobRecord
from penstock.workloads.importers.slurm_formats import COMMAND, AccountingChoice
from tests.naive.profiles import examples
from tests.slurm import Slurm, wait_until
from tests.workloads.importers.outputs import row, step, write


def reading(path: Path, *rows: str, **choice: object) -> Accounting:
    return read_accounting(write(path / "sacct.txt", *rows), AccountingChoice(**{"time_zone": "UTC", **choice}))  # type: ignore[arg-type]


def spans(read: Accounting) -> dict[str, float]:
    return {record.name: record.end - record.start for record in read.records}


def test_the_bytes_of_a_job_are_those_of_its_steps(tmp_path: Path) -> None:
    read = reading(tmp_path, step("7.0", 10, 1), row("7"), step("7.batch", 5, 2), step("7.1", 0, 4), step("8.0", 9, 9))
    assert [record.volumes for record in read.records] == [{"Slurm": (15.0, 7.0)}]
    assert read.counts["steps merged into their jobs"] == 3
    assert read.counts["left out, steps of jobs that are not listed"] == 1


@pytest.mark.parametrize(
    ("cells", "usage"),
    [
        ({"TRESUsageInTot": "fs/disk=6", "TRESUsageOutTot": "energy=0"}, (6.0, 0.0)),
        ({"TRESUsageInTot": "energy=0", "TRESUsageOutTot": "energy=0"}, None),
        ({"TRESUsageInTot": "fs/disk=10M,fs/lustre=3K", "TRESUsageOutTot": "fs/disk=1"}, (3072.0, 1.0)),
    ],
)
def test_what_counts_as_bytes(tmp_path: Path, cells: dict[str, str], usage: tuple[float, float] | None) -> None:
    read = reading(tmp_path, row("7"), row("7.0", **cells))
    assert read.records[0].volumes.get("Slurm") == usage


@pytest.mark.parametrize("names", [("TRESUsageInAve", "TRESUsageOutAve"), ("AveDiskRead", "AveDiskWrite")])
def test_means_over_tasks_times_the_tasks(tmp_path: Path, names: tuple[str, str]) -> None:
    prefix = "fs/disk=" if names[0].startswith("TRES") else ""
    lines = (
        f"JobID|Start|Elapsed|NNodes|NTasks|{names[0]}|{names[1]}",
        "7|2026-03-02T10:00:00|00:10:00|2|||",
        f"7.0|2026-03-02T10:00:00|00:10:00|2|8|{prefix}2K|{prefix}3",
    )
    (tmp_path / "a.txt").write_text("\n".join(lines))
    assert read_accounting(str(tmp_path / "a.txt")).records[0].volumes == {"Slurm": (16_384.0, 24.0)}


@pytest.mark.parametrize(
    ("column", "cell", "nodes"),
    [
        ("AllocNodes", "3", 3),
        ("AllocTRES", "billing=9,cpu=9,node=3", 3),
        ("NodeList", "n[1-3,9]", 4),
        ("NCPUS", "33", 3),
        ("NNodes", "1K", 1024),
    ],
)
def test_nodes(tmp_path: Path, column: str, cell: str, nodes: int) -> None:
    (tmp_path / "a.txt").write_text(f"JobID|Start|Elapsed|{column}\n7|2026-03-02T10:00:00|00:10:00|{cell}")
    assert read_accounting(str(tmp_path / "a.txt"), AccountingChoice(cores_per_node=16)).records[0].nodes == nodes


def test_every_task_of_an_array_is_a_job(tmp_path: Path) -> None:
    read = reading(tmp_path, row("9_1", JobIDRaw="11"), row("9_2", JobIDRaw="9"), step("9_2.0", 3, 4, JobIDRaw="9.0"))
    assert [(one.name, one.job_id, one.volumes) for one in read.records] == [
        ("job-9_1", "11", {}),
        ("job-9_2", "9", {"Slurm": (3.0, 4.0)}),
    ]


def test_each_run_of_a_requeued_job_is_a_job_with_its_own_steps(tmp_path: Path) -> None:
    later = {"Start": "2026-03-02T12:00:00", "End": "2026-03-02T12:30:00", "Elapsed": "00:30:00"}
    read = reading(
        tmp_path,
        row("7", State="REQUEUED"),
        row("7", **later),
        step("7.0", 1, 2),
        step("7.0", 10, 20, **later),
    )
    assert [(one.name, one.job_id, one.end - one.start, one.volumes) for one in read.records] == [
        ("job-7", "7", 3600.0, {"Slurm": (1.0, 2.0)}),
        ("job-7-run2", "7", 1800.0, {"Slurm": (10.0, 20.0)}),
    ]
    assert read.counts["later runs of requeued jobs, each kept as a job"] == 1


def test_a_run_that_is_listed_twice_counts_once(tmp_path: Path) -> None:
    """Two outputs that overlap: a job that waited or ran in the first has ended in the second."""
    waits = row("8", State="PENDING", Start="Unknown", End="Unknown", Elapsed="00:00:00")
    runs = row("7", State="RUNNING", End="Unknown", Elapsed="00:20:00")
    read = reading(tmp_path, runs, waits, step("7.0", 1, 1), row("7"), row("8"), step("7.0", 5, 6))
    assert spans(read) == {"job-7": 3600.0, "job-8": 3600.0}
    assert read.records[0].volumes == {"Slurm": (5.0, 6.0)}
    assert read.counts["runs listed twice, the later line taken"] == 2


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"State": "CANCELLED by 1000", "Start": "Unknown", "End": "2026-03-02T11:00:00"}, "cancelled while they waited"),
        ({"State": "CANCELLED", "End": "2026-03-02T10:00:00", "Elapsed": "00:00:00"}, "cancelled while they waited"),
        ({"State": "FAILED", "Elapsed": "00:00:00"}, "ran for 0 s"),
        ({"State": "PENDING", "Start": "Unknown", "End": "Unknown", "Elapsed": ""}, "waiting"),
        ({"NNodes": "0"}, "without nodes"),
        ({"Elapsed": "", "End": "2026-03-02T09:59:00"}, "end before start (a clock was set)"),
    ],
)
def test_what_did_not_run_is_left_out_and_counted(tmp_path: Path, cells: dict[str, str], reason: str) -> None:
    read = reading(tmp_path, row("1"), row("2", **cells))
    assert [record.name for record in read.records] == ["job-1"]
    assert read.counts[f"left out, {reason}"] == 1


def test_a_job_that_was_cancelled_or_failed_while_it_ran_is_a_job(tmp_path: Path) -> None:
    read = reading(
        tmp_path, *(row(str(at), State=state) for at, state in enumerate(("CANCELLED by 7", "FAILED", "NODE_FAIL")))
    )
    assert len(read.records) == 3


@pytest.mark.parametrize(("unfinished", "seconds"), [("so-far", 1200.0), ("requested", 7200.0), ("leave-out", None)])
def test_a_job_that_runs(tmp_path: Path, unfinished: str, seconds: float | None) -> None:
    runs = row("2", State="RUNNING", End="Unknown", Elapsed="00:20:00")
    assert spans(reading(tmp_path, row("1"), runs, unfinished=unfinished)).get("job-2") == seconds


def test_a_job_that_waits_without_a_limit_cannot_last_as_requested(tmp_path: Path) -> None:
    waits = row("2", State="PENDING", Start="Unknown", End="Unknown", Elapsed="00:00:00", Timelimit="UNLIMITED")
    read = reading(tmp_path, row("1"), waits, unfinished="requested")
    assert read.counts["left out, waiting and no time requested"] == 1


def test_elapsed_counts_where_a_job_was_suspended_or_a_clock_was_set(tmp_path: Path) -> None:
    read = reading(tmp_path, row("1", End="2026-03-02T12:00:00"), row("2", End="2026-03-02T09:00:00"))
    assert spans(read) == {"job-1": 3600.0, "job-2": 3600.0}
    assert read.counts["end and elapsed time differ (suspended, or a clock was set), elapsed taken"] == 2


@examples(200)
@given(
    start=st.datetimes(datetime(2026, 3, 27), datetime(2026, 3, 31))
    | st.datetimes(datetime(2026, 10, 23), datetime(2026, 10, 27)),
    waited=st.integers(0, 20_000),
    seconds=st.integers(1, 200_000),
    elapsed=st.booleans(),
)
def test_changes_of_the_clock_do_not_change_how_long_a_job_ran(
    tmp_path_factory: pytest.TempPathFactory, start: datetime, waited: int, seconds: int, elapsed: bool
) -> None:
    """Local dates of Berlin in the days about both changes. With the elapsed time the length is exact, and the date
    too unless the clock shows both the start and the end twice; without it a length is an hour off at most."""
    berlin = ZoneInfo("Europe/Berlin")
    begin = start.replace(tzinfo=UTC, microsecond=0)
    dates = (begin - timedelta(seconds=waited), begin, begin + timedelta(seconds=seconds))
    shown = [date.astimezone(berlin).replace(tzinfo=None).isoformat() for date in dates]
    text = str(timedelta(seconds=seconds % 86_400)).rjust(8, "0")
    cells = {"Elapsed": f"{seconds // 86_400}-{text}" if elapsed else ""}
    path = write(
        tmp_path_factory.getbasetemp() / "clock.txt", row("1", Submit=shown[0], Start=shown[1], End=shown[2], **cells)
    )
    read = read_accounting(path, AccountingChoice(time_zone="Europe/Berlin"))
    if not read.records:  # without an elapsed time, both in the hour that comes twice, and less than that hour long
        assert not elapsed
        assert dates[1].astimezone(berlin).hour == 2
        return
    (record,) = read.records
    off = 0.0 if elapsed else 3600.0
    assert abs(record.end - record.start - seconds) <= off
    assert abs(record.start - begin.timestamp()) in (0.0, 3600.0)
    assert record.submit is not None
    assert record.submit <= record.start
    if dates[1].astimezone(berlin).hour != 2:
        assert record.start == begin.timestamp()


def test_names_after_programs() -> None:
    records = (JobRecord("7", 0.0, 1.0, program="climate"), JobRecord("8", 0.0, 1.0))
    assert [record.name for record in named_after_programs(records)] == ["climate-7", "job-8"]


def test_a_cluster_says_which_job_is_meant_where_there_are_several(tmp_path: Path) -> None:
    lines = ("JobID|Cluster|Start|Elapsed|NNodes", *(f"7|{one}|2026-03-02T10:00:00|00:10:00|2" for one in ("red", "blue")))
    (tmp_path / "a.txt").write_text("\n".join(lines))
    assert [record.name for record in read_accounting(str(tmp_path / "a.txt")).records] == ["job-red-7", "job-blue-7"]


def test_a_real_slurm_says_the_same_in_its_queue_and_its_completion_file(slurm: Slurm, tmp_path: Path) -> None:
    """Jobs that end, fail, are cancelled or wait, and an array with the separator of sacct in its name."""
    mark = tmp_path.name
    wrap = ("sbatch", "--parsable", "--output=/dev/null", "--cpus-per-task=1")
    submitted = [
        slurm.call(*wrap, f"--job-name={mark}", "--nodes=2", "--ntasks=2", "--time=5", "--wrap", "sleep 1"),
        slurm.call(*wrap, f"--job-name={mark}|a", "--array=1-3%2", "--time=2", "--wrap", "sleep 1"),
        slurm.call(*wrap, f"--job-name={mark}", "--time=UNLIMITED", "--wrap", "sleep 1; exit 3"),
    ]
    waiting = slurm.call(
        *wrap, f"--job-name={mark}", "--begin=now+3600", "--array=1-4%2", "--time=2", "--wrap", "true"
    ).strip()
    slurm.wait_until_ended(*(one.strip() for one in submitted))
    queue = tmp_path / "queue.json"
    queue.write_text(slurm.call("squeue", "--json", "--states=all"))
    asked = [one for one in ours(queue, mark, "requested") if one.job_id.startswith(f"{waiting}_")]
    slurm.call("scancel", waiting)
    assert [(one.job_id, one.end - one.start, one.requested) for one in asked] == [
        (f"{waiting}_{task}", 120.0, 120.0) for task in range(1, 5)
    ]
    listed, completed = (ours(path, mark, "leave-out") for path in (queue, slurm.folder / "jobcomp.txt"))
    assert sorted(map(essential, listed)) == sorted(map(essential, completed))
    assert len({record.job_id for record in listed}) == len(listed) == 5
    assert sorted((one.nodes, one.requested) for one in listed if one.program == mark) == [(1, None), (2, 300.0)]


def test_a_real_sacct_says_what_the_jobs_wrote(slurm_with_accounting: Slurm, tmp_path: Path) -> None:
    """A job whose step writes 2 x 20 MB, two with the separator of sacct in their name, one that fails."""
    slurm, file = slurm_with_accounting, tmp_path / "data"
    wrap = ("sbatch", "--parsable", "--output=/dev/null", "--cpus-per-task=1", "--time=5")
    writes = f"srun --nodes=2 --ntasks=2 bash -c 'head -c 20000000 /dev/zero > {file}.$SLURM_PROCID; sleep 4'"
    submitted = [
        slurm.call(*wrap, "--job-name=writer", "--nodes=2", "--ntasks=2", "--wrap", writes),
        slurm.call(*wrap, "--job-name=with|bar", "--array=1-2", "--wrap", "sleep 1"),
        slurm.call(*wrap, "--job-name=fails", "--wrap", "sleep 1; exit 3"),
    ]
    slurm.wait_until_ended(*(one.strip() for one in submitted))
    printed = tmp_path / "sacct.txt"
    command = [*COMMAND.split(), "--starttime=now-1hour"]

    def ended() -> bool:  # slurmctld tells slurmdbd a little later
        printed.write_text(slurm.call(*command))
        read = read_accounting(str(printed), AccountingChoice(unfinished="leave-out"))
        return len(read.records) == 4

    wait_until(ended, lambda: printed.read_text())
    listed = read_accounting(str(printed)).records
    completed = read_accounting(str(slurm.folder / "jobcomp.txt")).records
    assert sorted(map(essential, listed)) == sorted(map(essential, completed))
    (writer,) = (record for record in listed if record.program == "writer")
    assert (writer.nodes, writer.requested) == (2, 300.0)
    assert 40e6 <= writer.volumes["Slurm"][1] < 41e6  # and what the batch script and srun say
    assert sum(record.program == "with|bar" for record in listed) == 2


def ours(path: Path, mark: str, unfinished: str) -> list[JobRecord]:
    """The records of this test."""
    records = read_accounting(str(path), AccountingChoice(unfinished=unfinished)).records
    return [record for record in records if (record.program or "").startswith(mark)]


def essential(record: JobRecord) -> tuple[object, ...]:
    return (
        *(record.job_id, record.name, record.program or "", record.start, record.end, record.nodes, record.user),
        *(record.submit, record.requested or 0.0),
    )
