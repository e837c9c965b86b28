"""A policy as an object: its function, and what it declares about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from penstock.model import InputError, units
from penstock.policies.compiled import JIT, ByAddress
from penstock.policies.view import RATES_SIGNATURE, RatesFunction


class Need(StrEnum):
    """What a policy must know of the applications, beside their caps and who is active (000 §4.2, last remark)."""

    POSTING = "posting time"
    PROGRESS = "progress"
    VOLUME = "volume"
    ITERATION = "iteration length"
    WINDOW_END = "window end"


NEEDED_COLUMNS: Mapping[Need, tuple[str, ...]] = {
    Need.POSTING: ("posted",),
    Need.PROGRESS: ("progress", "release", "now"),
    Need.VOLUME: ("remaining",),
    Need.ITERATION: ("mean_iteration",),
    Need.WINDOW_END: ("window_end",),
}
"""The columns of the view that a need gives access to; ties may always be broken by posting time and index."""


@dataclass(frozen=True)
class Policy:
    """A bandwidth-sharing strategy.

    `idles` says that it may leave bandwidth unused while some application could use it. A `periodic` policy is also asked
    every `delta` seconds; without a `delta`, as often as the workload has I/O events (000 §3.2.2: E(+) = E). A
    `proportional` one gives everyone the fraction min(1, B / Σ b_j) of its cap, which lets the engine run in virtual time.
    """

    name: str
    rates: RatesFunction
    summary: str
    needs: tuple[Need, ...] = ()
    reference: str = ""
    idles: bool = False
    proportional: bool = False
    periodic: bool = False
    delta: float | None = None
    built_in: bool = True
    _compiled: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def compiled(self) -> Any:
        """What the engine's loop calls: the function by its address, or as it is where numba is switched off."""
        if self.built_in and not JIT:
            return self.rates
        if "rates" not in self._compiled:
            self._compiled["rates"] = self._compile()
        return self._compiled["rates"]

    def _compile(self) -> Any:
        if self.built_in:
            return ByAddress(self.rates, RATES_SIGNATURE, f"the policy {self.name}", cached=True)
        from penstock.policies.guard import guarded

        return guarded(self.rates, self.name)

    def with_parameters(self, parameters: Mapping[str, str]) -> Policy:
        """The policy with the parameters of ``name:key=value``."""
        known = ("delta",) if self.periodic else ()
        for key in parameters:
            if key not in known:
                expected = f"expected {', '.join(known)}" if known else "it has none"
                raise InputError(f"policy {self.name}", f"unknown parameter {key!r}; {expected}")
        if not parameters:
            return self
        place, text = f"policy {self.name}: delta", parameters["delta"]
        delta = units.seconds(text, place)
        if not delta > 0.0:
            raise InputError(place, f"{text!r} is no period; expected seconds above 0")
        return replace(self, delta=delta, name=f"{self.name}:delta={text}")
