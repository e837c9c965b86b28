"""Another tree of the package's sources beside this one: before and after take turns in one run on one core.

`python -m benchmarks --against SRC`, or PENSTOCK_BENCH_AGAINST=SRC, where SRC is the src folder of another checkout. The
other tree lives in a process of its own, which runs the benchmarks' present code on its penstock. A call names a function at
the top of one of their modules; arguments and result go as JSON, one line each. The process that does not run waits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import penstock
from benchmarks.report import require

VARIABLE = "PENSTOCK_BENCH_AGAINST"
HERE = Path(penstock.__file__).resolve().parents[1]
"""The tree that this process runs."""


class Elsewhere:
    """The process of another tree; called with a function of the benchmarks and its arguments, it calls that there."""

    def __init__(self, source: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.elsewhere"]
        self._process = subprocess.Popen(
            command, env=environment(source), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function returns there, as JSON has it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            print(json.dumps([function.__module__, function.__name__, arguments]), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"benchmarks: {function.__name__} failed in the other tree")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@contextmanager
def elsewhere(source: Path | None) -> Iterator[Elsewhere | None]:
    """The process of another tree while it is needed; None without one."""
    if source is None:
        yield None
        return
    process = Elsewhere(source)
    try:
        found = Path(process(tree))
        require(found == source.resolve(), f"{source} has no penstock: {found} is what was found")
        yield process
    finally:
        process.close()


def environment(source: Path) -> dict[str, str]:
    """The environment of this process with the tree's penstock and these benchmarks."""
    return os.environ | {"PYTHONPATH": os.pathsep.join((str(source.resolve()), str(Path(__file__).resolve().parents[1])))}


def tree() -> str:
    """The tree that the process runs which this is called in."""
    return str(HERE)


def _serve() -> None:
    """Call what the lines of the standard input ask for."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        module, name, arguments = json.loads(line)
        print(json.dumps(getattr(import_module(module), name)(*arguments)), file=answers, flush=True)


if __name__ == "__main__":
    _serve()
