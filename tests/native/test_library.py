"""The library as it is built, installed and linked, and what sanitizers, a fuzzer and valgrind find in it: nothing."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from penstock import __version__
from tests.naive.profiles import LONG
from tests.native.building import NATIVE, built, make, need
from tests.native.conftest import Serve

MINUTES = 600.0
HEADER = (NATIVE / "include/penstock.h").read_text(encoding="utf-8")
FUNCTIONS = set(re.findall(r"PENSTOCK_API [^;(]*?\*?(penstock_\w+)\(", HEADER))


def run(*command: object, folder: Path | None = None, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=MINUTES,
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, installed."""
    built()
    folder = tmp_path_factory.mktemp("prefix")
    make(f"PREFIX={folder}", "install")
    return folder


def flags(prefix: Path, *options: str) -> list[str]:
    need("pkg-config")
    return run("pkg-config", *options, "penstock", PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig")).split()


def test_the_version_is_that_of_the_package() -> None:
    assert re.search(r'PENSTOCK_VERSION "(.*)"', HEADER).group(1) == __version__  # type: ignore[union-attr]


def test_only_the_api_is_visible() -> None:
    assert len(FUNCTIONS) == 25
    for library, options in (("libpenstock.so", ["-D"]), ("libpenstock.a", ["-g"])):
        lines = run("nm", *options, "--defined-only", built() / library).splitlines()
        names = {line.split()[-1].split("@")[0] for line in lines if len(line.split()) == 3}
        assert names - {"PENSTOCK_0"} == FUNCTIONS, library


def test_it_needs_only_libc() -> None:
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", built() / "libpenstock.so"))
    assert set(needed) - {"ld-linux-x86-64.so.2"} == {"libc.so.6"}
    assert "[libpenstock.so.0]" in run("readelf", "-d", built() / "libpenstock.so")


@pytest.mark.parametrize("static", [False, True])
def test_a_program_links_by_pkg_config(prefix: Path, tmp_path: Path, static: bool) -> None:
    program, out = tmp_path / "checkpoint", tmp_path / "out"
    link = [prefix / "lib/libpenstock.a", "-pthread"] if static else flags(prefix, "--libs")
    run("cc", "-std=c11", *flags(prefix, "--cflags"), NATIVE / "examples/cmake/checkpoint.c", "-o", program, *link)
    run(program, out, LD_LIBRARY_PATH="" if static else str(prefix / "lib"), PENSTOCK_DISABLE="1")
    assert out.read_bytes() == bytes(8_000_000)


def test_the_cmake_example(prefix: Path, tmp_path: Path) -> None:
    need("cmake", "pkg-config")
    place = str(prefix / "lib/pkgconfig")
    run("cmake", "-S", NATIVE / "examples/cmake", "-B", tmp_path / "cmake", PKG_CONFIG_PATH=place)
    run("cmake", "--build", tmp_path / "cmake")
    run(tmp_path / "cmake/checkpoint", tmp_path / "out", LD_LIBRARY_PATH=str(prefix / "lib"), PENSTOCK_DISABLE="1")
    assert (tmp_path / "out").read_bytes() == bytes(8_000_000)


def test_cpp_can_use_the_header(prefix: Path, tmp_path: Path) -> None:
    need("c++")
    source = tmp_path / "main.cpp"
    source.write_text("#include <penstock.h>\nint main() { penstock_options o = PENSTOCK_OPTIONS_INIT; return o.nodes; }\n")
    run("c++", "-std=c++11", "-Wall", "-Werror", "-pedantic", f"-I{prefix}/include", "-c", source, "-o", tmp_path / "main.o")


def test_the_fortran_module_is_fortran_2008() -> None:
    need("gfortran")
    make("fortran")
    assert (NATIVE / "build/penstock.mod").exists()


def test_every_function_has_a_man_page_without_faults(prefix: Path) -> None:
    need("mandoc")
    pages = sorted((prefix / "share/man/man3").glob("*.3"))
    assert {page.stem for page in pages} == FUNCTIONS | {"penstock"}
    for page in pages:
        assert run("mandoc", "-T", "lint", "-W", "warning", page) == ""
        assert page.stem in re.sub(".\b", "", run("mandoc", "-T", "ascii", page))


@pytest.mark.long
def test_a_fuzzer_finds_nothing() -> None:
    count = 1_000_000 if LONG else 15_000
    said = run(built("asan") / "fuzz", count, 1, UBSAN_OPTIONS="halt_on_error=1")
    assert said.startswith(f"{count} inputs, ")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["asan", "tsan"])
@pytest.mark.parametrize("there", [False, True])
def test_threads_do_not_disturb_each_other(serve: Serve, folder: Path, kind: str, there: bool) -> None:
    if there:
        serve("--message-rate", "100000")
    rounds = 200 if LONG else 5
    assert (
        run(built(kind) / "threads", folder / "file", rounds, PENSTOCK_SOCKET=str(folder / "socket"))
        == f"{4 * rounds * 5000}\n"
    )


@pytest.mark.long
def test_valgrind_finds_nothing(serve: Serve, folder: Path) -> None:
    need("valgrind")
    serve("--message-rate", "100000")
    checks = ["-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]
    run("valgrind", *checks, built() / "threads", folder / "file", 20, "no-fork", PENSTOCK_SOCKET=str(folder / "socket"))
