"""What the first compilation of all that `make demo` needs costs in processor time; beside another tree, before and after.

`penstock compare` is called twice on the demo with a cache that is empty at first. What the second call takes is no
compilation: it reads the cache, runs the policies and writes the report.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.elsewhere import HERE, environment
from benchmarks.report import Report, Results
from benchmarks.timing import call, fastest


def run(report: Report, *, quick: bool, against: Path | None = None) -> Results:
    """Processor seconds of the first call, of the one after it, and the difference, for each tree; trees take turns."""
    trees = {"this": HERE} | ({"before": against} if against else {})
    with tempfile.TemporaryDirectory() as folder, report.console.status("compile: into an empty cache"):
        demos = {name: _Demo(source, Path(folder) / name) for name, source in trees.items()}
        seconds = fastest(
            {(name, "first"): demo.first for name, demo in demos.items()}
            | {(name, "again"): demo.again for name, demo in demos.items()},
            rounds=1 if quick else 2,
        )
    results = {
        name: {
            "source": str(source),
            "first": seconds[name, "first"],
            "again": seconds[name, "again"],
            "compilation": seconds[name, "first"] - seconds[name, "again"],
        }
        for name, source in trees.items()
    }
    columns = ("first", "again", "compilation")
    rows = [(name, *(f"{one[column]:.3g}" for column in columns)) for name, one in results.items()]
    if against:
        rows.append(("this / before", *(f"{results['this'][column] / results['before'][column]:.3g}" for column in columns)))
    report.show("The first compilation of what `make demo` needs: processor seconds", ("tree", *columns), rows)
    return results


class _Demo:
    """`make demo` on the sources of a tree, with its own cache in the folder."""

    def __init__(self, source: Path, folder: Path) -> None:
        self._environment = environment(source)
        self._folder = folder
        self._caches = 0
        folder.mkdir()
        self._call("generate", "demo", "-o", str(folder / "demo.json"))

    def first(self) -> float:
        """Processor seconds with an empty cache."""
        self._caches += 1
        return self.again()

    def again(self) -> float:
        """Processor seconds with what the last call has left in the cache."""
        return self._call("compare", str(self._folder / "demo.json"), "--html", str(self._folder / "report.html"))

    def _call(self, *arguments: str) -> float:
        cache = {"PENSTOCK_CACHE_DIR": str(self._folder / f"cache-{self._caches}")}
        return call([sys.executable, "-m", "penstock", *arguments], self._environment | cache).processor
