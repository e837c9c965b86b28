"""The table of programs × policies × conditions: a share of it in `make test`, all of it in `make test-long`."""

from __future__ import annotations

import os

import pytest

from tests.native.table import CONDITIONS, POLICIES, Program, cell, programs, without_a_coordinator

SHARE = {
    ("cp", "due-yield", "second job"),
    ("cp", "coordinating", "second job"),
    ("cat pipeline", "due-yield", "second job"),
    ("NumPy", "coordinating", "second job"),
    ("sqlite3", "fair-share", "second job"),
    ("fio psync", "due-yield", "second job"),
    ("fio pvsync threads", "fcfs", "second job"),
    ("dd", "due-yield", "dies"),
    ("tar", "coordinating", "stopped"),
}
"""The cells of `make test`; those of other policies and faults are in other files here."""
WHOLE = "PENSTOCK_LONG" in os.environ
ALL = [(program, policy, condition) for program in programs() for policy in POLICIES for condition in CONDITIONS]
CELLS = [
    pytest.param(*cell, marks=pytest.mark.long, id="-".join([cell[0].name, *cell[1:]]))
    for cell in ALL
    if WHOLE or (cell[0].name, *cell[1:]) in SHARE
]


@pytest.mark.parametrize(("program", "policy", "condition"), CELLS)
def test_a_cell(program: Program, policy: str, condition: str) -> None:
    cell(program, policy, condition)


@pytest.mark.long
@pytest.mark.skipif(not WHOLE, reason="the whole table; make test-long runs it")
@pytest.mark.parametrize("program", list(programs()), ids=lambda program: program.name)
def test_no_coordinator(program: Program) -> None:
    without_a_coordinator(program)


def test_the_share_is_of_the_table() -> None:
    assert {(program.name, *rest) for program, *rest in ALL} >= SHARE
