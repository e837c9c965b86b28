"""Campaigns in the jobs of a real Slurm that is private to the tests."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pyarrow.parquet as pq
import pytest

import penstock
from penstock import PenstockError
from penstock.campaign import cluster as jobs
from penstock.campaign import run
from penstock.campaign.cluster import SlurmSettings
from penstock.cli.campaign import DASK_HELP
from penstock.cli.main import main
from penstock.model import InputError
from tests.campaign.small import campaign, parts, slow_campaign, wait_until, without_seconds
from tests.campaign.test_cluster import another_version
from tests.campaign.test_command import FILE
from tests.slurm import Slurm

ONE_JOB = "slurm:jobs=1:walltime=5 min"


@pytest.fixture
def site(slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """This process as a user's on a login node; a test may change the site's settings."""
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jobs, "CHECK_SECONDS", 0.5)
    monkeypatch.setattr(dask.config, "PATH", str(tmp_path / "dask"))  # dask-jobqueue puts a copy of its settings there
    jobs._imported()
    with dask.config.set({"jobqueue.slurm": {**dask.config.get("jobqueue.slurm"), "queue": "main", "interface": "lo"}}):
        yield dask.config.get("jobqueue.slurm")
    wait_until(lambda: not slurm.jobs(), 20)


def submitted(slurm: Slurm) -> set[str]:
    """The numbers of all jobs, also of those that have ended."""
    return set(slurm.call("squeue", "--states=all", "--noheader", "--format=%i").split())


def test_the_rows_are_those_of_local_processes(
    site: dict[str, Any], slurm: Slurm, capfd: pytest.CaptureFixture[str]
) -> None:
    before = submitted(slurm)
    Path("tiny.yaml").write_text(FILE)
    assert main(["campaign", "tiny.yaml", "--out", "local"]) == 0
    capfd.readouterr()
    assert main(["campaign", "tiny.yaml", "--out", "jobs", "--dask", "slurm:jobs=2:walltime=5 min:memory=1 GB"]) == 0
    assert capfd.readouterr().err == ""
    wait_until(lambda: not slurm.jobs(), 20)
    local, remote = (pq.read_table(Path(folder, "results.parquet")) for folder in ("local", "jobs"))
    assert without_seconds(remote).equals(without_seconds(local))
    assert len(submitted(slurm) - before) == 2


def test_a_job_that_ends_is_replaced_and_an_interrupt_cancels_it(site: dict[str, Any], slurm: Slurm, tmp_path: Path) -> None:
    script, out, whole = tmp_path / "script.py", tmp_path / "out", slow_campaign(40)
    script.write_text(
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from penstock.campaign import run, cluster\nfrom tests.campaign.small import slow_campaign\n"
        f"cluster.CHECK_SECONDS = 0.5\nrun(slow_campaign(40), {str(out)!r}, dask='slurm:jobs=1:interface=lo')\n"
    )
    folders = (Path(__file__).parents[2], Path(penstock.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), "DASK_CONFIG": str(tmp_path / "dask")}
    process = subprocess.Popen([sys.executable, str(script)], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: out.exists() and len(parts(out)) >= 1)
        (first,) = slurm.jobs()
        slurm.call("scancel", first)
        wait_until(lambda: bool(slurm.jobs()) and first not in slurm.jobs())
        before = len(parts(out))
        wait_until(lambda: len(parts(out)) > before)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert said.endswith("KeyboardInterrupt\n")
    wait_until(lambda: not slurm.jobs(), 20)
    assert 2 <= len(parts(out)) < len(whole.tasks)


def test_when_all_jobs_have_gone(
    site: dict[str, Any], slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing replaces them within the wait: the campaign ends, and what is there stays."""
    monkeypatch.setattr(jobs, "CHECK_SECONDS", 1000.0)
    wait_for_worker = jobs._wait_for_worker
    monkeypatch.setattr(jobs, "_wait_for_worker", lambda cluster, name, patience: wait_for_worker(cluster, name, 120.0))
    out = tmp_path / "out"

    def cancel_in_the_middle() -> None:
        wait_until(lambda: out.exists() and len(parts(out)) >= 1)
        slurm.call("scancel", *slurm.jobs())

    cancelling = threading.Thread(target=cancel_in_the_middle)
    cancelling.start()
    with pytest.raises(
        PenstockError,
        match=r"^Dask scheduler tcp://127\.0\.0\.1:\d+: it has had no worker for 1 s; the rows so far are kept$",
    ):
        run(slow_campaign(40), out, dask=f"{ONE_JOB}:wait=1 s")
    cancelling.join()
    assert parts(out)


def refused(tmp_path: Path, settings: str = ONE_JOB) -> str:
    with pytest.raises(PenstockError) as caught:
        run(campaign(), tmp_path / "out", dask=settings)
    assert not parts(tmp_path / "out")
    return str(caught.value)


def test_a_job_that_slurm_refuses(site: dict[str, Any], tmp_path: Path) -> None:
    said = refused(tmp_path, f"{ONE_JOB}:queue=nowhere")
    assert said.startswith("Slurm: sbatch fails with 'sbatch: error: invalid partition specified: nowhere")
    assert said.endswith("'; expected settings that the site accepts")


def test_a_job_that_does_not_start(site: dict[str, Any], slurm: Slurm, tmp_path: Path) -> None:
    site["job-extra-directives"] = ["--hold"]
    said = refused(tmp_path, f"{ONE_JOB}:wait=1 s")
    assert re.fullmatch(
        r"Slurm: no worker came within 1 s \(job \d+ is PENDING, JobHeldUser\); "
        r"expected one, or a longer wait, as slurm:wait=2h",
        said,
    )
    assert not slurm.jobs()


def test_jobs_that_end_before_a_worker_comes(site: dict[str, Any], tmp_path: Path) -> None:
    site["job-script-prologue"] = ["echo no module here", "exit 3"]
    assert refused(tmp_path) == (
        "Slurm: the jobs ended before a worker came; expected them to go on; slurm-*.out holds what they wrote"
    )
    (log,) = tmp_path.glob("slurm-*.out")
    assert log.read_text() == "no module here\n"


def test_a_job_with_another_version(site: dict[str, Any], tmp_path: Path) -> None:
    site["job-script-prologue"] = [f"export PYTHONPATH={another_version(tmp_path).parent}"]
    said = refused(tmp_path, f"{ONE_JOB}:cores=2")
    assert said.startswith("Dask worker tcp://127.0.0.1:")
    assert said.endswith("has penstock 0.0.9, the campaign penstock 0.2.0; expected the same on all workers")


def test_a_scheduler_that_cannot_start(site: dict[str, Any], tmp_path: Path) -> None:
    site["interface"] = "ib7"
    said = refused(tmp_path)
    assert said.startswith("Slurm: its Dask scheduler fails with RuntimeError: ")
    assert "'ib7'" in said
    assert said.endswith("; expected settings that fit this machine")


def test_without_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(tmp_path) == "Slurm: there is no sbatch on this machine; expected one that submits to Slurm"


def test_without_dask_jobqueue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sbatch = tmp_path / "sbatch"
    sbatch.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    assert refused(tmp_path) == "dask-jobqueue is not installed; expected it from pip install 'penstock[slurm]'"


def test_a_slurm_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\nexec sleep 60\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(jobs, "ANSWER_SECONDS", 0.1)
    assert jobs._left("penstock-1") is None
    with pytest.raises(PenstockError, match=r"^Slurm: squeue has not answered for 0\.1 s; expected an answer$"):
        jobs._slurm("squeue")


def test_settings() -> None:
    assert SlurmSettings.of("slurm") == SlurmSettings(4, 600.0, {})
    text = "slurm:jobs=8:queue=long:account=a1:walltime=90 s:cores=2:memory=4 GiB:interface=lo:wait=1 h"
    settings = SlurmSettings.of(text)
    job = {"queue": "long", "account": "a1", "walltime": "2", "cores": 2, "memory": 2**32, "interface": "lo"}
    assert settings == SlurmSettings(8, 3600.0, job)
    assert settings.options({"cores": 32, "memory": "1 GB"}) == {**job, "processes": 2}
    bare = SlurmSettings.of("slurm")
    assert bare.options({"cores": None, "memory": None}) == {"cores": 1, "processes": 1, "memory": 2_000_000_000}
    assert bare.options({"cores": 3, "memory": "5 GB"}) == {"cores": 3, "processes": 3, "memory": "5 GB"}
    assert bare.options({"cores": 3}) == {"cores": 3, "processes": 3, "memory": 6_000_000_000}


KEYS = "jobs, queue, account, walltime, cores, memory, interface, wait"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slurm:nodes=3", f"dask slurm: unknown setting 'nodes'; expected one of {KEYS}"),
        ("slurm:", "dask slurm:: '' is no setting; expected slurm:key=value, a time as in 90min"),
        (
            "slurm:walltime=01:30:00",
            "dask slurm:walltime=01:30:00: '30' is no setting; expected slurm:key=value, a time as in 90min",
        ),
        ("slurm:jobs=0", "dask slurm: jobs: 0 is not a number of jobs; expected a whole number, 1 or more"),
        ("slurm:jobs=two", "dask slurm: jobs: 'two' is not a number of jobs; expected a whole number, 1 or more"),
        ("slurm:jobs=" + "9" * 20, f"jobs: '{'9' * 20}' is not a number of jobs; expected a whole number, 1 or more"),
        ("slurm:cores=1.5", "dask slurm: cores: '1.5' is not a number of cores; expected a whole number, 1 or more"),
        ("slurm:wait=0", "dask slurm: wait: '0' is no time; expected seconds above 0"),
        ("slurm:walltime=-1 h", "dask slurm: walltime: '-1 h' is negative; expected a finite number of seconds, 0 or more"),
        ("slurm:walltime=1 hour", "dask slurm: walltime: '1 hour' has the unknown unit 'hour'; expected one of ns, "),
        ("slurm:memory=0 GB", "dask slurm: memory: '0 GB' is no memory; expected bytes above 0"),
        ("slurm:memory=2G", "dask slurm: memory: '2G' has the unknown unit 'G'; expected one of B, "),
        ("slurm:queue=", "dask slurm: queue: '' is no name; expected one without spaces"),
        ("slurm:account=a b", "dask slurm: account: 'a b' is no name; expected one without spaces"),
        ("slurm:interface=ib7", "dask slurm: interface: 'ib7' is no network interface of this machine; expected one of lo"),
    ],
)
def test_wrong_settings(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        run(campaign(), tmp_path / "out", dask=text)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_the_help_has_all_keys() -> None:
    assert f"(keys: {KEYS})" in DASK_HELP
