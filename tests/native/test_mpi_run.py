"""`penstock run` with MPI launchers, scripts and Slurm steps, and `penstock native build --mpicc`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.model.files import read
from penstock.native.libraries import LIBRARY_PATH
from tests.native.building import NATIVE, need
from tests.native.mpi_jobs import ANYWHERE, BOTH, MPICH, Mpi, family, moved
from tests.native.shimming import SOON, library
from tests.slurm import Slurm

each_mpi = pytest.mark.parametrize("mpi", BOTH, ids=family)
ELEMENTS = "24000"


def penstock_run(mount: Path, *words: str, **more: str) -> tuple[str, dict[str, object]]:
    """What the command prints, and its summary as JSON."""
    library()
    command = [sys.executable, "-m", "penstock", "run", "--mount", str(mount), "--json", "-", *words]
    environment = os.environ | ANYWHERE | {LIBRARY_PATH: str(NATIVE / "build"), "PENSTOCK_DISABLE": "1"} | more
    done = subprocess.run(command, cwd=mount, env=environment, capture_output=True, text=True, timeout=SOON, check=False)
    assert done.returncode == 0, done
    return done.stdout, json.loads(done.stderr.splitlines()[-1])


def ranks(summary: dict[str, object], program: Path) -> tuple[int, int]:
    """Bytes read and written by processes of the program."""
    rows = [row for row in summary["programs"] if row["program"] == program.name]  # type: ignore[attr-defined]
    return sum(row["read"] for row in rows), sum(row["written"] for row in rows)


@each_mpi
def test_a_launcher(mpi: Mpi, tmp_path: Path) -> None:
    program = mpi.compiled("mpi_calls.c")
    mpi.shim()
    out, summary = penstock_run(tmp_path, "--", *mpi.command(program, "file", "bs", ELEMENTS))
    assert ranks(summary, program) == moved(out)


def test_a_script_that_uses_both_mpis(tmp_path: Path) -> None:
    programs = {mpi: mpi.compiled("mpi_calls.c") for mpi in BOTH}
    script = tmp_path / "script"
    lines = [" ".join(mpi.command(program, "file", "b", ELEMENTS)) for mpi, program in programs.items()]
    script.write_text("\n".join(["#!/bin/sh", *lines]))
    script.chmod(0o755)
    for mpi in BOTH:
        mpi.shim()
    out, summary = penstock_run(tmp_path, "--", str(script))
    both = [ranks(summary, program) for program in programs.values()]
    assert (both[0][0] + both[1][0], both[0][1] + both[1][1]) == moved(out)


def test_a_trace_has_one_application_for_all_ranks(tmp_path: Path) -> None:
    program = MPICH.compiled("mpi_calls.c")
    MPICH.shim()
    command = MPICH.command(program, "file", "b", ELEMENTS)
    out, _ = penstock_run(tmp_path, "--trace", str(tmp_path / "trace.json"), "--", *command, PENSTOCK_DISABLE="0")
    workload = read(tmp_path / "trace.json")
    (found,) = [application for application in workload.applications if application.name == program.name]
    assert sum(amount for kind, amount in found.phases if kind != "work") == sum(moved(out))


def test_a_slurm_step(slurm: Slurm, tmp_path: Path) -> None:
    """Each task of the step is under a `penstock run` of its own, and the ranks are one MPI program."""
    program = MPICH.compiled("mpi_calls.c")
    MPICH.shim()
    library()
    inner = [sys.executable, "-m", "penstock", "run", "--quiet", "--json", "summary-$SLURM_PROCID.json", "--mount", "."]
    command = f"exec {' '.join(inner)} -- {program} file b {ELEMENTS}"
    environment = os.environ | slurm.environment | ANYWHERE | {LIBRARY_PATH: str(NATIVE / "build")}
    done = subprocess.run(
        ["srun", "--mpi=pmi2", "-N2", "-n2", "--chdir", str(tmp_path), "bash", "-c", command],
        env=environment | {"PENSTOCK_DISABLE": "1"},
        capture_output=True,
        text=True,
        timeout=2 * SOON,
        check=False,
    )
    assert done.returncode == 0, done
    summaries = [json.loads((tmp_path / f"summary-{rank}.json").read_text()) for rank in (0, 1)]
    each = [ranks(summary, program) for summary in summaries]
    assert (each[0][0] + each[1][0], each[0][1] + each[1][1]) == moved(done.stdout)
    assert {line.split()[0] for line in done.stdout.splitlines()} == {"0", "1"}


def test_a_task_prolog_of_slurm(slurm: Slurm, tmp_path: Path) -> None:
    """With the library preloaded as by a profile, and a watched file that prolog and task write: Slurm reads what the prolog
    prints, so nothing may be added to it, not even that there is no coordinator."""
    prolog = tmp_path / "prolog"
    lines = ["#!/bin/bash", f"echo started >> {tmp_path}/log", "echo print hello", "echo export TOLD=yes"]
    prolog.write_text("\n".join(lines))
    prolog.chmod(0o755)
    told = {"LD_PRELOAD": str(library()), "PENSTOCK_MOUNTS": str(tmp_path), "PENSTOCK_SOCKET": str(tmp_path / "nobody")}
    done = subprocess.run(
        ["srun", "-N2", "-n2", f"--task-prolog={prolog}", "bash", "-c", f"echo $TOLD >> {tmp_path}/log; echo $TOLD"],
        env=os.environ | slurm.environment | told,
        capture_output=True,
        text=True,
        timeout=2 * SOON,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ["hello", "hello", "yes", "yes"]
    assert sorted((tmp_path / "log").read_text().splitlines()) == ["started", "started", "yes", "yes"]


def test_building_for_an_mpi(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    need("make", "cc", "mpicc.mpich")
    monkeypatch.setenv("CFLAGS", "-O0")
    assert main(["native", "build", "--mpicc", "mpicc.mpich", "-o", str(tmp_path)]) == 0
    assert str(tmp_path / "mpi" / "mpich" / "libpenstock-mpi.so") in capsys.readouterr().out.splitlines()


def test_a_compiler_that_is_of_no_mpi(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need("make", "cc")
    assert main(["native", "build", "--mpicc", "cc", "-o", str(tmp_path)]) == 2
    assert "cc is not the C compiler of an MPI" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need("make", "cc")
    (tmp_path / "file").touch()
    assert main(["native", "build", "-o", str(tmp_path / "file")]) == 2
    assert (
        capsys.readouterr().err
        == f"penstock: native: {tmp_path}/file: File exists; expected a folder of yours by --output\n"
    )
