"""The built-in policies by name. A new one takes a module beside this one and a line here.

From what a user writes to a policy.

- ``fcfs``: a built-in one; ``periodic-greedy-yield:delta=60`` with a parameter (a time may carry a unit: ``delta=1 min``).
- ``mypkg.mymod:name`` or ``./mine.py:name``: the user's own function ``name(view, rates)``, or a `Policy` of that name,
  which may have a parameter too: ``./mine.py:NAME:tau=60``.
- From Python, the function itself or a `Policy` object: see `as_policy`.

Where several can be named, ``sharing``, ``exclusive`` and ``static`` stand for the built-in policies of that family, and
``all`` for all of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias

from penstock.model import InputError
from penstock.model.errors import nearest
from penstock.policies.balance import BALANCE
from penstock.policies.best_effort import BEST_EFFORT
from penstock.policies.best_next_event import BEST_NEXT_EVENT
from penstock.policies.closing_yield import CLOSING_YIELD, PERIODIC_CLOSING_YIELD
from penstock.policies.coordinating import COORDINATING
from penstock.policies.due_yield import DUE_YIELD
from penstock.policies.exclusive import (
    BANDWIDTH_ORIENTED,
    FIFO,
    JOHNSON,
    LONGEST_IO,
    LONGEST_REMAINING,
    LOWEST_ID,
    SHORTEST_IO,
    SHORTEST_REMAINING,
    STRETCH_ORIENTED,
)
from penstock.policies.fair_share import FAIR_SHARE
from penstock.policies.fairness import GROUP_FAIR, JOB_FAIR, SIZE_FAIR, USER_FAIR
from penstock.policies.fcfs import FCFS
from penstock.policies.greedy_com import GREEDY_COM
from penstock.policies.greedy_yield import GREEDY_YIELD, PERIODIC_GREEDY_YIELD
from penstock.policies.interfering import INTERFERING
from penstock.policies.interrupting import INTERRUPTING
from penstock.policies.look_ahead import LOOK_AHEAD_GREEDY_YIELD
from penstock.policies.policy import Policy
from penstock.policies.set_10 import SET_10, SET_10_BASIC
from penstock.policies.static_orders import HIERARCHICAL_ROUND_ROBIN, PERIODIC_FIFO, PERIODIC_JOHNSON, PERIODIC_MOST_REMAIN
from penstock.policies.view import RatesFunction

REGISTRY: Final[dict[str, Policy]] = {
    policy.name: policy
    for policy in (
        FAIR_SHARE,
        FCFS,
        SET_10,
        SET_10_BASIC,
        GREEDY_YIELD,
        GREEDY_COM,
        LOOK_AHEAD_GREEDY_YIELD,
        PERIODIC_GREEDY_YIELD,
        BEST_NEXT_EVENT,
        DUE_YIELD,
        BALANCE,
        CLOSING_YIELD,
        PERIODIC_CLOSING_YIELD,
        BEST_EFFORT,
        INTERFERING,
        INTERRUPTING,
        COORDINATING,
        JOB_FAIR,
        SIZE_FAIR,
        USER_FAIR,
        GROUP_FAIR,
        FIFO,
        LOWEST_ID,
        LONGEST_IO,
        SHORTEST_IO,
        SHORTEST_REMAINING,
        LONGEST_REMAINING,
        BANDWIDTH_ORIENTED,
        STRETCH_ORIENTED,
        JOHNSON,
        HIERARCHICAL_ROUND_ROBIN,
        PERIODIC_FIFO,
        PERIODIC_JOHNSON,
        PERIODIC_MOST_REMAIN,
    )
}


ALIASES: Final = {"most-remain": "longest-remaining", "serializing": "fifo", "calciom": "coordinating"}
"""Other names in the papers."""
ALL: Final = "all"

PolicyLike: TypeAlias = Policy | RatesFunction | str
"""What stands for a policy: its name, a function of (view, rates), or a `Policy`."""


def expand(names: Iterable[str]) -> list[str]:
    """The `names`, each once, with the members of a family in its place; "all" stands for all policies.

    Example:
        >>> expand(["fcfs", "static", "fcfs"])[:3]
        ['fcfs', 'hierarchical-round-robin', 'periodic-fifo']
    """
    found: dict[str, None] = {}
    for name in names:
        members = [key for key, policy in REGISTRY.items() if name in (policy.family, ALL)]
        found.update(dict.fromkeys(members or [name]))
    return list(found)


def find(text: str) -> Policy:
    """Find the policy that a text names.

    Args:
        text: ``name`` or ``name:key=value``; for a user's own policy ``module:function`` or ``./file.py:function``.

    Raises:
        InputError: with the valid names, if there is none.

    Example:
        >>> find("periodic-greedy-yield:delta=60 s").delta
        60.0
    """
    name, *rest = text.split(":")
    name = ALIASES.get(name, name)
    if name in REGISTRY:
        return REGISTRY[name].with_parameters(_parameters(text, rest))
    is_module = name.endswith(".py") or all(part.isidentifier() for part in name.split("."))
    if is_module and rest and all("=" in part for part in rest[1:]):
        return _from_module(text, name, rest[0]).with_parameters(_parameters(text, rest[1:]))
    meant = nearest(name, (*REGISTRY, *ALIASES))
    own = "or your own as module:name or ./file.py:name" + (f"; did you mean {meant}?" if meant else "")
    raise InputError(f"policy {text}", f"unknown; expected one of {', '.join(REGISTRY)}, {own}")


def as_policy(given: PolicyLike) -> Policy:
    """The policy that `given` stands for.

    Args:
        given: a name as for `find`; a function of (view, rates), whose own name becomes that of the policy; or a `Policy`.

    Returns:
        The policy. One that is not built in is compiled with bounds checked, and asked at every event.

    Raises:
        InputError: for an unknown name, and for what is no policy.
    """
    if isinstance(given, str):
        return find(given)
    if isinstance(given, Policy) and is_built_in(given):
        return given
    return own_policy(given, getattr(given, "__name__", repr(given)))


def written_policies(given: PolicyLike | Iterable[PolicyLike]) -> dict[str, Policy]:
    """Policies by what the caller called them: a text as it is written, a function or a `Policy` by its own name.

    A file of the user's own is loaded, and its policy later compiled, once. Its policy has the name that is written.

    Args:
        given: one policy or several, each as for `as_policy`.

    Returns:
        The policies in their order; a text that is written twice is there once.

    Raises:
        InputError: as `as_policy`, and for two different policies of one name.
    """
    found: dict[str, Policy] = {}
    for one in listed(given):
        if isinstance(one, str) and one in found:
            continue
        policy = as_policy(one)
        name = one if isinstance(one, str) else policy.name
        named = policy if policy.built_in else replace(policy, name=name)
        if found.setdefault(name, named) != named:
            raise InputError(f"policy {name}", "is the name of two policies; expected another name for one of them")
    return found


def listed(given: PolicyLike | Iterable[PolicyLike]) -> list[PolicyLike]:
    """One policy or several, in `given`, as a list."""
    return [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)


def is_built_in(policy: Policy) -> bool:
    """Whether the policy is one of Penstock's own, with any parameters."""
    return policy.name.partition(":")[0] in REGISTRY and policy.rates.__module__.startswith("penstock.policies.")


def own_policy(thing: Any, name: str) -> Policy:
    """Make a policy of what a user gives; it runs as written, guarded.

    Args:
        thing: a function of (view, rates), or a `Policy`.
        name: the name of the policy, if it is a function.

    Raises:
        InputError: if it is neither.
    """
    if isinstance(thing, Policy):
        return replace(thing, built_in=False, proportional=False, order=None, _compiled={})
    function = getattr(thing, "py_func", thing)  # of what numba has compiled already
    if not inspect.isfunction(function):
        raise InputError(f"policy {name}", "it is no policy; expected a name, a function of (view, rates) or a Policy")
    if len(inspect.signature(function).parameters) != 2:
        raise InputError(f"policy {name}", "it does not take two arguments; expected a function of (view, rates)")
    summary = (inspect.getdoc(function) or "").split("\n")[0]
    return Policy(name=name, rates=function, summary=summary, idles=True, built_in=False)


def _parameters(text: str, parts: list[str]) -> dict[str, str]:
    parameters = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"policy {text}", f"{part!r} is no parameter; expected name:key=value")
        parameters[key] = value
    return parameters


def _from_module(text: str, module_name: str, name: str) -> Policy:
    """A policy from a user's file or module."""
    module = load_file(text, module_name) if module_name.endswith(".py") else _import(text, module_name)
    thing = getattr(module, name, None)
    if not (inspect.isfunction(thing) or isinstance(thing, Policy)):
        functions = [key for key, value in vars(module).items() if inspect.isfunction(value) or isinstance(value, Policy)]
        raise InputError(f"policy {text}", f"no function {name!r} there; expected one of {', '.join(functions) or 'none'}")
    return own_policy(thing, f"{module_name}:{name}")


def load_file(text: str, path: str) -> ModuleType:
    """The Python file at the path as a module; `text` is what an error calls the policy."""
    if not Path(path).is_file():
        raise InputError(f"policy {text}", f"there is no file {path}; expected a Python file")
    specification = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # numba looks the module of a function up by its name.
    sys.modules.setdefault(specification.name, module)
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a user's file raises
        raise InputError(f"policy {text}", f"the file fails with {type(error).__name__}: {_one_line(error)}") from None
    return module


def _import(text: str, name: str) -> ModuleType:
    sys.path.insert(0, "")  # as `python -m` would, so that a module in the current folder is found
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever a user's module raises
        raise InputError(f"policy {text}", f"the import fails with {type(error).__name__}: {_one_line(error)}") from None
    finally:
        sys.path.remove("")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
