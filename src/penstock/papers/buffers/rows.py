"""What was measured of sets of applications with burst buffers, ready to be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.papers.buffers.experiments import PRINTED, Trial
from penstock.planning.buffers.plan import DYNAMIC, STATIC
from penstock.policies.view import Floats


@dataclass(frozen=True)
class Rows:
    """The rows of an experiment by trial."""

    rows: Mapping[Trial, Mapping[str, Any]]

    def chosen(self, load: float, mtbf: float, *, walltimes: str = PRINTED, capped: bool = False) -> list[Mapping[str, Any]]:
        """The rows of all sets with this load and MTBF."""
        wanted = (load, mtbf, walltimes, capped)
        return [row for trial, row in self.rows.items() if (trial.load, trial.mtbf, trial.walltimes, trial.capped) == wanted]

    def ratios(self, load: float, mtbf: float, **options: Any) -> Floats:
        """Static over dynamic size of each set."""
        rows = self.chosen(load, mtbf, **options)
        return np.array([row["plans"][STATIC]["size"] / row["plans"][DYNAMIC]["size"] for row in rows])

    def stretches(
        self, load: float, mtbf: float, factor: float, *, mode: str = STATIC, measure: str = "max_stretch", **options: Any
    ) -> Floats:
        """A stretch of each set under fair sharing with a buffer of `factor` times its smallest one."""
        return np.array(
            [
                one[measure]
                for row in self.chosen(load, mtbf, **options)
                for one in row["fair"]
                if (one["mode"], one["factor"]) == (mode, factor)
            ]
        )


def mean_and_error(values: Floats) -> tuple[float, float]:
    """The mean and its standard error; not numbers where there are too few values."""
    mean = float(values.mean()) if len(values) > 0 else float("nan")
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return mean, error
