"""The chain of phases of an application: work in seconds, I/O operations in bytes (000 §3.1.1).

A chain is two parallel arrays: ten million phases take 90 MB, and compiled code reads them without a copy.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.model import parse_units
from penstock.model.errors import InputError, short

WORK: Final = 0
IO: Final = 1
READ: Final = 2
WRITE: Final = 3
KINDS: Final = ("work", "io", "read", "write")
MOST_PHASES: Final = 200_000_000
_CODES: Final = {name: code for code, name in enumerate(KINDS)}

_Scalar = TypeVar("_Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Phases:
    """An immutable chain of phases; `Phases.of` makes one from a list.

    Args:
        kinds: for each phase its code: 0 WORK, 1 IO, 2 READ, 3 WRITE. IO is I/O of which the direction does not matter.
        amounts: for each phase seconds of work or bytes of I/O, 0 or more.

    Raises:
        InputError: if the chain is empty, or a phase has an unknown kind or an amount that is negative or not finite.
    """

    kinds: NDArray[np.uint8]
    amounts: NDArray[np.float64]

    def __post_init__(self) -> None:
        kinds = _frozen(self.kinds, np.uint8)
        amounts = _frozen(self.amounts, np.float64)
        if kinds.ndim != 1 or kinds.shape != amounts.shape:
            raise InputError("phases", f"{kinds.shape} kinds for {amounts.shape} amounts; expected one of each a phase")
        if len(kinds) == 0:
            raise InputError("phases", "the chain is empty; expected at least one phase")
        _refuse_first(kinds >= len(KINDS), kinds, "kind {} is unknown; expected 0 (work), 1 (io), 2 (read) or 3 (write)")
        _refuse_first(~np.isfinite(amounts), amounts, "amount {} is not finite; expected seconds or bytes, 0 or more")
        _refuse_first(amounts < 0.0, amounts, "amount {} is negative; expected seconds or bytes, 0 or more")
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "amounts", amounts)

    @classmethod
    def of(cls, phases: Iterable[object]) -> Phases:
        """Make a chain from pairs of kind and amount, and repetitions of such.

        Args:
            phases: pairs such as ``("work", 10.0)`` or ``("io", "3 GB")``, and ``{"repeat": 5, "phases": […]}``.

        Raises:
            InputError: for an entry that is neither; the text names its place.

        Example:
            >>> from penstock import Phases
            >>> Phases.of([("work", 10.0), {"repeat": 3, "phases": [("io", "2 GB"), ("work", 5.0)]}])
            <Phases: 7 phases, 3 I/O operations>
        """
        kinds, amounts = array("B"), array("d")
        for index, phase in enumerate(phases):
            _append(phase, f"phases[{index}]", kinds, amounts)
        return cls(np.frombuffer(kinds, np.uint8), np.frombuffer(amounts, np.float64))

    @property
    def asks(self) -> NDArray[np.bool_]:
        """Which phases ask for the link: I/O operations of volume above 0."""
        asks: NDArray[np.bool_] = (self.kinds != WORK) & (self.amounts > 0.0)
        return asks

    @property
    def operations(self) -> int:
        """The number of I/O operations that ask for the link."""
        return int(np.count_nonzero(self.asks))

    def dedicated_seconds(self, cap: float) -> NDArray[np.float64]:
        """Seconds that each phase lasts alone with `cap` bytes/s: w, or d_min = v / b_i (000 eq. 3)."""
        return np.where(self.kinds == WORK, self.amounts, self.amounts / cap)

    def __len__(self) -> int:
        return len(self.kinds)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        for kind, amount in zip(self.kinds.tolist(), self.amounts.tolist(), strict=True):
            yield KINDS[kind], amount

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Phases):
            return NotImplemented
        return np.array_equal(self.kinds, other.kinds) and np.array_equal(self.amounts, other.amounts)

    def __hash__(self) -> int:
        return hash((self.kinds.tobytes(), self.amounts.tobytes()))

    def __repr__(self) -> str:
        return f"<Phases: {len(self)} phases, {self.operations} I/O operations>"


def _append(phase: object, place: str, kinds: array[int], amounts: array[float]) -> None:
    """Add one entry of a file's list of phases, which is a pair or a repetition of entries."""
    if isinstance(phase, dict):
        _append_repetition(phase, place, kinds, amounts)
        return
    if not isinstance(phase, list | tuple) or len(phase) != 2:
        raise InputError(place, f'{short(phase)} is not a phase; expected ["work", seconds] or ["io", bytes]')
    kind, amount = phase
    code = _CODES.get(kind) if isinstance(kind, str) else None
    if code is None:
        raise InputError(place, f"kind {short(kind)} is unknown; expected one of {', '.join(KINDS)}")
    kinds.append(code)
    amounts.append(parse_units.seconds(amount, place) if code == WORK else parse_units.volume(amount, place))


def _append_repetition(phase: dict[object, object], place: str, kinds: array[int], amounts: array[float]) -> None:
    for key in phase:
        if key not in ("repeat", "phases"):
            raise InputError(place, f"unknown key {short(key)}; expected repeat, phases")
    times = parse_units.count(phase.get("repeat"), f"{place}.repeat", "repetitions")
    body = phase.get("phases")
    if not isinstance(body, list) or not body:
        raise InputError(f"{place}.phases", f"{short(body)} is not a list of phases; expected at least one phase")
    first = len(kinds)
    for index, inner in enumerate(body):
        _append(inner, f"{place}.phases[{index}]", kinds, amounts)
    if first + (len(kinds) - first) * times > MOST_PHASES:
        raise InputError(f"{place}.repeat", f"{times} repetitions make over {MOST_PHASES:,} phases; expected fewer")
    kinds.extend(kinds[first:] * (times - 1))
    amounts.extend(amounts[first:] * (times - 1))


def _frozen(values: ArrayLike, dtype: type[_Scalar]) -> NDArray[_Scalar]:
    """The values as a read-only array; copied unless they already are one."""
    frozen = np.asarray(values, dtype)
    if frozen.flags.writeable:
        frozen = frozen.copy()
        frozen.flags.writeable = False
    return frozen


def _refuse_first(bad: NDArray[np.bool_], values: NDArray[np.generic], message: str) -> None:
    if bad.any():
        index = int(np.argmax(bad))
        raise InputError(f"phases[{index}]", message.format(values[index]))
