"""Penstock: study, plan and steer how applications share the I/O of an HPC machine.

::

    import penstock

    workload = penstock.read("workload.json")
    result = penstock.simulate(workload, "greedy-yield")
    print(result.min_yield)

Names are imported when they are first used, so that ``penstock --help`` need not wait for numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock import renamed

if TYPE_CHECKING:
    from penstock.engine import Result, Run
    from penstock.model import Application, InputError, PenstockError, Phases, Platform, PolicyFault, Workload
    from penstock.model.files import read, write
    from penstock.planning.placement.runs import bounds, simulate
    from penstock.policies import Need, Policy, View
    from penstock.theory import Bounds

__version__ = "0.2.0"

_HOMES = {
    "penstock.engine": ("Result", "Run"),
    "penstock.model": ("Application", "InputError", "PenstockError", "Phases", "Platform", "PolicyFault", "Workload"),
    "penstock.model.files": ("read", "write"),
    "penstock.planning.placement.runs": ("bounds", "simulate"),
    "penstock.policies": ("Need", "Policy", "View"),
    "penstock.theory": ("Bounds",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Application",
    "Bounds",
    "InputError",
    "Need",
    "PenstockError",
    "Phases",
    "Platform",
    "Policy",
    "PolicyFault",
    "Result",
    "Run",
    "View",
    "Workload",
    "__version__",
    "bounds",
    "read",
    "simulate",
    "write",
]


renamed.install()


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
