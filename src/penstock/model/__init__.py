"""The model: platform, applications and workloads, their units, files and errors."""

from penstock.model.application import Application
from penstock.model.curve import Curve
from penstock.model.errors import InputError, PenstockError, PolicyFault
from penstock.model.phases import Phases
from penstock.model.platform import Buffer, Degradation, Platform
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
