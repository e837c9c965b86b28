"""Build the C libraries with the compiler of the system."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from penstock.model.errors import InputError
from penstock.native.libraries import sources


def build(output: Path | None = None, *, compiler: str = "cc") -> list[Path]:
    """Build the libraries.

    Args:
        output: The folder to put them in; None for the one in which they are looked for.
        compiler: The C compiler.

    Returns:
        The libraries that were built.

    Raises:
        InputError: If there are no sources, or a compiler is missing or fails; the text ends with its last line.
    """
    folder = sources()
    if folder is None:
        raise InputError("native", "this installation has no C sources; expected one from a source tree or a wheel of ours")
    for one in (compiler, "make"):
        if shutil.which(one) is None:
            raise InputError("native", f"there is no program {one!r}; expected a C compiler such as gcc, and make")
    target = (output or folder / "build").absolute()
    target.mkdir(parents=True, exist_ok=True)
    command = ["make", "-C", str(folder), f"BUILD={target}", f"CC={compiler}", "all"]
    done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise InputError("native", f"the compiler failed: {last}")
    return sorted(target.glob("libpenstock*.so"))
