"""The functions that policies are made of: plain Python to Python, and merged into a policy where that is compiled.

Python calls them where a policy has failed, for the reason; what is compiled for that as well, as a `helper` is, is compiled
twice, once for the view of Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from numba import types
from numba.core.typing.templates import infer_global

from penstock.policies.compiled import JIT, merged, part, without_literals

F = TypeVar("F", bound=Callable[..., Any])


def step(function: F) -> F:
    """A step of policies, kept on disk: users' own, compiled in every process, take half the time where they use such."""
    return _standing_for(function, part(function)) if JIT else function


def routine(function: F) -> F:
    """A step that is not merged, for what is long and called at several places: each would have it compiled once more."""
    if not JIT:
        return function
    return _standing_for(function, without_literals(merged(function, forceinline=False, _nrt=False)))


def _standing_for(function: F, compiled: Any) -> F:
    """Let compiled code take `compiled` for the function."""
    _COMPILED.append(compiled)
    infer_global(function, types.Dispatcher(compiled))
    return function


_COMPILED: Final[list[Any]] = []
"""All of them: numba itself does not keep them."""
