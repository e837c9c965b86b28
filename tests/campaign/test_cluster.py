"""Campaigns on a real Dask cluster: a scheduler and workers as processes of their own, on the loopback."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import penstock
from penstock import PenstockError
from penstock.campaign import Campaign, Cell, cluster, run
from penstock.campaign.cluster import DaskPool
from penstock.cli.main import main
from penstock.policies.order import fill
from tests.campaign.small import campaign, parts, slow_campaign, wait_until, without_seconds
from tests.campaign.test_command import FILE

QUIET = {**os.environ, "DASK_LOGGING__DISTRIBUTED": "error"}


@contextmanager
def process(*command: str, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    started = subprocess.Popen(
        [sys.executable, "-m", *command], env={**QUIET, **environment}, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@contextmanager
def scheduler(folder: Path, **environment: str) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A scheduler; yields its address and its process."""
    file = folder / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show", "--scheduler-file", str(file))
    with process("distributed.cli.dask_scheduler", *options, **environment) as started:
        wait_until(lambda: file.exists() and file.read_text().endswith("}"))
        yield json.loads(file.read_text())["address"], started


def worker(address: str, folder: Path, **environment: str):  # type: ignore[no-untyped-def]
    options = ("--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder))
    return process("distributed.cli.dask_worker", address, *options, **environment)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with scheduler(tmp_path_factory.mktemp("scheduler")) as (found, _):
        yield found


def test_a_worker_is_killed_in_the_middle(tmp_path: Path, address: str) -> None:
    out, whole = tmp_path / "dask", slow_campaign(16)
    local = run(whole, tmp_path / "local")
    left_at_kill = []

    def kill_in_the_middle(victim: "subprocess.Popen[bytes]") -> None:
        wait_until(lambda: out.exists() and len(parts(out)) >= 3)
        victim.kill()
        left_at_kill.append(len(whole.tasks) - len(parts(out)))

    with worker(address, tmp_path / "a") as victim, worker(address, tmp_path / "b"):
        with DaskPool(address) as pool:
            pool._client.wait_for_workers(2, timeout=60)
        killing = threading.Thread(target=kill_in_the_middle, args=[victim])
        killing.start()
        table = run(whole, out, dask=address)
        killing.join()
        assert victim.wait() == -9
    assert left_at_kill[0] > 2
    assert table["error"].null_count == len(table)
    assert without_seconds(table).equals(without_seconds(local))
    assert [path.name for path in sorted(out.iterdir())] == ["campaign.json", "parts", "results.parquet"]


def test_a_campaign_can_go_on_elsewhere(tmp_path: Path) -> None:
    """Its scheduler is killed; what is there stays, and local processes do the rest."""
    out, whole = tmp_path / "out", slow_campaign(12)

    def kill_in_the_middle(victim: "subprocess.Popen[bytes]") -> None:
        wait_until(lambda: out.exists() and len(parts(out)) >= 2)
        victim.kill()

    with scheduler(tmp_path) as (address, victim), worker(address, tmp_path / "w"):
        killing = threading.Thread(target=kill_in_the_middle, args=[victim])
        killing.start()
        with pytest.raises(PenstockError) as caught:
            run(whole, out, dask=address)
        killing.join()
    assert str(caught.value) == f"Dask scheduler {address}: it went away; the rows so far are kept"
    kept = parts(out)
    assert 2 <= len(kept) < 12
    run(whole, out)
    after = parts(out)
    assert len(after) == 12
    assert {name: after[name] for name in kept} == kept


def test_a_task_that_kills_its_workers_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "killer.py"
    path.write_text(
        "import os, sys\nif 'dask_worker' in sys.argv[0]:\n    os.kill(os.getpid(), 9)\n\n\n"
        "def first(view, rates):\n    rates[0] = view.cap[0]\n"
    )
    deadly = Cell("synthetic", {"pressure": 0.4, "horizon": 1e4}, 0, f"{path}:first")
    once = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}  # Dask's default, 3, would take four workers
    with scheduler(tmp_path, **once) as (address, _), worker(address, tmp_path / "w"):
        (row,) = run(Campaign("deadly", (deadly,)), tmp_path / "out", dask=address).to_pylist()
    assert row["error"] == "the worker died while it computed this, in 1 of 1 attempts; expected it to go on"
    assert row["command"] == deadly.command()


def another_version(folder: Path) -> Path:
    """A folder that holds the package with another version."""
    copy = folder / "other" / "penstock"
    shutil.copytree(Path(penstock.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = (copy / "__init__.py").read_text()
    (copy / "__init__.py").write_text(text.replace('__version__ = "0.2.0"', '__version__ = "0.0.9"'))
    return copy


def test_a_worker_with_another_version(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = another_version(tmp_path)
    out = tmp_path / "out"
    with worker(address, tmp_path / "w", PYTHONPATH=str(other.parent)):
        with pytest.raises(PenstockError) as caught:
            run(campaign(), out, dask=address)
        assert str(caught.value).startswith("Dask worker tcp://127.0.0.1:")
        different = "has penstock 0.0.9, the campaign penstock 0.2.0; expected the same on all workers"
        assert str(caught.value).endswith(different)
        # One that comes after the campaign has begun is refused by its first task.
        monkeypatch.setattr(DaskPool, "_check_workers", lambda pool: None)
        with pytest.raises(PenstockError) as caught:
            run(campaign(), out, dask=address)
        assert str(caught.value).endswith(different)
        assert not parts(out)


def test_a_worker_or_a_scheduler_without_campaigns(tmp_path: Path, address: str) -> None:
    other = another_version(tmp_path)
    shutil.rmtree(other / "campaign")
    missing = "ModuleNotFoundError: No module named 'penstock.campaign'; expected penstock of this version there"
    with worker(address, tmp_path / "w", PYTHONPATH=str(other.parent)), pytest.raises(PenstockError) as caught:
        run(campaign(), tmp_path / "out", dask=address)
    assert str(caught.value).startswith("Dask worker tcp://127.0.0.1:")
    assert str(caught.value).endswith(missing)
    old = scheduler(tmp_path, PYTHONPATH=str(other.parent))
    with old as (there, _), worker(there, tmp_path / "v"), pytest.raises(PenstockError) as caught:
        run(campaign(), tmp_path / "out", dask=there)
    assert str(caught.value).startswith(f"Dask scheduler {there}: it fails with ")
    assert str(caught.value).endswith("; expected penstock of this version on the scheduler")
    assert not parts(tmp_path / "out")


def test_an_unreachable_scheduler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "tiny.yaml", tmp_path / "out"
    file.write_text(FILE)
    assert main(["campaign", str(file), "--out", str(out), "--dask", "tcp://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err == (
        "penstock: Dask scheduler tcp://127.0.0.1:9: no answer; "
        "expected the address of a running scheduler, such as tcp://127.0.0.1:8786\n"
    )


@pytest.mark.parametrize("wrong", ["127.0.0.1:port", "ftp://127.0.0.1:9", ""])
def test_what_is_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 1)
    with pytest.raises(
        PenstockError, match=f"^Dask scheduler {wrong}: .*; expected the address of a running scheduler, such as"
    ):
        run(campaign(), tmp_path / "out", dask=wrong)


def test_a_cluster_without_workers(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 1)
    with pytest.raises(PenstockError) as caught:
        run(campaign(), tmp_path / "out", dask=address)
    assert str(caught.value) == f"Dask scheduler {address}: it has had no worker for 1 s; expected one or more"


def test_without_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(PenstockError, match=r"^Dask is not installed; expected it from pip install 'penstock\[dask\]'$"):
        run(campaign(), tmp_path / "out", dask="tcp://127.0.0.1:9")


def by_age(view, rates):  # type: ignore[no-untyped-def]
    fill(view, view.posted, rates)


def test_a_policy_that_no_worker_can_import_goes_to_it(tmp_path: Path, address: str) -> None:
    described = campaign(1, (by_age, "fcfs"), "own")
    with worker(address, tmp_path / "worker"):
        table = run(described, tmp_path / "out", dask=address)
    assert table["error"].null_count == len(table) == 4
    yields = table["min_yield"].to_pylist()
    assert yields[::2] == yields[1::2]
