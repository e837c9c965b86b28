"""The backtest: do predicted run times come near the recorded ones?

The backtest starts each job at its recorded start, under today's policy, with the I/O of the workload. For each job, r is
the predicted run time divided by the recorded one; r = 1 is a perfect prediction. The backtest computes the median of r, the
geometric mean of r, and the part of the jobs with 1/f ≤ r ≤ f, for a factor f. It does so for two groups: all jobs, and the
jobs that spend a tenth of their time alone or more in I/O. The second group matters because a job with little I/O tests
little of the I/O model.

The model is *near* if in both groups the median of r, the geometric mean of r, and the r of at least three quarters of the
jobs are within the factor. Else it is *far*, and no change should be recommended from it.

An importer may have computed the work of a job from its recorded run time. Then the time alone of the job is the recorded
time, and the backtest tests only the time that the model adds for contention. `made_from` counts such jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import SAME_RATIO
from penstock.planning.machine_run import MachineRun
from penstock.planning.operation import MachineSettings, operate
from penstock.planning.schedulers import RECORDED
from penstock.report.format_units import percent

TRUST: Final = 1.25
"""The default of the factor within which predictions must be."""
LEAST_WITHIN: Final = 0.75
"""Part of the jobs that must be within the factor."""
MUCH_IO: Final = 0.1
"""A job has much I/O if its I/O takes at least this part of its time alone."""
SAME: Final = 0.01
"""If the time alone differs from the recorded time by at most this part, it counts as computed from the recorded time."""
NEAR, FAR, IMPOSSIBLE = "near", "far", "impossible"


@dataclass(frozen=True)
class Ratios:
    """The distribution of predicted over recorded run times, for a group of jobs.

    Attributes:
        jobs: how many.
        median: of the ratios.
        geometric_mean: of the ratios.
        within: part of the jobs whose ratio is within the factor.
        low: the 5th percentile of the ratios.
        high: the 95th percentile of the ratios.
    """

    jobs: int
    median: float
    geometric_mean: float
    within: float
    low: float
    high: float

    @classmethod
    def of(cls, ratios: Floats, factor: float) -> Ratios:
        """Describe `ratios`, one or more numbers above 0, by a `factor` of 1 or more.

        Example:
            >>> found = Ratios.of(np.array([0.5, 1.0, 1.0, 2.0]), 1.25)
            >>> found.median, found.geometric_mean, found.within
            (1.0, 1.0, 0.5)
        """
        low, high = np.percentile(ratios, (5.0, 95.0)).tolist()
        inside = within(ratios, factor)
        mean = float(np.exp(np.log(ratios).mean()))
        return cls(len(ratios), float(np.median(ratios)), mean, float(inside.mean()), low, high)

    def near(self, factor: float) -> bool:
        """Whether median, geometric mean and most of the jobs are within the `factor`."""
        middles = within(np.array([self.median, self.geometric_mean]), factor)
        return bool(middles.all()) and self.within >= LEAST_WITHIN


def within(ratios: Floats, factor: float) -> NDArray[np.bool_]:
    """Which `ratios` are from 1/`factor` to `factor`."""
    rounding = 1.0 + SAME_RATIO
    return (ratios <= factor * rounding) & (ratios * factor * rounding >= 1.0)


@dataclass(frozen=True, eq=False)
class Backtest:
    """Predicted and recorded run times in seconds; arrays have one entry for each job with a record."""

    factor: float
    names: tuple[str, ...]
    recorded: Floats
    predicted: Floats
    alone: Floats
    io: Floats
    """Part of the time alone that is I/O."""
    jobs: int
    """Jobs of the workload, those without a record included."""
    late: int
    """Jobs that found no free nodes at their recorded start."""

    @cached_property
    def ratios(self) -> Floats:
        """Predicted over recorded."""
        return self.predicted / self.recorded

    @cached_property
    def groups(self) -> dict[str, Ratios]:
        """The ratios of all jobs, and of the jobs with much I/O; a group without jobs is missing."""
        chosen = {"all jobs": self.recorded > 0.0, f"jobs with {percent(MUCH_IO)} I/O or more": self.io >= MUCH_IO}
        return {name: Ratios.of(self.ratios[which], self.factor) for name, which in chosen.items() if which.any()}

    @property
    def status(self) -> str:
        """`NEAR`, `FAR`, or `IMPOSSIBLE` where no job has a recorded run time."""
        if not len(self.recorded):
            return IMPOSSIBLE
        return NEAR if all(one.near(self.factor) for one in self.groups.values()) else FAR

    @property
    def made_from(self) -> int:
        """Jobs whose time alone is the recorded run time."""
        return int(np.count_nonzero(np.abs(self.alone / self.recorded - 1.0) <= SAME))

    def sentence(self) -> str:
        """The result in one sentence."""
        if self.status == IMPOSSIBLE:
            return (
                "The workload has no recorded run times, so the model cannot be tested against the machine: all figures "
                "hold for the phases of the file alone"
            )
        one = self.groups["all jobs"]
        measured = (
            f"predicted run times are {one.median:.2f} times the recorded ones in the median, {one.geometric_mean:.2f} "
            f"times in the geometric mean, and {percent(one.within)} of {one.jobs:,} jobs are within a factor of "
            f"{self.factor:g}"
        )
        if self.status == FAR:
            worst = max(self.groups.items(), key=lambda item: abs(np.log(item[1].geometric_mean)))
            where = "" if worst[0] == "all jobs" else f"; of {worst[0]}, {percent(worst[1].within)}"
            return f"The model does not reproduce this machine: {measured}{where}"
        return f"The model reproduces the recorded run times: {measured}"

    def caution(self) -> str | None:
        """What the backtest does not test, in one sentence; None where it tests everything or cannot be made."""
        if self.status == IMPOSSIBLE or not self.made_from:
            return None
        part = self.made_from / len(self.recorded)
        return (
            f"The time alone of {percent(part)} of these jobs was made from their recorded run time: for them the backtest "
            "tests only what the model adds by contention, and not the volume of their I/O"
        )

    def rows(self) -> list[dict[str, Any]]:
        """A row for each group of jobs."""
        return [{"which": name, **vars(one)} for name, one in self.groups.items()]

    def to_dict(self) -> dict[str, Any]:
        """The backtest for JSON."""
        return {
            "status": self.status,
            "factor": self.factor,
            "least_within": LEAST_WITHIN,
            "jobs": self.jobs,
            "recorded": len(self.recorded),
            "late": self.late,
            "made_from_recorded": self.made_from if len(self.recorded) else 0,
            "ratios": self.rows(),
            "sentence": self.sentence(),
            "caution": self.caution(),
        }


def backtest(
    workload: Workload,
    operated: MachineSettings | None = None,
    *,
    factor: float = TRUST,
    progress: Callable[[float], None] | None = None,
) -> tuple[Backtest, MachineRun | None]:
    """Replay the recorded starts of a workload and compare the run times.

    Args:
        workload: the jobs, on a platform with a number of nodes.
        operated: the settings of the machine today. Their scheduler is ignored, because jobs start as recorded.
        factor: the factor within which predictions must be, 1 or more.
        progress: called with the part of the jobs that have ended.

    Returns:
        The backtest, and the run that it compares with the record. The run is None where no job has a record.

    Raises:
        InputError: the factor is below 1, or the workload cannot be operated.

    Example:
        >>> from penstock.model import Application, Platform
        >>> job = Application.of("a", [("work", 60.0), ("write", 40.0)], recorded=(0.0, 100.0))
        >>> found, run = backtest(Workload(Platform(1.0, nodes=1), (job,)))
        >>> found.status, found.groups["all jobs"].median
        ('near', 1.0)
    """
    if not factor >= 1.0:
        raise InputError("trust", f"{factor:g} is no factor; expected 1 or more")
    known = np.array([index for index, one in enumerate(workload.applications) if _has_record(one)], np.int64)
    if not len(known):
        nothing = np.zeros(0)
        return Backtest(factor, (), nothing, nothing, nothing, nothing, len(workload.applications), 0), None
    run = operate(workload, replace(operated or MachineSettings(), scheduler=RECORDED), progress=progress)
    jobs = run.jobs_run
    recorded = np.array([workload.applications[index].recorded or (0.0, 0.0) for index in known.tolist()])
    alone = (jobs.worked + jobs.transferring)[known]
    found = Backtest(
        factor=factor,
        names=tuple(jobs.names[index] for index in known.tolist()),
        recorded=recorded[:, 1],
        predicted=np.maximum(jobs.held[known], np.finfo(np.float64).tiny),
        alone=alone,
        io=np.divide(jobs.transferring[known], alone, out=np.zeros(len(known)), where=alone > 0.0),
        jobs=len(jobs),
        late=int(np.count_nonzero(jobs.start[known] > np.maximum(recorded[:, 0], jobs.submit[known]) + 1.0)),
    )
    return found, run


def _has_record(application: Any) -> bool:
    """Whether the `application` has a recorded run time above 0; without one there is no ratio."""
    return application.recorded is not None and application.recorded[1] > 0.0
