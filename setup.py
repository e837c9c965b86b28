"""Builds the C libraries for the wheel, or for the source tree of an editable installation; all else is in pyproject.toml.

Without a C compiler and make, or if they fail, the package is installed without the libraries: then only `penstock run` and
programs in C or Fortran lack something. The wheel is for the system that it was built on (its glibc or a later one) if it
has the libraries, and for any system if it has not.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

NATIVE = Path("native")
PACKAGE = Path("penstock") / "native"
LIBRARIES = ("libpenstock.so", "libpenstock.a", "libpenstock-posix.so")
SONAME = "libpenstock.so.0"
"""Programs that are linked with the library look for this name."""


def make(build: Path) -> bool:
    """Build the libraries in a folder; if that fails, say so in one line and return False."""
    missing = [program for program in (os.environ.get("CC", "cc").split()[0], "make") if shutil.which(program) is None]
    why = f"there is no program {missing[0]!r}" if missing else ""
    if not missing:
        # Settings of a make around this one are not for the one inside.
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        command = ["make", "-s", "-C", str(NATIVE), f"BUILD={build}", f"-j{os.cpu_count() or 1}", "all"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
        why = (done.stderr.strip().splitlines() or ["make failed"])[0] if done.returncode else ""
    if why:
        sys.stderr.write(
            f"penstock: without the C libraries, since {why}; all but `penstock run` works; install a C compiler and make "
            "and run `penstock native build` to get them\n"
        )
    return not why


class Build(build_py):
    """Adds the C sources and the libraries to the package."""

    def run(self) -> None:
        """Build the package, then the libraries."""
        super().run()
        if self.editable_mode:
            make((NATIVE / "build").absolute())
            return
        target = Path(self.build_lib) / PACKAGE
        for left in ("lib", "sources"):  # of a build before
            shutil.rmtree(target / left, ignore_errors=True)
        shutil.copytree(NATIVE, target / "sources", ignore=shutil.ignore_patterns("build", "tests"))
        with tempfile.TemporaryDirectory() as folder:
            if not make(Path(folder)):
                return
            (target / "lib").mkdir(parents=True)
            for name in LIBRARIES:
                shutil.copy(Path(folder) / name, target / "lib")
            shutil.copy(Path(folder) / "libpenstock.so", target / "lib" / SONAME)


class Wheel(bdist_wheel):
    """Names the systems that the wheel is for."""

    def get_tag(self) -> tuple[str, str, str]:
        """Any Python 3; the glibc and the processor of this machine, or any if there are no libraries."""
        if not (Path(self.get_finalized_command("build_py").build_lib) / PACKAGE / "lib").is_dir():
            return "py3", "none", "any"
        name, version = platform.libc_ver()
        system = super().get_tag()[2]
        if name == "glibc" and system.startswith("linux_"):
            system = f"manylinux_{version.replace('.', '_')}_{system.removeprefix('linux_')}"
        return "py3", "none", system


class Platform(Distribution):
    """Belongs with packages that have compiled parts, so that it is installed beside them."""

    def has_ext_modules(self) -> bool:
        """Whether the wheel depends on the system."""
        return True


setup(distclass=Platform, cmdclass={"build_py": Build, "bdist_wheel": Wheel})
