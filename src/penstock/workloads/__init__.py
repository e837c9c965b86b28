"""Where workloads come from: generators."""

from penstock.workloads.apex import Job, Schedule, schedule, windows
from penstock.workloads.apex_classes import MACHINES, JobClass, Machine
from penstock.workloads.demo import demo
from penstock.workloads.synthetic import Synthetic, synthetic

__all__ = [
    "MACHINES",
    "Job",
    "JobClass",
    "Machine",
    "Schedule",
    "Synthetic",
    "demo",
    "schedule",
    "synthetic",
    "windows",
]
