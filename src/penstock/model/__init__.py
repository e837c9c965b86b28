"""The model: platform, applications and workloads, their units, files and errors."""

from penstock.model.application import Application, Phases
from penstock.model.errors import InputError, PenstockError, PolicyFault
from penstock.model.platform import Buffer, Curve, Degradation, Platform
from penstock.model.workload import Workload

__all__ = [
    "Application",
    "Buffer",
    "Curve",
    "Degradation",
    "InputError",
    "PenstockError",
    "Phases",
    "Platform",
    "PolicyFault",
    "Workload",
]
