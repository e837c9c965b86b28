"""Strategies for a batch of jobs: which mapping, with which settings (001 §III.C.2, §IV.A)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from penstock.model import InputError, parse_units
from penstock.planning.jobs import Jobs, Machine
from penstock.planning.packs import ORDERS
from penstock.renamed import old_names

__getattr__ = old_names(__name__, Strategy="BatchStrategy")

MAPPINGS: Final = ("pack", "first-fit", "list")
ALPHA: Final = "alpha"
"""A sensibility of S = α, the I/O load of the workload (001 §III.D.2.c)."""
DEFAULT_DEPTH: Final = 100
"""Waiting jobs that backfilling considers by default."""
DEFAULT_POLICY: Final = "due-yield"
"""What shares the bandwidth by default. 001 §III.D.2.c has `fifo`, which costs some forty times as many node-hours on traces
of machines, where jobs use a small part of the bandwidth each.
"""


@dataclass(frozen=True)
class BatchStrategy:
    """How a batch is scheduled.

    Attributes:
        mapping: `pack`, `first-fit` (packs with S = ∞) or `list`.
        sensibility: S, a number above 0, infinity, or `alpha` (the I/O load of the jobs). In list scheduling the I/O loads
            of running jobs add up to at most S.
        order: The order in which jobs are put into packs: `max`, `random` or `char`.
        backfill: Whether waiting jobs may overtake others without delaying them.
        depth: Waiting jobs that backfilling considers.

    Raises:
        InputError: A value is unknown or out of range.
    """

    mapping: str = "pack"
    sensibility: float | str = 1.0
    order: str = "max"
    backfill: bool = False
    depth: int = DEFAULT_DEPTH

    def __post_init__(self) -> None:
        if self.mapping not in MAPPINGS:
            raise InputError("mapping", f"{self.mapping!r} is unknown; expected one of {', '.join(MAPPINGS)}")
        if self.order not in ORDERS:
            raise InputError("order", f"{self.order!r} is unknown; expected one of {', '.join(ORDERS)}")
        object.__setattr__(self, "sensibility", _checked(self.sensibility))
        parse_units.count(self.depth, "depth", "jobs")

    @property
    def label(self) -> str:
        """A short name: ``pack S=1 max``, ``first-fit max``, ``list S=1 + backfill``."""
        limit = "" if self.mapping == "first-fit" else f" S={self._limit_text()}"
        order = "" if self.mapping == "list" else f" {self.order}"
        return f"{self.mapping}{limit}{order}{' + backfill' if self.backfill else ''}"

    def limit(self, jobs: Jobs, machine: Machine) -> float:
        """S as a number; α is the I/O load of the `jobs` on the `machine`."""
        if self.mapping == "first-fit":
            return math.inf
        return jobs.io_load(machine) if isinstance(self.sensibility, str) else self.sensibility

    def to_dict(self) -> dict[str, Any]:
        """The strategy for JSON; an infinite sensibility is the text "inf"."""
        infinite = self.mapping == "first-fit" or self.sensibility == math.inf
        return {
            "label": self.label,
            "mapping": self.mapping,
            "sensibility": "inf" if infinite else self.sensibility,
            "order": None if self.mapping == "list" else self.order,
            "backfill": self.backfill,
            "depth": self.depth if self.backfill else None,
        }

    def _limit_text(self) -> str:
        return "α" if isinstance(self.sensibility, str) else f"{self.sensibility:g}"


def _checked(value: object) -> float | str:
    if value == ALPHA:
        return ALPHA
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever cannot be one is refused
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not number > 0.0:
        raise InputError("sensibility", f"{value!r} is no sensibility; expected a number above 0, {ALPHA} or inf")
    return number


COMPARED: Final = (DEFAULT_POLICY, "fair-share", "fcfs", "set-10", "fifo")
"""Policies that a comparison crosses strategies with: those that share by different rules, and that of 001."""
BASELINE_POLICY: Final = "fair-share"
"""What the bandwidth of a machine without coordination is shared by."""


def baseline(io_nodes: int = 1, depth: int = DEFAULT_DEPTH) -> BatchStrategy:
    """What operators do: jobs one by one with backfilling, whatever their I/O.

    Args:
        io_nodes: number of I/O nodes; on several, for which lists are not defined, it is first-fit.
        depth: waiting jobs that backfilling considers.
    """
    if io_nodes == 1:
        return BatchStrategy("list", math.inf, backfill=True, depth=depth)
    return BatchStrategy("first-fit", backfill=True, depth=depth)


def comparison(io_nodes: int = 1, depth: int = DEFAULT_DEPTH) -> tuple[BatchStrategy, ...]:
    """The strategies that 001 compares, and what operators do; lists only with one I/O node, for which they are defined.

    Args:
        io_nodes: number of I/O nodes.
        depth: waiting jobs that backfilling considers.
    """
    packs = [
        BatchStrategy("first-fit"),
        BatchStrategy("pack"),
        BatchStrategy("pack", ALPHA),
        BatchStrategy("pack", order="random"),
        BatchStrategy("pack", order="char"),
        BatchStrategy("pack", backfill=True, depth=depth),
    ]
    lists = [BatchStrategy("list"), BatchStrategy("list", backfill=True, depth=depth)]
    return (*packs, *(lists if io_nodes == 1 else []), baseline(io_nodes, depth))
