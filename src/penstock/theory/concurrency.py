"""How often somebody else does I/O (003 §II.B).

X applications run at a moment, and each spends the part µ of its time in I/O, independently. Then the probability that at
least one is doing I/O is 1 − Σ_n P(X = n)·(1 − E(µ))^n, which is a lower bound on that of interfering with another: those
who interfere are in I/O for longer.
"""

from __future__ import annotations

import numpy as np

from penstock.model import InputError
from penstock.policies.view import Floats
from penstock.workloads.swf import read_swf
from penstock.workloads.swf_jobs import Choice, Jobs, jobs_of


def running_jobs(path: str) -> Jobs:
    """The jobs of a trace in the Standard Workload Format, each released when it started."""
    return jobs_of(read_swf(path), Choice(release="start"), path)


def concurrency(jobs: Jobs) -> Floats:
    """P(X = n), n from 0 on: the part of the time, from the first start to the last end, that n jobs run at once."""
    dates = np.concatenate([jobs.releases, jobs.releases + jobs.seconds])
    steps = np.repeat([1, -1], len(jobs.releases))
    order = np.argsort(dates, kind="stable")
    running = np.maximum(0, np.cumsum(steps[order])[:-1])
    lengths = np.diff(dates[order])
    chances: Floats = np.bincount(running, lengths) / lengths.sum()
    return chances


def someone_in_io(chances: Floats, share: float) -> float:
    """The probability that somebody does I/O, by P(X = n) and E(µ)."""
    if not 0.0 <= share <= 1.0:
        raise InputError("share", f"{share} is no part of the time; expected 0 to 1")
    return float(1.0 - chances @ (1.0 - share) ** np.arange(len(chances)))
