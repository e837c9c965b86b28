"""Time: exact event-driven runs of a workload under a policy, on a link or on I/O resources, with or without buffers."""

from penstock.engine.buffer_result import BufferResult, BufferUse
from penstock.engine.machine import Buffering
from penstock.engine.result import ApplicationResult, Result
from penstock.engine.run import Run, simulate
from penstock.engine.scenarios import simulate_placement
from penstock.engine.setup import Dedicated, dedicated
from penstock.engine.trace import Fill, Trace

__all__ = [
    "ApplicationResult",
    "BufferResult",
    "BufferUse",
    "Buffering",
    "Dedicated",
    "Fill",
    "Result",
    "Run",
    "Trace",
    "dedicated",
    "simulate",
    "simulate_placement",
]
