"""Policies that are defined in a notebook or a script and run in a campaign.

A worker process cannot import what only exists in a notebook. So the policy travels as the text of a Python module: the
source of its function, of the functions that it calls, and the constants and imports that they use. The text is a part of
the cell's key, so that rows of another version of the policy are never taken for its own.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import os
import sys
import sysconfig
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from enum import Enum
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

from penstock.model import InputError
from penstock.model.files import replacing
from penstock.numeric.compiled import cache_folder
from penstock.policies.policy import FAMILIES, Need, Parameter, Policy
from penstock.policies.registry import ALIASES, ALL, REGISTRY, load_file, own_policy

OBJECT: Final = "POLICY"
"""The name of a `Policy` object in the text."""
_DROPPED: Final = ("built_in", "proportional", "order", "_compiled")
"""Fields that a user's policy does not keep: see `penstock.policies.registry.own_policy`."""
_CONSTANTS: Final = (type(None), bool, int, float, complex, str, bytes)
_RESERVED: Final = frozenset({*REGISTRY, *ALIASES, *FAMILIES, ALL, "bound"})


@dataclass(frozen=True)
class OwnPolicy:
    """A policy as the text of a module.

    Attributes:
        name: the policy's name, as the rows of a campaign have it.
        text: the Python source of a module that has the policy and all that it uses.
        symbol: the name of the function or of the `Policy` object in that module.
    """

    name: str
    text: str
    symbol: str

    @cached_property
    def digest(self) -> str:
        """The first 16 digits of the SHA-256 of the text."""
        return sha256(self.text.encode()).hexdigest()[:16]

    @property
    def file(self) -> str:
        """The file in the folder of a campaign that holds the text, relative to that folder."""
        stem = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in self.name)
        return f"policies/{stem}.py"

    @property
    def argument(self) -> str:
        """What ``--policy`` takes for it in the folder of the campaign."""
        return f"{self.file}:{self.symbol}"

    def load(self) -> Policy:
        """The policy, made from the text."""
        return _loaded(self)


def own_policy_text(given: Policy | Callable[..., Any]) -> OwnPolicy:
    """The text of a policy that is given as a function or as a `Policy`.

    Raises:
        InputError: where there is no source (a lambda, a function typed into ``python -c``), or where the function uses what
            cannot be written down: variables of an enclosing function, or objects other than functions, modules and
            constants.
    """
    name = given.name if isinstance(given, Policy) else getattr(given, "__name__", repr(given))
    own_policy(given, name)
    if name in _RESERVED:
        raise InputError(f"policy {name}", "is the name of a built-in policy or family; expected another name")
    text = _ModuleText(name)
    if isinstance(given, Policy):
        symbol = OBJECT
        text.add_policy(given)
    else:
        function = getattr(given, "py_func", given)
        symbol = function.__name__
        text.add_function(symbol, function)
    own = OwnPolicy(name, text.text(), symbol)
    own.load()  # what cannot be loaded is refused here and not in every worker
    return own


class _ModuleText:
    """Collects definitions, each after those that it uses."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._defined: dict[str, Any] = {}
        self._imports: list[str] = []
        self._parts: list[str] = []

    def text(self) -> str:
        """The module."""
        head = [f'"""The policy {self._policy} of a campaign."""', "from __future__ import annotations", *self._imports]
        return "\n".join(head) + "\n\n" + "\n\n".join(self._parts) + "\n"

    def add_policy(self, policy: Policy) -> None:
        """A `Policy` object, with its functions."""
        for kind in (Need, Parameter, Policy):
            self._define(kind.__name__, kind)
        words = []
        for field in fields(Policy):
            value = getattr(policy, field.name)
            if field.name in _DROPPED or value == field.default:
                continue
            words.append(f"{field.name}={self._value(value)}")
        self._parts.append(f"{OBJECT} = Policy({', '.join(words)})")

    def add_function(self, name: str, function: Callable[..., Any]) -> None:
        """A function under its name, and before it all that it uses."""
        source = self._source(function)
        tree = ast.parse(source)
        written = getattr(tree.body[0], "name", name)  # another one where the function has got a second name
        self._defined |= {name: function, written: function}
        for used in _names_in(tree):
            if used in function.__globals__:
                self._define(used, function.__globals__[used])
        self._parts.append(source if written == name else f"{source}\n\n{name} = {written}")

    def _define(self, name: str, value: Any) -> None:
        value = getattr(value, "py_func", value)
        if name in self._defined:
            if self._defined[name] is not value:
                self._refuse(f"it uses two different things named {name!r}; expected one name for each")
            return
        if isinstance(value, ModuleType) or _is_installed(value):
            self._defined[name] = value
            self._imports.append(self._import(name, value))
        elif inspect.isfunction(value):
            self.add_function(name, value)
        else:
            self._defined[name] = value
            self._parts.append(f"{name} = {self._value(value)}")

    def _import(self, name: str, value: Any) -> str:
        if isinstance(value, ModuleType):
            return f"import {value.__name__} as {name}" if value.__name__ != name else f"import {name}"
        return f"from {value.__module__} import {value.__name__} as {name}"

    def _value(self, value: Any) -> str:
        """The value as an expression."""
        if isinstance(value, Need):
            return f"Need({value.value!r})"
        if isinstance(value, Parameter):
            return f"Parameter({value.key!r}, {self._value(value.default)}, {value.meaning!r}, {value.choices!r})"
        if isinstance(value, tuple) and type(value) is tuple:
            return f"({''.join(f'{self._value(one)}, ' for one in value)})"
        if isinstance(value, float) and not math.isfinite(value):
            return f"float({str(value)!r})"
        if isinstance(value, _CONSTANTS) and not isinstance(value, Enum):
            return repr(value)
        function = getattr(value, "py_func", value)
        if not inspect.isfunction(function):
            what = f"{type(value).__name__} {repr(value)[:40]}"
            self._refuse(f"it uses {what}; expected functions, modules, numbers, texts and tuples of them")
        self._define(function.__name__, function)
        return str(function.__name__)

    def _source(self, function: Callable[..., Any]) -> str:
        if function.__name__ == "<lambda>":
            self._refuse("a lambda has no source of its own; expected a function made by def")
        free = function.__code__.co_freevars
        if free:
            self._refuse(
                f"{function.__name__} uses {', '.join(free)} of an enclosing function; expected constants of the module"
            )
        try:
            return textwrap.dedent(inspect.getsource(function)).rstrip()
        except (OSError, TypeError):
            self._refuse(f"the source of {function.__name__} cannot be found; expected it in a file or a notebook")

    def _refuse(self, message: str) -> NoReturn:
        raise InputError(f"policy {self._policy}", message)


def _names_in(tree: ast.AST) -> Iterator[str]:
    """The names that the code uses, in their order; annotations are never evaluated and do not count."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not hasattr(builtins, node.id):
                yield node.id
            if isinstance(node, ast.AST):
                yield from _names_in(node)


def _is_installed(value: Any) -> bool:
    """Whether a worker can import it: something of Penstock, of the standard library or of an installed package."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return False
    found = sys.modules.get(module)
    if found is None or getattr(getattr(found, name, None), "py_func", getattr(found, name, None)) is not value:
        return False
    root = module.partition(".")[0]
    if root == "penstock" or root in sys.stdlib_module_names:
        return True
    file = getattr(found, "__file__", None) or ""
    return any(file.startswith(sysconfig.get_path(key) + os.sep) for key in ("purelib", "platlib"))


@lru_cache(maxsize=64)
def _loaded(own: OwnPolicy) -> Policy:
    # In a real file, so that numba can cache what it calls and errors can show its lines.
    folder = cache_folder() or Path(tempfile.mkdtemp(prefix="penstock-policies-"))
    file = folder / f"policy_{own.digest}.py"
    if not file.exists():
        with replacing(file) as temporary:
            temporary.write_text(own.text, encoding="utf-8")
    module = load_file(own.name, str(file))
    return own_policy(getattr(module, own.symbol), own.name)
