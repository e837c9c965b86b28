"""The docstrings of the public names say what each parameter is, and every function has an example that runs."""

from __future__ import annotations

import ast
import enum
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "penstock"
MODULES = ("penstock", "penstock.client", "penstock.mpi", "penstock.campaign", "penstock.buffers", "penstock.plot")


def exported() -> Iterator[tuple[str, Any]]:
    """Every function and class that the modules export; the callable module `penstock.campaign` as its function."""
    for module in MODULES:
        home = import_module(module)
        for name in home.__all__:
            thing = getattr(home, name)
            if (module, name) == ("penstock", "campaign"):
                thing = import_module("penstock.api.campaigns").campaign
            if inspect.isfunction(thing) or inspect.isclass(thing):
                yield f"{module}.{name}", thing


def with_methods() -> Iterator[tuple[str, Any]]:
    """The same, and the public methods that the classes define themselves."""
    for name, thing in exported():
        yield name, thing
        for method, value in vars(thing).items() if inspect.isclass(thing) else ():
            function = getattr(value, "__func__", value)  # of a class method
            if not method.startswith("_") and inspect.isfunction(function):
                yield f"{name}.{method}", function


def parameters(thing: Any) -> list[str]:
    """What a caller passes: not `self` and `cls`, nor what begins with an underscore."""
    if inspect.isclass(thing) and (issubclass(thing, enum.Enum) or not signature_is_own(thing)):
        return []
    names = list(inspect.signature(thing).parameters)
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def signature_is_own(kind: type) -> bool:
    """Whether the class, or a base of ours, says how its objects are made: not so an exception without fields."""
    makers = (vars(base) for base in kind.__mro__ if base.__module__.startswith("penstock"))
    return any("__init__" in names or "__new__" in names for names in makers)


def public_functions() -> Iterator[tuple[str, str, list[str]]]:
    """Every public function and method of the package: its name, its docstring (with its class's), its parameters."""
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{module}.{node.name}", ast.get_docstring(node) or "", passed(node)
            elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                of_class = ast.get_docstring(node) or ""
                for one in node.body:
                    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                        text = f"{ast.get_docstring(one) or ''}\n{of_class if one.name == '__init__' else ''}"
                        yield f"{module}.{node.name}.{one.name}", text, passed(one)


def passed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    known = function.args
    names = [one.arg for one in (*known.posonlyargs, *known.args, *known.kwonlyargs)]
    names += [one.arg for one in (known.vararg, known.kwarg) if one is not None]
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def test_the_docstrings_of_public_functions_name_their_parameters() -> None:
    """Nearly all of them, wherever they are in the package: 31 % in 0.1."""
    known, missing = 0, []
    for name, text, names in public_functions():
        last = name.rpartition(".")[2]
        if last.startswith("_") and last != "__init__":
            continue
        known += len(names)
        missing += [f"{name}({one})" for one in names if not re.search(rf"\b{one}\b", text)]
    assert known > 3_000
    assert len(missing) <= 0.02 * known, "\n".join(missing)


def described(thing: Any) -> str:
    """The docstring; of a class also that of its constructor, and the names of fields with a docstring below them."""
    text = inspect.getdoc(thing) or ""
    if not inspect.isclass(thing):
        return text
    for base in thing.__mro__:
        if base.__module__.startswith("penstock"):
            text += f"\n{inspect.getdoc(base) or ''}\n{inspect.getdoc(base.__init__) or ''}\n" + " ".join(fields(base))
    return text


def fields(kind: type) -> Iterator[str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    for one, following in pairwise(body):
        if isinstance(one, ast.AnnAssign) and isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            yield ast.unparse(one.target)


@pytest.mark.parametrize("name", [name for name, _ in with_methods()])
def test_the_docstring_names_every_parameter(name: str) -> None:
    thing = dict(with_methods())[name]
    text = described(thing)
    assert text.strip()
    assert [one for one in parameters(thing) if not re.search(rf"\b{one}\b", text)] == []


WITH_EXAMPLES = ("penstock", "penstock.plot", "penstock.campaign", "penstock.model", "penstock.workloads", "penstock.report")


def functions() -> Iterator[tuple[str, Any]]:
    """The functions that the modules export."""
    for module in WITH_EXAMPLES:
        home = import_module(module)
        for name in home.__all__:
            if inspect.isfunction(getattr(home, name)):
                yield f"{module}.{name}", getattr(home, name)


@pytest.mark.parametrize("name", [name for name, _ in functions()])
def test_every_function_has_an_example(name: str) -> None:
    """`tests/test_doctests.py` runs them."""
    assert "\n    >>> " in (inspect.getdoc(dict(functions())[name]) or "")
