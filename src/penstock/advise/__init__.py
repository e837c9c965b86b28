"""The operator's questions, answered from runs of the whole machine.

The module can be called, as ``penstock.advise("jobs.json")``: see `penstock.api.advising.advise`.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    """The function `penstock.advise` has the name of this package, and importing the package must not hide it."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Advise; the function is in a layer above this one and is looked up when it is called."""
        return import_module("penstock.api.advising").advise(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
