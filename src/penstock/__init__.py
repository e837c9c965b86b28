"""Penstock: study, plan and steer how applications share the I/O of an HPC machine.

::

    import penstock

    workload = penstock.read("workload.json")
    result = penstock.simulate(workload, "greedy-yield")
    print(result.min_yield)

Every command is also a function with the words of its options, and returns a result with ``to_dict()``, ``to_pandas()`` and
a table for notebooks; `penstock.plot` draws them. Names are imported when they are first used, so that ``penstock --help``
need not wait for numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock import renamed

if TYPE_CHECKING:
    from penstock import plot
    from penstock.api.accounts import import_slurm, import_swf
    from penstock.api.advising import advise
    from penstock.api.campaigns import campaign
    from penstock.api.comparing import compare
    from penstock.api.deltas import delta
    from penstock.api.generating import generate
    from penstock.api.grouping import groups
    from penstock.api.importing import import_ior
    from penstock.api.logs import import_darshan
    from penstock.api.observing import observed
    from penstock.api.operating import machine
    from penstock.api.packing import pack
    from penstock.api.placing import place
    from penstock.api.runs import bounds, simulate
    from penstock.api.sizing import buffer
    from penstock.engine import Result, Run
    from penstock.model import Application, InputError, PenstockError, Phases, Platform, PolicyFault, Workload
    from penstock.model.files import read, write
    from penstock.policies import Need, Policy, View
    from penstock.policies.policy import Parameter
    from penstock.theory import Bounds

__version__ = "0.2.0"

_HOMES = {
    "penstock.api.accounts": ("import_slurm", "import_swf"),
    "penstock.api.comparing": ("compare",),
    "penstock.api.deltas": ("delta",),
    "penstock.api.generating": ("generate",),
    "penstock.api.grouping": ("groups",),
    "penstock.api.logs": ("import_darshan",),
    "penstock.api.importing": ("import_ior",),
    "penstock.api.observing": ("observed",),
    "penstock.api.operating": ("machine",),
    "penstock.api.packing": ("pack",),
    "penstock.api.placing": ("place",),
    "penstock.api.runs": ("bounds", "simulate"),
    "penstock.api.sizing": ("buffer",),
    "penstock.engine": ("Result", "Run"),
    "penstock.model": ("Application", "InputError", "PenstockError", "Phases", "Platform", "PolicyFault", "Workload"),
    "penstock.model.files": ("read", "write"),
    "penstock.policies": ("Need", "Policy", "View"),
    "penstock.policies.policy": ("Parameter",),
    "penstock.theory": ("Bounds",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("advise", "campaign", "plot")
"""Modules that are found without being imported; `penstock.advise` and `penstock.campaign` can also be called."""

__all__ = [
    "Application",
    "Bounds",
    "InputError",
    "Need",
    "Parameter",
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
    "advise",
    "bounds",
    "buffer",
    "campaign",
    "compare",
    "delta",
    "generate",
    "groups",
    "import_darshan",
    "import_ior",
    "import_slurm",
    "import_swf",
    "machine",
    "observed",
    "pack",
    "place",
    "plot",
    "read",
    "simulate",
    "write",
]


renamed.install()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"penstock.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
