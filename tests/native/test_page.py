"""The programs on the page "C and Fortran" compile as it says, and are coordinated."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from penstock.live.protocol import Inform, Release
from tests.live.client.scripted import Scripted
from tests.native.building import NATIVE, built, make, need
from tests.native.test_library import run

PAGE = (NATIVE.parent / "docs/c.md").read_text(encoding="utf-8")


def shell(line: str, folder: Path, home: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    told = kept | {"HOME": str(home), "PKG_CONFIG_PATH": str(home / "penstock/lib/pkgconfig")}
    done = subprocess.run(["bash", "-c", line], cwd=folder, env=told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with the library installed as the page says."""
    built()
    folder = tmp_path_factory.mktemp("home")
    assert "make -C native install PREFIX=$HOME/penstock" in PAGE
    make(f"PREFIX={folder}/penstock", "install")
    return folder


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def lines(program: str) -> list[str]:
    return re.findall(rf"^{program} .*$", PAGE, re.MULTILINE)


def test_the_program_in_c(home: Path, tmp_path: Path, folder: Path) -> None:
    need("pkg-config")
    (tmp_path / "climate.c").write_text(block("c"))
    (compile_it,) = lines("cc")
    shell(compile_it, tmp_path, home)
    with Scripted(folder / "socket") as server:
        said = run("./climate", folder=tmp_path, PENSTOCK_SOCKET=server.address)
        heard = [type(message).__name__ for _, message in server.heard]
    assert said == "moved 100000000 bytes\n"
    assert (tmp_path / "step.dat").read_bytes() == bytes(50_000_000)
    operation = ["Inform", "Release"]
    assert [kind for kind in heard if kind not in ("Report", "Beat")] == ["Register", *operation, *operation, "Leave"]


def test_the_program_in_fortran(home: Path, tmp_path: Path, folder: Path) -> None:
    need("gfortran")
    (tmp_path / "solver.f90").write_text(block("fortran"))
    for line in lines("gfortran"):
        shell(line, tmp_path, home)
    with Scripted(folder / "socket") as server:
        said = run("./solver", folder=tmp_path, PENSTOCK_SOCKET=server.address)
        inform, release = server.of(Inform), server.of(Release)
    assert said == "done\n"
    assert [(message.volume, message.rounds) for message in inform] == [(8e6, 4)]
    assert [message.moved for message in release] == [8e6]
    assert (tmp_path / "field.dat").stat().st_size == 8_000_000
