"""The examples in docstrings run, and print what they say."""

from __future__ import annotations

import doctest
import pkgutil
import sys
from importlib import import_module
from inspect import isfunction
from types import ModuleType

import pytest

PACKAGES = (
    "numeric",
    "model",
    "workloads",
    "policies",
    "engine",
    "theory",
    "buffers",
    "planning",
    "campaign",
    "report",
    "api",
)
SURFACES = ("policies", "engine", "theory", "buffers")
"""Packages whose `__all__` is what users call."""
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules() -> list[str]:
    """All modules of the packages."""
    names = []
    for package in PACKAGES:
        home = import_module(f"penstock.{package}")
        names += [home.__name__, *(found.name for found in pkgutil.walk_packages(home.__path__, f"{home.__name__}."))]
    return [*names, "penstock.plot"]


def examples(module: ModuleType) -> list[doctest.DocTest]:
    """The examples of the module's own docstrings."""
    return [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]


@pytest.mark.parametrize("name", [name for name in modules() if examples(import_module(name))])
def test_examples_run(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    told: list[str] = []
    for test in examples(import_module(name)):
        runner.run(test, out=told.append)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    assert runner.summarize(verbose=False).failed == 0, "".join(told)


def test_public_classes_and_functions_have_examples() -> None:
    shown = {test.name.rpartition(".")[2] for name in modules() for test in examples(import_module(name))}
    assert {"Workload", "Platform", "Run", "Trace", "Buffering", "read", "simulate", "bounds", "optimum"} <= shown
    for package in SURFACES:
        home = import_module(f"penstock.{package}")
        functions = {name for name in home.__all__ if isfunction(getattr(home, name))}
        assert functions <= shown, package
