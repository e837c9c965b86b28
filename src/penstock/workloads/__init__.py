"""Where workloads come from: generators and importers."""

from penstock.model.workload import io_load, io_weight
from penstock.workloads.apex import MACHINES, ApexJob, ApexMachine, ApexSchedule, JobClass, schedule, windows
from penstock.workloads.batches import Batch, Mira, Packs, Uniform, mira, uniform
from penstock.workloads.bicolored import Bicolored, Jacobi, bicolored, jacobi
from penstock.workloads.curves import (
    FAMILIES,
    CurveSource,
    MeasuredCurves,
    believed,
    class_curves,
    class_of,
    curve_source,
    read_profiles,
)
from penstock.workloads.distributed import Distributed, distributed
from penstock.workloads.lanl import Lanl, LanlDraw, lanl
from penstock.workloads.swf import Stream, Swf, stream
from penstock.workloads.synthetic import Synthetic, demo, synthetic

__all__ = [
    "FAMILIES",
    "MACHINES",
    "ApexJob",
    "ApexMachine",
    "ApexSchedule",
    "Batch",
    "Bicolored",
    "CurveSource",
    "Distributed",
    "Jacobi",
    "JobClass",
    "Lanl",
    "LanlDraw",
    "MeasuredCurves",
    "Mira",
    "Packs",
    "Stream",
    "Swf",
    "Synthetic",
    "Uniform",
    "believed",
    "bicolored",
    "class_curves",
    "class_of",
    "curve_source",
    "demo",
    "distributed",
    "io_load",
    "io_weight",
    "jacobi",
    "lanl",
    "mira",
    "read_profiles",
    "schedule",
    "stream",
    "synthetic",
    "uniform",
    "windows",
]
