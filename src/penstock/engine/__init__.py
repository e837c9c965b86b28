"""Time: exact event-driven runs of a workload under a policy."""

from penstock.engine.dedicated import Dedicated, dedicated
from penstock.engine.loop import Trace
from penstock.engine.result import ApplicationResult, Result
from penstock.engine.run import Run, simulate

__all__ = ["ApplicationResult", "Dedicated", "Result", "Run", "Trace", "dedicated", "simulate"]
