"""A policy as an object: its function, and what it declares about itself.

Users' own policies are compiled with bounds checked, and stopped instead of crashing the engine. A C function cannot
raise. The guard marks all rates as missing before it calls the user's function and after that fails; the engine refuses
rates that are not numbers, and asks the function again from Python for the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np

from penstock.model import InputError, Workload, parse_units
from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import JIT, ByAddress, inlinable, retargeted
from penstock.policies.order import Planner, ServiceOrder
from penstock.policies.view import KEY_SIGNATURE, RATES_SIGNATURE, KeyFunction, RatesFunction, View, call_key, call_policy


def guarded(function: RatesFunction, name: str) -> Any:
    """Compile a user's policy as the engine calls it.

    Args:
        function: the function of (view, rates).
        name: what errors call the policy.

    Raises:
        InputError: in one line, if numba cannot compile it.
    """
    if not JIT:
        return retargeted(call_policy, _guard(function))
    try:
        # Without counting references a call costs half; what makes arrays needs it.
        return _compiled(function, name, _nrt=False)
    except InputError:
        return _compiled(function, name)


def _compiled(function: RatesFunction, name: str, **flags: Any) -> ByAddress:
    guarded = inlinable(_guard(inlinable(function, boundscheck=True, **flags)))
    try:
        return ByAddress(retargeted(call_policy, guarded), RATES_SIGNATURE, f"the policy {name}", cached=False)
    except Exception as error:  # numba has errors of many classes for what it cannot compile
        raise InputError(f"policy {name}", f"it cannot be compiled: {_reason(str(error))}") from None


def _guard(function: RatesFunction) -> RatesFunction:
    def rates_or_nothing(view: View, rates: Floats) -> None:
        for i in range(len(rates)):
            rates[i] = np.nan
        try:
            function(view, rates)
        except Exception:  # numba knows no other
            for i in range(len(rates)):
                rates[i] = np.nan

    return rates_or_nothing


def failure(function: RatesFunction, view: View) -> str | None:
    """What the `function` raises for the `view` when called from Python, in one line; None if it raises nothing."""
    try:
        function(view, np.full(len(view.cap), np.nan))
    except Exception as error:  # whatever a user's function raises
        return f"it failed with {type(error).__name__}: {' '.join(str(error).split())}"
    return None


_NOISE = re.compile(r"\x1b\[[0-9;]*m|^(Failed in nopython mode|During:|There are \d+ candidate|- Of which).*$", re.MULTILINE)
_NOT_COMPILED = re.compile(r"Untyped global name '(\w+)':.*<class 'function'>")
_PLAINER = ((r"\bView\(.*\)", "View"), (r"readonly array\([^)]*\)", "read-only array"), (r"\barray\([^)]*\)", "array"))


def _reason(text: str) -> str:
    """numba's long message as one line: the first thing it says, and where."""
    plain = _NOT_COMPILED.search(text)
    if plain:
        return f"it calls {plain[1]}, which is not compiled; expected @numba.njit above its definition"
    lines = [line.strip() for line in _NOISE.sub("", text).splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith("File ")), "unknown reason").rstrip(".:")
    signature = next((line.removeprefix(">>> ") for line in lines if line.startswith(">>> ")), "")
    place = re.search(r'File "[^"]+", line (\d+)', text)
    message = f"{reason}{': ' + signature if signature else ''}{f' (line {place[1]})' if place else ''}"
    for pattern, plainer in _PLAINER:
        message = re.sub(pattern, plainer, message)
    return f"{message}; expected what numba can compile"


class Need(StrEnum):
    """What a policy must know of the applications, beside their caps and which are active (000 §4.2, last remark)."""

    POSTING = "posting time"
    WAITING = "time since posting"
    PROGRESS = "progress"
    VOLUME = "volume"
    NODES = "nodes"
    DEGRADATION = "degradation"
    HOLDER = "who holds the link"
    ROUNDS = "rounds"
    REACH = "rate reached"
    TRANSFER = "transfer time"
    REMAINING = "work and I/O left"
    NOMINAL = "nominal iteration"
    COUNTS = "all operations ahead"
    ITERATION = "iteration length"
    WINDOW_END = "window end"
    USER = "user"
    GROUP = "group"
    WEIGHT = "weight"


NEEDED_COLUMNS: Mapping[Need, tuple[str, ...]] = {
    Need.POSTING: ("posted",),
    Need.WAITING: ("posted", "now"),
    Need.PROGRESS: ("progress", "release", "now"),
    Need.VOLUME: ("remaining", "volume"),
    Need.NODES: ("nodes",),
    Need.DEGRADATION: ("degradation",),
    Need.HOLDER: ("rate",),
    Need.ROUNDS: ("rounds",),
    Need.REACH: ("reach",),
    Need.TRANSFER: ("transferring", "release", "now"),
    Need.REMAINING: ("whole", "progress"),
    Need.NOMINAL: ("rank",),
    Need.COUNTS: ("turn", "completed"),
    Need.ITERATION: ("mean_iteration",),
    Need.WINDOW_END: ("window_end",),
    Need.USER: ("user",),
    Need.GROUP: ("group",),
    Need.WEIGHT: ("weight",),
}
"""The columns of the view that a need gives access to; ties may always be broken by posting time and index."""


SHARING: Final = "sharing"
"""Several operations may move at once, and be interrupted (000)."""
EXCLUSIVE: Final = "exclusive"
"""One operation at a time, at full bandwidth and to its end (001 §II.A)."""
STATIC: Final = "static"
"""Exclusive, in an order of all operations that is fixed at the start: the link waits for its turn (001 §II.C.2)."""
FAMILIES: Final = (SHARING, EXCLUSIVE, STATIC)


@dataclass(frozen=True)
class Parameter:
    """The number that a policy can be tuned by: ``name:key=value`` sets it, the view shows it to the function.

    Args:
        key: its name.
        default: its value unless set; with `choices` the position of the default.
        meaning: what it does, in a few words.
        choices: names that the value is one of. The function sees the position of the name.

    Example:
        >>> Parameter("tau", 1.0, "part of the link that is used").value_of("0.5", "policy mine: tau")
        0.5
    """

    key: str
    default: float
    meaning: str
    choices: tuple[str, ...] = ()

    def value_of(self, text: str, place: str) -> float:
        """The number that the `text` of ``key=text`` stands for. Raises InputError, with its `place`, for anything else."""
        if not self.choices:
            return _number(text, place)
        if text not in self.choices:
            raise InputError(place, f"{text!r} is unknown; expected one of {', '.join(self.choices)}")
        return float(self.choices.index(text))

    @property
    def default_text(self) -> str:
        """The default as it would be written."""
        return self.choices[int(self.default)] if self.choices else f"{self.default:g}"


FILL: Final = 0
"""Each application has its cap, in the order of the keys, until the link is full."""
HOLD: Final = 1
"""The application that has the link keeps it to the end of its operation; then the first in order has it, alone."""
FIRST: Final = 2
"""The first in order has the link alone, even if another one had it before."""


@dataclass(frozen=True)
class Order:
    """An order of the waiting applications in which none of them changes its place by waiting.

    Args:
        key: the place of an application, lowest first; it changes only while the application's own operation moves.
        serves: which applications move: FILL, HOLD or FIRST.
        grain: above 0, the policy compares key / (t − τ), rounded to 1 / grain. That is the order of the keys only if all
            applications have one release.
    """

    key: KeyFunction
    serves: int
    grain: float = 0.0


@dataclass(frozen=True)
class Policy:
    """A bandwidth-sharing strategy: a function, and what it declares about itself.

    Args:
        name: what it is called by.
        rates: the function of (view, rates).
        summary: what it does, in a few words.
        needs: what it must know of the applications.
        reference: paper and section.
        idles: whether it may leave bandwidth unused while some application could use it.
        proportional: whether everyone gets the fraction min(1, B / Σ b_j) of its cap, which lets the engine run in virtual
            time.
        periodic: whether it is also asked every `delta` seconds.
        delta: seconds; by default as often as the workload has I/O events (000 §3.2.2: E(+) = E).
        parameter: the number, 0 or more, that it can be tuned by.
        setting: what that is set to where it is not the default.
        family: SHARING, EXCLUSIVE or STATIC.
        planner: makes the plan of a workload that the view then shows.
        order: an order that the engine may keep from one event to the next, which saves it from asking; `rates` remains what
            the policy is.
        makes_arrays: whether the function does.
        built_in: whether it is one of Penstock's own; others are compiled with checks.

    Example:
        >>> import penstock
        >>> def one_by_one(view, rates):
        ...     rates[:] = 0.0
        ...     rates[0] = view.cap[0]
        >>> first = penstock.Policy("first", one_by_one, "the first in the workload, alone", idles=True)
        >>> jobs = tuple(penstock.Application.of(name, [("io", 4.0)]) for name in "ab")
        >>> penstock.simulate(penstock.Workload(penstock.Platform(1.0), jobs), first).makespan
        8.0
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
    parameter: Parameter | None = None
    setting: float | None = None
    family: str = SHARING
    planner: Planner | None = None
    order: Order | None = None
    makes_arrays: bool = False
    built_in: bool = True
    _compiled: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def compiled(self) -> Any:
        """The function as the engine calls it: by its address, or in Python where numba is switched off."""
        if "rates" not in self._compiled:
            self._compiled["rates"] = self._compile()
        return self._compiled["rates"]

    @property
    def place(self) -> Any:
        """Where the compiled function is, for `penstock.numeric.compiled.call_at`."""
        compiled = self._compiled.get("rates") or self.compiled()
        return compiled.address if JIT else compiled

    def _compile(self) -> Any:
        if not self.built_in:
            return guarded(self.rates, self.name)
        if not JIT:
            return retargeted(call_policy, self.rates)
        return ByAddress(
            retargeted(call_policy, inlinable(self.rates, _nrt=self.makes_arrays)),
            RATES_SIGNATURE,
            f"the policy {self.name}",
            cached=True,
        )

    def compiled_key(self) -> Any:
        """The key of its order as the engine calls it."""
        assert self.order is not None
        if "key" not in self._compiled:
            key = self.order.key
            self._compiled["key"] = (
                ByAddress(
                    retargeted(call_key, inlinable(key, _nrt=False)),
                    KEY_SIGNATURE,
                    f"the policy {self.name}",
                    cached=True,
                )
                if JIT
                else retargeted(call_key, key)
            )
        return self._compiled["key"]

    def plan(self, workload: Workload) -> ServiceOrder:
        """What it plans for the `workload` before that runs."""
        return self.planner(workload) if self.planner is not None else ServiceOrder()

    @property
    def one_at_a_time(self) -> bool:
        """Whether it serves one operation at a time, so that the link is occupied by one that cannot fill it."""
        return self.family != SHARING or (self.order is not None and self.order.serves != FILL)

    @property
    def value(self) -> float:
        """What the function sees as the parameter; 0 if there is none."""
        if self.parameter is None:
            return 0.0
        return self.parameter.default if self.setting is None else self.setting

    def with_parameters(self, parameters: Mapping[str, str]) -> Policy:
        """The policy with the `parameters` of ``name:key=value``, as texts by key.

        Raises:
            InputError: for a parameter that it does not have, or a wrong value.
        """
        known = [*(["delta"] if self.periodic else []), *([self.parameter.key] if self.parameter else [])]
        changed: dict[str, Any] = {"name": self.name}
        for key, text in parameters.items():
            place = f"policy {self.name}: {key}"
            if key not in known:
                expected = f"expected {', '.join(known)}" if known else "it has none"
                raise InputError(f"policy {self.name}", f"unknown parameter {key!r}; {expected}")
            if key == "delta":
                changed["delta"] = _period(text, place)
            else:
                assert self.parameter is not None
                changed["setting"] = self.parameter.value_of(text, place)
            changed["name"] += f":{key}={text}"
        return replace(self, **changed) if parameters else self


def _period(text: str, place: str) -> float:
    delta = parse_units.seconds(text, place)
    if not delta > 0.0:
        raise InputError(place, f"{text!r} is no period; expected seconds above 0")
    return delta


def _number(text: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise InputError(place, f"{text!r} is no such number; expected 0 or more")
    return value
