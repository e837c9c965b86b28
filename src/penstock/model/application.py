"""An application: a chain of work phases and I/O operations on dedicated nodes (000 §3.1).

Work is in seconds, I/O operations are in bytes. A chain is two parallel arrays: ten million phases take 90 MB, and compiled
code reads them without a copy.
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
from penstock.model.platform import Curve, Platform

WORK: Final = 0
IO: Final = 1
READ: Final = 2
WRITE: Final = 3
KINDS: Final = ("work", "io", "read", "write")
MOST_PHASES: Final = 200_000_000
MODELLED: Final = ("model", "drawn")
"""Sources of I/O that nothing has measured: likened to other jobs, or drawn at random."""
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
            raise InputError("phases", f"{kinds.shape} kinds for {amounts.shape} amounts; expected one of each per phase")
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


@dataclass(frozen=True)
class Application:
    """One application A_i: a chain of work and I/O on nodes of its own (000 §3.1).

    Args:
        name: its name, unique in a workload.
        phases: the chain; `Application.of` makes it from a list of pairs.
        nodes: p_i, the number of nodes.
        release: τ_i, the date in seconds at which it may start; that of `submit` if given an earlier one.
        lead: seconds of work before the first phase, which belong to no iteration.
        bandwidth: the cap b_i in bytes/s, in place of min(p_i · b, B).
        progress: seconds of its dedicated run that are done between release and T_begin; by default all of that time,
            which is a yield of 1.
        nominal: (seconds of work, bytes of I/O) of an iteration as known beforehand; by default the means of the chain.
        past: (number, mean seconds) of the iterations that ended before the chain begins; they count in ω. None by default.
        read_bandwidth: b_r in bytes/s, its cap when it reads (004 §3.2).
        write_bandwidth: b_w in bytes/s, its cap when it writes.
        curve: its bandwidth by the number of I/O resources it uses (002 §III.B).
        best_count: the number of I/O resources with which it is fastest, where the curve is not known.
        directory: where its files are, for commands that place them.
        rounds: how many equal rounds (or files) an operation consists of. It can be interrupted only between two of them
            (003 §III.C); anywhere by default.
        placement: the I/O resources it uses, numbered from 0.
        share: S_k, its part of the burst buffer in bytes, where that is divided (004 §6.2).
        user: who runs it.
        group: the group or project that it belongs to.
        submit: the date in seconds at which it is handed in to the batch scheduler; its release if not given.
        requested: the wall time in seconds that its user asked for.
        weight: its weight where applications, users or groups share by weights, above 0.
        source: what its I/O was taken from, such as ``dxt``, ``accounting``, ``model`` or ``drawn``; a mark for people.
        recorded: (date, seconds): when a real machine started it, and for how long it had its nodes.

    Raises:
        InputError: for a value that has no meaning; the text names the field.
    """

    name: str
    phases: Phases
    nodes: int = 1
    release: float = 0.0
    lead: float = 0.0
    bandwidth: float | None = None
    progress: float | None = None
    nominal: tuple[float, float] | None = None
    read_bandwidth: float | None = None
    write_bandwidth: float | None = None
    curve: Curve | None = None
    best_count: int | None = None
    directory: str | None = None
    rounds: int | None = None
    placement: tuple[int, ...] | None = None
    share: float | None = None
    user: str | None = None
    group: str | None = None
    submit: float | None = None
    requested: float | None = None
    weight: float | None = None
    past: tuple[int, float] | None = None
    source: str | None = None
    recorded: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError("name", f"{self.name!r} is not a name; expected a string that is not empty")
        if not isinstance(self.phases, Phases):
            raise InputError("phases", "expected Phases; Phases.of([('work', 10.0), ('io', 2.0)]) makes them")
        parse_units.count(self.nodes, "nodes", "nodes")
        object.__setattr__(self, "release", parse_units.instant(self.release, "release"))
        object.__setattr__(self, "lead", parse_units.seconds(self.lead, "lead"))
        for name in ("bandwidth", "read_bandwidth", "write_bandwidth"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, parse_units.bandwidth(getattr(self, name), name))
        if self.progress is not None:
            object.__setattr__(self, "progress", parse_units.seconds(self.progress, "progress"))
        if self.nominal is not None:
            object.__setattr__(self, "nominal", _checked_couple(self.nominal))
        if self.past is not None:
            object.__setattr__(self, "past", _checked_past(self.past))
        if self.share is not None:
            object.__setattr__(self, "share", parse_units.volume(self.share, "share"))
        self._check_resources()
        if self.rounds is not None:
            parse_units.count(self.rounds, "rounds", "rounds")
        if self.directory is not None and (not isinstance(self.directory, str) or not self.directory):
            raise InputError("directory", f"{self.directory!r} is not a directory; expected its path as a string")
        self._check_batch()

    def _check_batch(self) -> None:
        """Check the fields that a batch system knows of a job."""
        for name in ("user", "group", "source"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise InputError(name, f"{value!r} is not a {name}; expected a name as a string that is not empty")
        if self.submit is not None:
            object.__setattr__(self, "submit", parse_units.instant(self.submit, "submit"))
            object.__setattr__(self, "release", max(self.release, self.submit))
        if self.requested is not None:
            object.__setattr__(self, "requested", parse_units.seconds(self.requested, "requested"))
            if not self.requested:
                raise InputError("requested", "0 s of wall time; expected seconds above 0, or leave it out")
        if self.weight is not None:
            object.__setattr__(self, "weight", parse_units.not_negative(self.weight, "weight", "units of weight", {}))
            if not self.weight:
                raise InputError("weight", "0 is no weight; expected a number above 0, or leave it out")
        if self.recorded is not None:
            object.__setattr__(self, "recorded", _checked_record(self.recorded))

    def _check_resources(self) -> None:
        """Check the fields that concern I/O resources."""
        if self.curve is not None:
            try:
                object.__setattr__(self, "curve", Curve.of(self.curve))
            except InputError as error:
                raise error.within("curve") from None
        if self.best_count is not None:
            parse_units.count(self.best_count, "best_count", "I/O resources")
        if self.placement is not None:
            object.__setattr__(self, "placement", parse_units.positions(self.placement, "placement", "I/O resources"))

    @classmethod
    def of(cls, name: str, phases: Iterable[object], **options: object) -> Application:
        """Make an application from a list of phases.

        Args:
            name: its name.
            phases: pairs and repetitions, as `Phases.of` takes them.
            options: further fields of `Application` by name.

        Example:
            >>> from penstock import Application
            >>> Application.of("a", [("work", "1 min"), ("io", "3 GB")], nodes=4, release=10.0).nodes
            4
        """
        return cls(name, Phases.of(phases), **options)  # type: ignore[arg-type]  # __post_init__ checks them

    @property
    def started(self) -> float:
        """The date in seconds at which it was recorded to start; its release where nothing was recorded."""
        return self.release if self.recorded is None else self.recorded[0]

    def cap(self, platform: Platform) -> float:
        """b_i, the largest bandwidth it can use on the platform, in bytes/s."""
        if self.bandwidth is not None:
            return min(self.bandwidth, platform.bandwidth)
        return platform.cap(self.nodes)

    def read_speed(self, platform: Platform) -> float:
        """b_r: how fast it can read from a buffer of the `platform`, in bytes/s, which may be more than B (004 §3.2)."""
        return self.read_bandwidth or self.bandwidth or self.cap(platform)

    def write_speed(self, platform: Platform) -> float:
        """b_w: how fast it can write to a buffer of the `platform`, in bytes/s, which may be more than B (004 §3.2)."""
        return self.write_bandwidth or self.bandwidth or self.cap(platform)

    def seconds_alone(self, bandwidth: float) -> float:
        """T_i(b): seconds that it takes alone at `bandwidth` bytes/s, lead included (001 eq. III.1)."""
        return self.lead + float(self.phases.dedicated_seconds(bandwidth).sum())


def _checked_couple(couple: object) -> tuple[float, float]:
    if not isinstance(couple, list | tuple) or len(couple) != 2:
        raise InputError("nominal", f"{couple!r} is no couple; expected [seconds of work, bytes of I/O]")
    return parse_units.seconds(couple[0], "nominal[0]"), parse_units.volume(couple[1], "nominal[1]")


def _checked_past(past: object) -> tuple[int, float]:
    if not isinstance(past, list | tuple) or len(past) != 2:
        raise InputError("past", f"{past!r} is no past; expected [number of iterations, their mean seconds]")
    return parse_units.count(past[0], "past[0]", "iterations"), parse_units.seconds(past[1], "past[1]")


def _checked_record(record: object) -> tuple[float, float]:
    if not isinstance(record, list | tuple) or len(record) != 2:
        raise InputError("recorded", f"{record!r} is no record; expected [date of the start, seconds of the run]")
    return parse_units.instant(record[0], "recorded[0]"), parse_units.seconds(record[1], "recorded[1]")
