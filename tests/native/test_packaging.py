"""What pip makes of the source tree: a wheel with the C libraries, and one without them where there is no compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

from penstock.native.libraries import LIBRARY_PATH, MPI, mpi_libraries
from tests.native.building import NATIVE, need

ROOT = NATIVE.parent
needs_long = pytest.mark.skipif("PENSTOCK_LONG" not in os.environ, reason="builds wheels; make test-long runs it")
WITHOUT = "without the C libraries, since there is no program 'cc'"


def copied(folder: Path) -> Path:
    """The source tree as a clone has it: builds leave files in it."""
    tree = folder / "tree"
    tree.mkdir()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    ignored = shutil.ignore_patterns("build", "__pycache__", "*.egg-info")
    for name in ("src", "native"):
        shutil.copytree(ROOT / name, tree / name, ignore=ignored)
    return tree


def pip(*arguments: str | Path, **environment: str) -> str:
    """What pip and the build say."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments, "--no-deps", "-v", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def wheel(folder: Path, **environment: str) -> tuple[Path, str]:
    said = pip("wheel", "--wheel-dir", folder / "wheels", copied(folder), **environment)
    (made,) = (folder / "wheels").glob("penstock-*.whl")
    return made, said


def installed(folder: Path, what: Path, *options: str, **environment: str) -> Path:
    """`penstock` of a new environment, which finds what Penstock depends on in the present one."""
    home = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    pip("--python", home / "bin" / "python", "install", *options, what, **environment)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin" / "penstock"


def call(penstock: Path, *arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([penstock, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == code, done
    return done


def check_run(penstock: Path, folder: Path) -> None:
    """A program is watched by the library of this installation."""
    command = ["dd", "if=/dev/zero", f"of={folder / 'file'}", "bs=1000", "count=7", "status=none"]
    done = call(penstock, "run", "--mount", folder, "--trace", folder / "trace.json", "--", *command)
    assert "7 kB written" in done.stderr


@pytest.mark.long
@needs_long
def test_a_wheel_with_libraries(tmp_path: Path) -> None:
    need("cc", "make", "dd")
    made, said = wheel(tmp_path)
    assert "manylinux_" in made.name
    assert "without the C libraries" not in said
    penstock = installed(tmp_path, made)
    shown = call(penstock, "native", "status").stdout
    assert shown.count(str(tmp_path / "venv")) == 2
    check_run(penstock, tmp_path)
    built = call(penstock, "native", "build", "--output", tmp_path / "anew").stdout
    assert str(tmp_path / "anew" / "libpenstock-posix.so") in built


@pytest.mark.long
@needs_long
def test_no_compiler(tmp_path: Path) -> None:
    made, said = wheel(tmp_path, PATH=str(tmp_path))
    assert made.name.endswith("-py3-none-any.whl")
    assert said.count(WITHOUT) == 1
    penstock = installed(tmp_path, made)
    assert "fair-share" in call(penstock, "policies").stdout
    told = call(penstock, "run", "--", "true", code=2).stderr
    assert told.count("\n") == 1
    assert "libpenstock-posix.so: was not built; expected `penstock native build`" in told


@pytest.mark.long
@needs_long
@pytest.mark.parametrize("compiler", [True, False], ids=["with a compiler", "without"])
def test_editable(tmp_path: Path, compiler: bool) -> None:
    tree = copied(tmp_path)
    penstock = installed(tmp_path, tree, "--editable", **({} if compiler else {"PATH": str(tmp_path)}))
    if compiler:
        need("cc", "make")
        check_run(penstock, tmp_path)
    else:
        assert "was not built" in call(penstock, "run", "--", "true", code=2).stderr


@pytest.mark.long
@needs_long
def test_the_sources_are_distributed(tmp_path: Path) -> None:
    tree = copied(tmp_path)
    script = "from setuptools.build_meta import build_sdist; print(build_sdist('dist'))"
    pip("install", "--target", tmp_path / "tools", "setuptools==84.2.1")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "tools")}
    subprocess.run([sys.executable, "-c", script], cwd=tree, check=True, env=environment, capture_output=True)
    (archive,) = (tree / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    expected = {path.relative_to(tree).as_posix() for path in (tree / "native").rglob("*.[chf]*") if path.is_file()}
    assert expected <= names
    assert not any(name.startswith("native/build") for name in names)


def make_install(prefix: Path, *more: str) -> set[str]:
    """The files that it installs."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "-s", "-C", ROOT, "install", f"PREFIX={prefix}", f"BUILD={prefix / 'build'}", *more]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return {path.relative_to(prefix).as_posix() for path in prefix.rglob("*")}


def test_make_install(tmp_path: Path) -> None:
    need("cc", "make", "ld", "objcopy")
    names = make_install(tmp_path)
    assert {"lib/libpenstock-posix.so", "lib/libpenstock.so", "include/penstock.h", "lib/pkgconfig/penstock.pc"} <= names
    assert not any("libpenstock-mpi" in name for name in names)


def test_make_install_for_two_mpis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed one after the other, and found there by `penstock run`."""
    need("cc", "make", "ld", "objcopy", "mpicc.mpich", "mpicc.openmpi")
    for family in ("mpich", "openmpi"):
        make_install(tmp_path, f"MPICC=mpicc.{family}")
    monkeypatch.setenv(LIBRARY_PATH, str(tmp_path / "lib"))
    expected = {family: tmp_path / "lib" / "penstock" / "mpi" / family / MPI for family in ("mpich", "openmpi")}
    assert {family: path for family, path in mpi_libraries().items() if family in expected} == expected
