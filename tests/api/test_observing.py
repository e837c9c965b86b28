"""What steering would have gained on a recorded run: two operations whose times are known in closed form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock
from penstock.cli.main import main
from penstock.live.core.recording import CompletedOperation
from penstock.live.server.journal import Clock, Journal, JournalEntry, Present
from penstock.model import InputError


def operation(number: int, job: str, end: float, volume: float) -> CompletedOperation:
    return CompletedOperation(number, job, 3600, 10.0, registered=100.0, posted=100.0, end=end, volume=volume, rounds=1)


def written(path: Path, *operations: CompletedOperation) -> str:
    """A journal of a coordinator that shares 10 bytes/s by coordinating, and has seen these operations."""
    journal = Journal(str(path))
    mark = Clock().mark()
    present = Present(200.0, mark.monotonic, mark.wall, mark.boot, 10.0, "coordinating", "coordinating", 3)
    journal.commit(JournalEntry(present, [], [], {}, full=True), list(operations))
    journal.close()
    return str(path)


@pytest.fixture
def journal(tmp_path: Path) -> str:
    """Interfering, 40 and 10 bytes from one date on: the small one ends after 2 s and the large one after 5."""
    return written(tmp_path / "journal", operation(1, "large", 105.0, 40.0), operation(2, "small", 102.0, 10.0))


def test_the_small_one_first_would_have_saved_an_hour(journal: str) -> None:
    # 3600 nodes each: a second is a node-hour. As it ran 5 + 2 s; the small one first: 5 + 1 s.
    found = penstock.observed(journal)
    assert (found.applications, found.operations) == (2, 2)
    recorded, before, after = found.runs
    assert [row["run"] for row in found.runs] == ["recorded", "interfering, as it ran", "coordinating"]
    assert [row["node_hours"] for row in found.runs] == pytest.approx([7.0, 7.0, 6.0])
    assert [row["min_yield"] for row in found.runs] == pytest.approx([0.5, 0.5, 0.8])
    assert [row["max_stretch"] for row in found.runs] == pytest.approx([2.0, 2.0, 1.25])
    assert {name: before[name] for name in before if name != "run"} == pytest.approx(
        {name: recorded[name] for name in recorded if name != "run"}
    )
    assert found.saved_node_hours == pytest.approx(1.0)
    assert found.sentence == (
        "coordinating would have saved 1 of 7 node-hours in I/O (14%), with a lowest yield of 0.800 instead of 0.500."
    )
    assert after["efficiency"] == pytest.approx(0.5)


def test_a_policy_may_cost_something(journal: str) -> None:
    found = penstock.observed(journal, "fcfs")
    assert found.sentence.startswith("fcfs would have cost 2 of 7 node-hours in I/O (29%), with a lowest yield of 0.200")


def test_a_simulation_that_does_not_describe_the_run_is_called_that(tmp_path: Path) -> None:
    slow = written(tmp_path / "slow", operation(1, "large", 140.0, 40.0))
    assert penstock.observed(slow).sentence.endswith(
        "Recorded were 40 node-hours: the simulation of how it ran is far off, and B may not be right."
    )


def test_the_command_prints_the_same(journal: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ctl", "observed", "--journal", journal, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == penstock.observed(journal).to_dict()
    assert main(["ctl", "observed", "--journal", journal, "--policy", "fcfs"]) == 0
    shown = capsys.readouterr().out
    assert "2 applications, 2 operations" in shown
    assert "fcfs would have cost 2 of 7 node-hours" in shown


def test_nothing_recorded_is_refused(journal: str) -> None:
    with pytest.raises(InputError, match="recording: no operation has ended in that time"):
        penstock.observed(journal, last="10 s")
