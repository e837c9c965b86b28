"""Every output of Slurm is recognised by its content, and a wrong file is one clear line."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import InputError
from penstock.workloads.importers.accounting import Accounting, read_accounting
from penstock.workloads.importers.slurm_formats import COMMAND, AccountingChoice
from tests.naive.profiles import examples
from tests.workloads.importers.outputs import COLUMNS, COMPLETION, SACCT, row, step, write

UTC = AccountingChoice(time_zone="UTC")


def accounting(path: Path, text: str, choice: AccountingChoice = UTC) -> Accounting:
    path.write_text(text)
    return read_accounting(str(path), choice)


def rows(read: Accounting) -> list[tuple[object, ...]]:
    """Name, id, seconds, nodes, user, requested time and bytes of each record."""
    return [
        (one.name, one.job_id, one.end - one.start, one.nodes, one.user, one.requested, one.volumes.get("Slurm"))
        for one in read.records
    ]


def test_sacct(tmp_path: Path) -> None:
    read = accounting(tmp_path / "sacct.txt", SACCT)
    assert read.format == "sacct -P"
    assert rows(read) == [
        ("job-1", "1", 4.0, 2, "ann", 300.0, (65_238.0 + 41_986_562.0, 3_850.0 + 41_943_229.0)),
        ("job-3", "3", 3.0, 1, "ann", None, None),
        ("job-5", "5", 4.0, 1, "bob", 120.0, (11_085.0, 1.0)),
        ("job-7", "7", 4.0, 1, "bob", 120.0, None),
        ("job-10", "10", 103.0, 1, "ann", 1800.0, None),
        ("job-2_1", "11", 2.0, 1, "ann", 120.0, (11_083.0, 1.0)),
    ]
    assert read.counts == {
        "lines": 13,
        "jobs kept": 6,
        "lines with the separator in a text, put right": 1,
        "steps merged into their jobs": 5,
        "steps of which Slurm has no bytes": 1,
        "left out, waiting": 5,
        "running, taken as far as they came": 1,
    }
    assert read.records[-1].program == "arr|pipe"
    assert read.records[0].group == "physics"
    assert read.records[0].submit == read.records[0].start == 1_795_032_753.0


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "|\n"),  # sacct -p
        lambda text: text.replace("arr|pipe", "arr-pipe").replace("|", ";;"),  # --delimiter
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text + "\n\n" + text.splitlines()[0],  # two outputs, of which the second is empty
    ],
    ids=["-p", "--delimiter", "windows", "mark", "header twice"],
)
def test_other_forms_of_sacct(tmp_path: Path, change: Any) -> None:
    expected = rows(accounting(tmp_path / "a.txt", SACCT))
    (tmp_path / "b.txt").write_bytes(change(SACCT).encode())
    assert rows(read_accounting(str(tmp_path / "b.txt"), UTC)) == expected


def test_compressed_and_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rows(accounting(tmp_path / "a.txt", SACCT))
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(SACCT.encode()))
    assert rows(read_accounting(str(tmp_path / "a.txt.gz"), UTC)) == expected
    monkeypatch.setattr("sys.stdin", io.StringIO(SACCT))
    assert rows(read_accounting("-", UTC)) == expected


def test_lines_with_too_few_or_too_many_columns_are_counted(tmp_path: Path) -> None:
    """A separator in the name of the job is put right; one in the state is not."""
    path = write(tmp_path / "a.txt", row("1"), row("2", JobName="a|b"), "3|3|short", row("4", State="DONE NOT 1|2"))
    read = read_accounting(path, UTC)
    assert [record.job_id for record in read.records] == ["1", "2"]
    assert read.counts["lines that cannot be read"] == 2
    assert read.failures == (
        ("line 4", "3 columns; expected 15, as in the header"),
        ("line 5", "16 columns; expected 15, as in the header"),
    )


def test_job_completion(tmp_path: Path) -> None:
    read = accounting(tmp_path / "jobcomp.txt", COMPLETION)
    assert read.format == "jobcomp/filetxt"
    assert rows(read) == [
        ("job-2_2", "12", 2.0, 1, "ann", 120.0, None),
        ("job-3", "3", 3.0, 2, "bob", None, None),
        ("job-7", "7", 3.0, 1, "bob", 120.0, None),
    ]
    assert read.records[0].program == "a long | name"
    assert read.counts == {
        "lines": 5,
        "jobs kept": 3,
        "left out, ran for 0 s": 1,
        "left out, cancelled while they waited": 1,
    }


def job(number: int, **more: object) -> dict[str, object]:
    """A job of ``squeue --json`` that runs since 100 s."""
    return {
        "job_id": number,
        "name": "climate",
        "user_name": "ann",
        "account": "physics",
        "job_state": "RUNNING",
        "node_count": 2,
        "submit_time": 1_000_000.0,
        "start_time": 1_000_100,
        "end_time": 1_003_700,
        "time_limit": 60,
        "last_sched_evaluation": 1_000_200,
        **more,
    }


def queue(path: Path, *jobs: object, choice: AccountingChoice = UTC, **more: object) -> Accounting:
    return accounting(path, json.dumps({"jobs": jobs, **more}, indent=1), choice)


def test_squeue(tmp_path: Path) -> None:
    listed = (
        job(1),
        job(2, job_state="PENDING", start_time=1_009_999, nodes=""),  # Slurm says when it expects to start it
        job(3, array_job_id=3, array_task_string="1-4%2", job_state="PENDING"),
        job(4, array_job_id=9, array_task_id=7, job_state="COMPLETED", end_time=1_000_130, time_limit=None),
    )
    read = queue(tmp_path / "a.json", *listed)
    assert (read.format, read.counts) == (
        "squeue --json",
        {"jobs listed": 4, "jobs kept": 2, "running, taken as far as they came": 1, "left out, waiting": 5},
    )
    assert rows(read) == [
        ("job-1", "1", 100.0, 2, "ann", 3600.0, None),
        ("job-9_7", "4", 30.0, 2, "ann", None, None),
    ]
    asked = queue(tmp_path / "a.json", *listed, choice=AccountingChoice(unfinished="requested"))
    assert rows(asked)[:2] == [
        ("job-1", "1", 3600.0, 2, "ann", 3600.0, None),
        ("job-2", "2", 3600.0, 2, "ann", 3600.0, None),
    ]
    assert [record.name for record in asked.records[2:6]] == ["job-3_1", "job-3_2", "job-3_3", "job-3_4"]
    assert {record.start for record in asked.records[1:6]} == {1_000_200.0}  # the latest date that has passed
    gone = queue(tmp_path / "a.json", *listed, choice=AccountingChoice(unfinished="leave-out"))
    assert gone.counts == {"jobs listed": 4, "jobs kept": 1, "left out, running": 1, "left out, waiting": 5}


def test_newer_versions_wrap_their_numbers(tmp_path: Path) -> None:
    def number(value: int, **more: bool) -> dict[str, object]:
        return {"set": True, "infinite": False, "number": value, **more}

    new = job(
        1,
        job_state=["RUNNING"],
        node_count=number(2),
        submit_time=number(1_000_000),
        start_time=number(1_000_100),
        end_time=number(1_003_700),
        time_limit=number(60),
        array_task_id=number(0, set=False),
        array_job_id=number(0),
        last_sched_evaluation=number(1_000_200),
    )
    endless = job(2, time_limit=number(0, infinite=True))
    read = queue(tmp_path / "a.json", new, endless, last_update=number(1_000_300))
    assert rows(read) == [
        ("job-1", "1", 200.0, 2, "ann", 3600.0, None),
        ("job-2", "2", 200.0, 2, "ann", None, None),
    ]


def test_sacct_json(tmp_path: Path) -> None:
    def tres(read: int, written: int) -> dict[str, object]:
        kinds = (("requested", read), ("consumed", written))
        return {way: {"total": [{"type": "fs", "name": "disk", "count": count}]} for way, count in kinds}

    one = {
        "job_id": 5,
        "array": {"job_id": 4, "task_id": 2, "task": None},
        "user": "ann",
        "account": "physics",
        "name": "climate",
        "allocation_nodes": 3,
        "state": {"current": "COMPLETED"},
        "time": {"elapsed": 60, "start": 1_000_100, "end": 1_000_160, "submission": 1_000_000, "limit": 5},
        "steps": [{"tres": tres(10, 20)}, {"tres": tres(1, 2)}, {"tres": {}}, 7],
    }
    read = queue(tmp_path / "a.json", one)
    assert (read.format, rows(read)) == ("sacct --json", [("job-4_2", "5", 60.0, 3, "ann", 300.0, (11.0, 22.0))])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", f"is empty; expected what {COMMAND} prints"),
        ("1|writer|main|root|2|COMPLETED|0:0\n", "has no column JobID; expected the header of sacct"),
        ("root:x:0:0:root:/root:/bin/bash\n", "has no column JobID; expected the header of sacct"),
        (
            "JobID           JobName  Partition\n------- --- ---\n1 a b\n",
            "is a table of sacct, which cuts off what is too wide",
        ),
        ("JobID|JobName|State\n1|a|COMPLETED\n", "the columns Start, Elapsed (or End), NNodes are missing; expected sacct"),
        ("JobID|Start|NNodes\n", "the columns Elapsed (or End) are missing"),
        ("JobID|Start|End|NNodes\n", "holds no job that can be read; expected jobs, as sacct"),
        ("JobID|Start|End|NNodes\n1|soon|later|1\n", "e.g. line 2: 'soon' is no date"),
        ("{", "is no JSON or ends too early"),
        ('{"nodes": []}', "has no list of jobs; expected the output of squeue --json"),
        ('{"jobs": {}}', "has no list of jobs; expected the output of squeue --json"),
        ('{"jobs": [3]}', "e.g. jobs[0]: 3 is no job; expected an object"),
        ("JobId=1 Name=x\n", "lacks JobId, StartTime or EndTime; expected a line of jobcomp/filetxt"),
        ("\x00\x01\x02", "has no column JobID"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        accounting(tmp_path / "a.txt", text)
    assert str(caught.value).startswith(f"{tmp_path / 'a.txt'}: ")
    assert error in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(SACCT.encode())[:100])
    (tmp_path / "b.gz").write_text(SACCT)
    for name, error in (("a.gz", "ends too early"), ("b.gz", "is not gzip"), ("c", "No such file"), ("", "Is a directory")):
        with pytest.raises(InputError, match=error):
            read_accounting(str(tmp_path / name), UTC)


@pytest.mark.parametrize("choice", [{"time_zone": "Mars/Olympus"}, {"unfinished": "maybe"}, {"cores_per_node": -1}])
def test_wrong_choices(choice: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(choice))):
        AccountingChoice(**choice)


VALID = (
    SACCT,
    COMPLETION,
    json.dumps({"jobs": [job(1), job(2, job_state="PENDING"), job(3, array_job_id=3, array_task_string="1-4%2")]}, indent=1),
    "\n".join(("|".join(COLUMNS), row("1"), step("1.0", 10, 20), row("1", Start="2026-03-02T12:00:00"))),
)


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """A good file with parts of it cut out, doubled, moved or replaced."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 6))):
        first, last = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        last = min(last, first + draw(st.sampled_from((1, 8, 200, 10_000))))
        part = text[first:last]
        other = draw(
            st.sampled_from(("", part + part, part[::-1], "|", "=", "\n", "[", "9" * 30, "-1", "NaN", '"', "\x00", "Ω"))
        )
        text = text[:first] + other + text[last:]
    return text


@examples(200)
@given(mangled(), st.sampled_from(("so-far", "requested", "leave-out")))
def test_a_mangled_file_is_read_as_far_as_possible_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, text: str, unfinished: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "mangled.txt"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        read = read_accounting(str(path), AccountingChoice(time_zone="UTC", unfinished=unfinished))
    except InputError as error:
        lines = str(error).count("\n")
        read = None
    else:
        lines = 0
    assert lines == 0
    if read is None:
        return
    for record in read.records:
        assert record.end > record.start
        assert (record.nodes or 0) >= 1
        assert record.requested is None or record.requested > 0.0
        assert all(amount >= 0.0 for amount in record.volumes.get("Slurm", (0.0, 0.0)))
