"""Claims and verdicts: what a paper says, what was measured with its error, and what follows.

A claim consists of a few checks. A check holds, fails, or decides nothing. It decides nothing if its data are missing, or if
the difference that it tests is smaller than the standard error. The verdict on a claim is one of four words:

- holds: every check holds;
- in part: some checks hold, and others fail or decide nothing;
- fails: at least one check fails and none holds;
- not measured: no check decides anything.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from penstock.numeric.arrays import Floats

HOLDS: Final = "holds"
IN_PART: Final = "in part"
FAILS: Final = "fails"
NOT_MEASURED: Final = "not measured"
WORDS: Final = (HOLDS, IN_PART, FAILS, NOT_MEASURED)


@dataclass(frozen=True)
class ClaimCheck:
    """One condition of a claim: what is expected, with its tolerance; what was measured; and whether it holds.

    `holds` is None where nothing is decided: data are missing, or the difference is below its standard error.
    """

    expected: str
    measured: str
    holds: bool | None

    @property
    def word(self) -> str:
        """The outcome in a word: yes, no or undecided."""
        return "undecided" if self.holds is None else "yes" if self.holds else "no"

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
    def word(self) -> str:
        """The outcome: holds, in part, fails or not measured."""
        outcomes = {check.holds for check in self.checks}
        if outcomes <= {None}:
            return NOT_MEASURED
        if outcomes == {True}:
            return HOLDS
        return IN_PART if True in outcomes else FAILS

    @property
    def holds(self) -> bool:
        """Whether all checks hold."""
        return self.word == HOLDS

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON has it."""
        return {
            "id": self.id,
            "place": self.place,
            "says": self.says,
            "verdict": self.word,
            "checks": [check.to_dict() for check in self.checks],
        }


def table(claims: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """One Markdown table of all claims, with a line for each check in the column of what was measured.

    `claims` are pairs of the paper, with the scale, and a verdict as `Verdict.to_dict` has it.

    Example:
        >>> check = ClaimCheck("m = 2 gives 4", "4.00 ± 0.01", holds=True)
        >>> print(table([("dash, quick", Verdict("D1", "§1", "it doubles", (check,)).to_dict())]).splitlines()[-1])
        | dash, quick | D1, §1 | it doubles | yes: m = 2 gives 4: 4.00 ± 0.01 | holds |
    """
    rows = [("paper", "claim", "what the paper says", "expected: measured, ± a standard error", "verdict"), ("---",) * 5]
    for paper, claim in claims:
        checks = (ClaimCheck(**check) for check in claim["checks"])
        measured = "<br>".join(f"{check.word}: {check.expected}: {check.measured}" for check in checks)
        rows.append((paper, f"{claim['id']}, {claim['place']}", claim["says"], measured, claim["verdict"]))
    return "".join(f"| {' | '.join(cell.replace('|', '∣') for cell in row)} |\n" for row in rows)


def counted(verdicts: Iterable[Verdict]) -> str:
    """How many of the `verdicts` have each outcome: "3 hold, 1 in part, 0 fail, 2 not measured"."""
    count = Counter(verdict.word for verdict in verdicts)
    words = {HOLDS: "hold", FAILS: "fail"}
    return ", ".join(f"{count[word]} {words.get(word, word)}" for word in WORDS)


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error; the error is not a number where there are fewer than two independent values."""

    value: float
    error: float

    @classmethod
    def of(cls, sample: Floats | Sequence[float]) -> Estimate:
        """The mean of a `sample` of independent values.

        Example:
            >>> print(Estimate.of([1.0, 2.0, 3.0]))
            2.0000 ± 0.5774
        """
        values = np.asarray(sample, dtype=np.float64)
        mean = float(values.mean()) if len(values) else math.nan
        error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        return cls(mean, error)

    def minus(self, other: Estimate) -> Estimate:
        """The difference to an `other` estimate that is independent of it."""
        return Estimate(self.value - other.value, math.hypot(self.error, other.error))

    @property
    def margin(self) -> float:
        """Half the width of the 95 % confidence interval: 1.96 standard errors."""
        return 1.96 * self.error

    def above(self, limit: float = 0.0) -> bool | None:
        """Whether the value is above `limit`; None where it is within a standard error of it, or the error is unknown."""
        if not abs(self.value - limit) > self.error:
            return None
        return self.value > limit

    def below(self, limit: float = 0.0) -> bool | None:
        """Whether the value is below `limit`; None as for `above`."""
        above = self.above(limit)
        return None if above is None else not above

    def inside(self, low: float, high: float) -> bool | None:
        """Whether the value is between `low` and `high`; None where it is within a standard error of one of them."""
        return together((self.above(low), self.below(high)))

    def __str__(self) -> str:
        return f"{self:.4f}"

    def __format__(self, form: str) -> str:
        error = "?" if math.isnan(self.error) else format(self.error, form.replace("+", ""))
        return "no data" if math.isnan(self.value) else f"{self.value:{form}} ± {error}"


def together(outcomes: Iterable[bool | None]) -> bool | None:
    """Combine conditions that must all hold: False if one of `outcomes` is False, else None if one is None or none is given.

    Example:
        >>> together([True, None]), together([None, False]), together([True, True])
        (None, False, True)
    """
    found = set(outcomes)
    return False if False in found else None if None in found or not found else True


def share(outcomes: np.ndarray) -> float:
    """The part of the `outcomes` that are true; not a number if there are none.

    Example:
        >>> share(np.array([True, False])), share(np.array([], dtype=bool))
        (0.5, nan)
    """
    return float(np.mean(outcomes)) if np.size(outcomes) else math.nan


def minimum(values: Floats) -> float:
    """The smallest of the `values`; not a number if there are none."""
    return float(np.min(values)) if np.size(values) else math.nan


def maximum(values: Floats) -> float:
    """The largest of the `values`; not a number if there are none."""
    return float(np.max(values)) if np.size(values) else math.nan


def at_least(value: float, limit: float) -> bool | None:
    """Whether a `value` without an error reaches the `limit`; None where it is not a number, as data are missing.

    Example:
        >>> at_least(1.0, 1.0), at_least(0.5, 1.0), at_least(math.nan, 1.0)
        (True, False, None)
    """
    return None if math.isnan(value) else value >= limit


def at_most(value: float, limit: float) -> bool | None:
    """Whether a `value` without an error does not exceed the `limit`; None where it is not a number."""
    return None if math.isnan(value) else value <= limit


def listed(names: Sequence[str], values: Sequence[float] | Sequence[Estimate], form: str = ".4f") -> str:
    """Named figures in one line: "fcfs 0.3700, set-10 0.6700".

    `names` and `values` belong together; `form` is the format of a value.
    """
    return ", ".join(f"{name} {value:{form}}" for name, value in zip(names, values, strict=True))
