"""The examples in the docstrings run as they are printed."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = ("", ".advice", ".check", ".plan", ".sizing")


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings(module):
    found = doctest.testmod(import_module(f"penstock.buffers{module}"))
    assert found.attempted > 0
    assert found.failed == 0
