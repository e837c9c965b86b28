"""Campaigns on local processes: their rows, and what they survive."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import penstock
from penstock import PenstockError, __version__, read, simulate
from penstock.campaign import BOUND, SCHEMA, Campaign, Cell, by_policy, failures, run
from penstock.campaign.cells import canonical
from penstock.campaign.store import OtherVersion, identity
from penstock.campaign.workers import compute
from penstock.model import InputError
from penstock.workloads import Synthetic, synthetic
from tests.campaign.small import POLICIES, campaign, parts, slow_campaign, wait_until, without_seconds


def test_rows_are_what_simulate_gives(tmp_path: Path) -> None:
    small = campaign()
    table = run(small, tmp_path / "out")
    assert table.schema == SCHEMA
    assert table.equals(pq.read_table(tmp_path / "out" / "results.parquet"))
    assert [row["key"] for row in table.to_pylist()] == [cell.key for cell in small.cells]
    for cell, row in zip(small.cells, table.to_pylist(), strict=True):
        workload = synthetic(Synthetic(**cell.parameters), cell.seed)
        result = simulate(workload, cell.policy)
        names = (
            "policy",
            "min_yield",
            "efficiency",
            "utilization",
            "pressure",
            "makespan",
            "events",
            "decisions",
            "begin",
            "end",
        )
        assert {name: row[name] for name in names} == {name: getattr(result, name) for name in names}
        assert row["yields"] == result.yields.tolist()
        assert (row["kind"], row["seed"], row["window"], row["applications"]) == ("synthetic", cell.seed, 0, 6)
        assert row["parameters"] == canonical(cell.parameters)
        assert (row["error"], row["command"]) == (None, cell.command())
        assert row["seconds"] > 0.0


def test_what_rows_say_of_each_application(tmp_path: Path) -> None:
    """Two iterations of 3 s of work and 4 bytes at 2 bytes/s: 5 s a mean iteration, 2/5 of it I/O. None without I/O."""
    path = tmp_path / "w.json"
    path.write_text(
        '{"penstock": 1, "platform": {"bandwidth": 2}, "applications": ['
        '{"lead": 7, "phases": [{"repeat": 2, "phases": [["work", 3], ["io", 4]]}]}, {"phases": [["work", 9]]}]}'
    )
    table = run(Campaign("shape", (Cell("file", {"path": str(path)}, 0, "fcfs"),)), tmp_path / "out")
    assert table["mean_iterations"].to_pylist() == [[5.0, None]]
    assert table["io_fractions"].to_pylist() == [[0.4, 0.0]]
    assert table["makespan"].to_pylist() == [17.0]


RESOURCES = (
    '{"penstock": 1, "platform": {"resources": 2, "buffer": {"size": 3}}, "applications": ['
    '{"curve": {"1": 2, "2": 3}, "placement": [0], "phases": [["work", 3], ["write", 4]]},'
    '{"curve": {"1": 1}, "placement": [0, 1], "phases": [["write", 9], ["read", 2]]}]}'
)


def test_rows_of_resources_and_buffers(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text(RESOURCES)
    workload = read(path)
    cells = [Cell("file", {"path": str(path)}, 0, policy) for policy in ("fcfs", BOUND)]
    found, bound = run(Campaign("placed", tuple(cells)), tmp_path / "out").to_pylist()
    result = simulate(workload, "fcfs", placement=workload.placement)
    assert found["error"] is None
    assert found["placement"] == bound["placement"] == "file"
    for name in ("min_yield", "efficiency", "mean_slowdown", "max_slowdown", "idle_node_seconds"):
        assert found[name] == getattr(result, name)
    assert found["max_stretch_by_dates"] == result.max_stretch
    assert found["max_stretch_by_durations"] == result.max_duration_stretch
    assert found["mean_stretch_by_dates"] == result.mean_stretch
    assert found["mean_stretch_by_durations"] == result.mean_duration_stretch
    assert found["mean_slowdown"] == pytest.approx(found["mean_allocation_slowdown"] + found["mean_congestion_slowdown"])
    # b(2)/b(1) = 3/2 of the first; the second one has its best number.
    assert found["mean_allocation_slowdown"] == 1.25
    # Resource 0 carries the first one's 4 bytes at 2 bytes/s and, as resource 1, the second one's 11 bytes at 1 byte/s.
    seconds = [part * (found["end"] - found["begin"]) for part in found["store_utilization"]]
    assert seconds == pytest.approx([4 / 2 + 11, 11])
    assert all(use <= busy + 1e-12 for use, busy in zip(found["store_utilization"], found["occupancy"], strict=True))
    assert found["buffer_size"] == 3.0
    assert 0.0 < found["buffer_peak"] <= 3.0 * (1 + 1e-9)
    assert found["drained"] + found["direct_written"] == pytest.approx(4 + 9)
    assert found["prefetched"] + found["direct_read"] == pytest.approx(2)
    assert found["mean_iterations"] == [5.0, 5.5]  # 3 s and 4 bytes at 2 bytes/s; 9 and 2 bytes at 1 byte/s
    assert bound["occupancy"] is bound["buffer_peak"] is bound["mean_allocation_slowdown"] is None
    assert bound["min_yield"] == penstock.bounds(workload).min_yield >= found["min_yield"]


def test_without_a_placement_there_is_the_default(tmp_path: Path) -> None:
    parameters = {"load": 0.4, "applications": 4, "resources": 3}
    cells = [Cell("distributed", parameters, seed, "fcfs") for seed in (0, 1)]
    rows = run(Campaign("default", tuple(cells)), tmp_path / "out").to_pylist()
    assert [row["error"] for row in rows] == [None, None]
    assert {row["placement"] for row in rows} == {"tcpu + greedy-clairvoyant"}
    path = tmp_path / "w.json"
    path.write_text(RESOURCES.replace('"placement": [0], ', ""))
    (row,) = run(Campaign("mixed", (Cell("file", {"path": str(path)}, 0, "fcfs"),)), tmp_path / "mixed").to_pylist()
    said = "applications[0]: the key 'placement' is missing; expected it for every application, or for none"
    assert row["error"] == f"{path}: {said}"


def test_a_finished_campaign_is_read_and_not_computed(tmp_path: Path) -> None:
    first = run(campaign(), tmp_path / "out")
    before = parts(tmp_path / "out")
    assert run(campaign(), tmp_path / "out").equals(first)  # the seconds too
    assert parts(tmp_path / "out") == before


def test_many_windows_are_ordered_by_window_then_policy(tmp_path: Path) -> None:
    parameters = {"workload": "nersc", "machine": "M_4", "count": 2}
    cells = [Cell("apex", parameters, seed, policy) for seed in (1, 0) for policy in ("fcfs", "fair-share")]
    rows = run(Campaign("apex", tuple(cells)), tmp_path / "out").to_pylist()
    assert [(row["seed"], row["window"], row["policy"]) for row in rows] == [
        (seed, window, policy) for seed in (1, 0) for window in (0, 1) for policy in ("fcfs", "fair-share")
    ]
    assert rows[2]["command"].endswith("&& penstock simulate w/window-01.json --policy fcfs")


def faulty(folder: Path) -> Path:
    """Policies of a user's own: one that gives too much when two are active, one that raises."""
    path = folder / "faulty.py"
    path.write_text(
        "def greedy(view, rates):\n    rates[:] = view.bandwidth\n\n\n"
        "def broken(view, rates):\n    raise ValueError('no\\nway')\n"
    )
    return path


def test_a_failing_cell_is_a_row(tmp_path: Path) -> None:
    path = faulty(tmp_path)
    mixed = campaign(1, ("fcfs", f"{path}:greedy", f"{path}:broken"))
    table = run(mixed, tmp_path / "out")
    rows = table.to_pylist()
    assert [row["error"] is None for row in rows] == [True, False, False] * 2
    assert rows[1]["error"].startswith(f"policy {path}:greedy: at ")
    assert rows[2]["error"].endswith("it failed with ValueError: no way")
    for row in rows[1:3]:
        assert "\n" not in row["error"]
        assert row["command"].endswith(f"&& penstock simulate w.json --policy {row['policy']}")
        assert row["min_yield"] is None
        assert row["yields"] is None
    assert [(row["policy"], row["rows"], row["failed"]) for row in by_policy(table)] == [
        ("fcfs", 2, 0),
        (f"{path}:greedy", 2, 2),
        (f"{path}:broken", 2, 2),
    ]
    assert by_policy(table)[1]["min_yield"] is None
    assert by_policy(table)[0]["min_yield"] == np.mean([rows[0]["min_yield"], rows[3]["min_yield"]])
    assert [failure["key"] for failure in failures(table)] == [row["key"] for row in rows if row["error"]]


def test_a_source_that_fails_makes_rows_too(tmp_path: Path) -> None:
    # 70 of pressure needs more than 60 applications: only the generator itself can tell.
    cells = tuple(Cell("synthetic", {"pressure": 70}, 0, policy) for policy in POLICIES)
    rows = run(Campaign("too much", cells), tmp_path / "out").to_pylist()
    assert [row["error"] for row in rows] == ["pressure: 70.0 needs more than 60 applications"] * 2
    assert [row["window"] for row in rows] == [None, None]


def killer(folder: Path, *, once: bool) -> Path:
    """A policy whose file ends the worker that reads it like kill -9 would, the first time or every time."""
    path, mark = folder / "killer.py", folder / "killed"
    guard = f"not os.path.exists({str(mark)!r})" if once else "True"
    path.write_text(
        "import os\n"
        f"if os.getpid() != {os.getpid()} and {guard}:\n"
        f"    open({str(mark)!r}, 'a').write('x')\n"
        "    os.kill(os.getpid(), 9)\n\n\n"
        "def first(view, rates):\n    rates[:] = 0.0\n    rates[0] = view.cap[0]\n"
    )
    return path


def test_a_task_whose_worker_dies_is_tried_again(tmp_path: Path) -> None:
    path = killer(tmp_path, once=True)
    table = run(campaign(1, ("fcfs", f"{path}:first")), tmp_path / "out", workers=1)
    assert (tmp_path / "killed").read_text() == "x"
    assert table["error"].null_count == len(table) == 4


def test_a_task_that_kills_its_workers_is_given_up(tmp_path: Path) -> None:
    path = killer(tmp_path, once=False)
    deadly = Cell("synthetic", {"pressure": 0.4, "horizon": 1e4}, 0, f"{path}:first")
    both = Campaign("deadly", (deadly, *campaign().cells))
    table = run(both, tmp_path / "out", workers=2)
    rows = table.to_pylist()
    assert (tmp_path / "killed").read_text() == "xxxx"
    assert rows[0]["error"] == "the worker died while it computed this, in 4 of 4 attempts; expected it to go on"
    assert rows[0]["command"] == deadly.command()
    assert without_seconds(table.slice(1)).equals(without_seconds(run(campaign(), tmp_path / "alone")))


def test_workers_that_cannot_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(
        PenstockError, match=r"^a worker process ended with code 1 before it was ready; expected it to start$"
    ):
        run(campaign(), tmp_path / "out")


@pytest.mark.parametrize("workers", [0, -1, True, 1.5])
def test_how_many_workers(tmp_path: Path, workers: int) -> None:
    with pytest.raises(InputError, match=r"^workers: .* is out of range; expected a whole number, 1 or more$"):
        run(campaign(), tmp_path / "out", workers=workers)


def test_a_worker_with_another_version_refuses_the_task() -> None:
    (task, *_) = campaign().tasks
    with pytest.raises(
        OtherVersion,
        match=rf"^the worker on .* has penstock {re.escape(__version__)}, the campaign penstock 0\.0\.9; expected",
    ):
        compute(task, {**identity(), "penstock": "0.0.9"})


def start(folder: Path) -> "subprocess.Popen[str]":
    """A campaign of 12 slow tasks in a process of its own, run by a script that has no guard."""
    script = folder / "script.py"
    # A shell starts background jobs with SIGINT ignored, which children inherit; as from a terminal, it must not be.
    script.write_text(
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from penstock.campaign import run\nfrom tests.campaign.small import slow_campaign\n"
        f"run(slow_campaign(12), {str(folder / 'out')!r}, workers=2)\n"
    )
    folders = (Path(__file__).parents[2], Path(penstock.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    return subprocess.Popen([sys.executable, str(script)], env=environment, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the slow campaign, run without interruption."""
    folder = tmp_path_factory.mktemp("whole")
    run(slow_campaign(12), folder)
    return folder


def test_a_killed_campaign_goes_on_where_it_was(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "out"
    seen: dict[str, tuple[int, int, bytes]] = {}
    for kills in (1, 2):
        process = start(tmp_path)
        wait_until(lambda: len(parts(out)) >= 3 * kills if out.exists() else False)  # noqa: B023
        process.send_signal(signal.SIGKILL)
        process.communicate()
        left = parts(out)
        assert len(left) < 12
        assert not (out / "results.parquet").exists()
        assert {name: left[name] for name in seen} == seen
        seen = left
    (out / "parts" / ".half.parquet").write_bytes(b"as a kill in the middle of writing leaves it")
    table = run(slow_campaign(12), out)
    after = parts(out)
    assert {name: after[name] for name in seen} == seen, "a part was written twice"
    assert len(after) == 12
    assert not list((out / "parts").glob(".*"))
    assert without_seconds(table).equals(without_seconds(pq.read_table(whole / "results.parquet")))
    # The seconds of the first rows are those that were measured before the kills.
    kept = {row["key"]: row["seconds"] for name in seen for row in pq.read_table(out / "parts" / name).to_pylist()}
    assert kept.items() <= {row["key"]: row["seconds"] for row in table.to_pylist()}.items()


def test_an_interrupt_ends_the_workers_and_keeps_the_rows(tmp_path: Path) -> None:
    process = start(tmp_path)
    out = tmp_path / "out"
    wait_until(lambda: len(parts(out)) >= 1 if out.exists() else False)
    workers = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=True).stdout.split()
    assert len(workers) == 2
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]
    assert 1 <= len(parts(out)) < 12


def test_the_bound_stands_beside_the_policies(tmp_path: Path) -> None:
    small = campaign(seeds=2, policies=("greedy-yield", BOUND))
    rows = run(small, tmp_path / "out").to_pylist()
    for cell, row in zip(small.cells, rows, strict=True):
        if cell.policy == BOUND:
            workload = synthetic(Synthetic(**cell.parameters), cell.seed)
            found = penstock.bounds(workload)
            assert (row["min_yield"], row["efficiency"]) == (found.min_yield, found.efficiency)
            assert (row["utilization"], row["yields"], row["error"]) == (None, None, None)
            assert row["command"].endswith("&& penstock bound w.json")
        else:
            assert row["command"].endswith("&& penstock simulate w.json --policy greedy-yield")
    assert [row["policy"] for row in by_policy(pq.read_table(tmp_path / "out" / "results.parquet"))] == [
        "greedy-yield",
        BOUND,
    ]
