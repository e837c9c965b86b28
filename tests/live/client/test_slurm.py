"""A job of a real Slurm presents itself as what it is."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path

from tests.live.server.running import running
from tests.slurm import Slurm

PROGRAM = """
from penstock.live.client import Job
with Job(patience=30) as job, job.io(1000) as io:
    io.write(open({out!r}, "wb", buffering=0), bytes(1000))
    print(job.state.coordinated)
"""


def test_a_batch_job_is_known_by_its_name_nodes_and_user(slurm: Slurm, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(out=out))
    with running(tmp_path) as it:
        seen = []
        it.call(lambda: watch(it.server.core, seen))
        command = f"PENSTOCK_SOCKET={it.settings.socket} {sys.executable} {program}"
        slurm.call("sbatch", "--wait", "--nodes=2", "--job-name=climate", f"--output={tmp_path}/said", f"--wrap={command}")
        assert (tmp_path / "said").read_text() == "True\n"
    (application,) = seen
    assert application.nodes == 2
    assert application.user == pwd.getpwuid(os.getuid()).pw_name
    assert application.job.startswith("climate")
    assert 0.0 <= application.done < 120.0
    assert Path(out).read_bytes() == bytes(1000)


def watch(core, seen) -> None:
    """Keep every client that registers."""
    add = core.registry.add

    def adding(*arguments):
        seen.append(add(*arguments))
        return seen[-1]

    core.registry.add = adding
