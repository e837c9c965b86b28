"""What is shared and who shares it: platform, applications, workloads, their units and files."""

from penstock.model.application import Application
from penstock.model.errors import InputError, PenstockError, PolicyFault
from penstock.model.phases import Phases
from penstock.model.platform import Platform
from penstock.model.workload import Workload

__all__ = ["Application", "InputError", "PenstockError", "Phases", "Platform", "PolicyFault", "Workload"]
