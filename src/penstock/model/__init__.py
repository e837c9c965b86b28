"""What is shared and who shares it: platform, applications, workloads, their units and files."""

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
