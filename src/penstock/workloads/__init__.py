"""Where workloads come from: generators and importers."""

from penstock.workloads.apex import Job, Schedule, schedule, windows
from penstock.workloads.apex_classes import MACHINES, JobClass, Machine
from penstock.workloads.batch import Batch
from penstock.workloads.bicolored import Bicolored, bicolored
from penstock.workloads.curve_classes import believed, class_curves, class_of
from penstock.workloads.curve_families import FAMILIES, CurveSource, Measured, curve_source
from penstock.workloads.demo import demo
from penstock.workloads.distributed import Distributed, distributed
from penstock.workloads.jacobi import Jacobi, jacobi
from penstock.workloads.lanl import Lanl, LanlDraw, lanl
from penstock.workloads.load import io_load, io_weight
from penstock.workloads.mira import Mira, mira
from penstock.workloads.profiles import read_profiles
from penstock.workloads.swf_stream import Stream, Swf, stream
from penstock.workloads.synthetic import Synthetic, synthetic
from penstock.workloads.uniform import Packs, Uniform, uniform

__all__ = [
    "FAMILIES",
    "MACHINES",
    "Batch",
    "Bicolored",
    "CurveSource",
    "Distributed",
    "Jacobi",
    "Job",
    "JobClass",
    "Lanl",
    "LanlDraw",
    "Machine",
    "Measured",
    "Mira",
    "Packs",
    "Schedule",
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
