"""Claims of papers, and verdicts on them.

A claim is a few checks. Each states the figure it looks at and its tolerance. A claim holds if all its checks do; one that
does not hold is reported as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ClaimCheck:
    """One condition of a claim: what is expected, with its tolerance; what was measured; and whether it holds."""

    expected: str
    measured: str
    holds: bool

    def to_dict(self) -> dict[str, Any]:
        """The check as JSON has it."""
        return {"expected": self.expected, "measured": self.measured, "holds": self.holds}


@dataclass(frozen=True)
class Verdict:
    """A claim, by its id, its place in the paper and what it says, with its checks."""

    id: str
    place: str
    says: str
    checks: tuple[ClaimCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether all checks hold."""
        return all(check.holds for check in self.checks)

    @property
    def word(self) -> str:
        """The outcome in a word."""
        if self.holds:
            return "holds"
        return "holds in part" if any(check.holds for check in self.checks) else "does not hold"

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON has it."""
        return {
            "id": self.id,
            "place": self.place,
            "says": self.says,
            "verdict": self.word,
            "checks": [check.to_dict() for check in self.checks],
        }


def listed(names: Sequence[str], values: Sequence[float], form: str = ".4f") -> str:
    """Named figures in one line: "fcfs 0.3700, set-10 0.6700"."""
    return ", ".join(f"{name} {value:{form}}" for name, value in zip(names, values, strict=True))
