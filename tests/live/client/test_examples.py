"""The examples in the client's docstrings run as they stand."""

import doctest

import pytest

from penstock.live.client import job


def test_the_example_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_SOCKET", "/nowhere/penstock.sock")
    assert doctest.testmod(job).failed == 0
