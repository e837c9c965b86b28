"""The platform: one I/O system of total bandwidth B that all applications share (000 §3.1.2).

A `Platform` has bandwidths in bytes/s and counts of nodes and I/O resources. Two optional parts describe more of it:
`Buffer`, the burst buffer between nodes and I/O system (004 §3.1), and `Degradation`, what the I/O system loses when
several transfers share it: k of them get at most d(k)·B together (001 §I.A.4; 003 §II).

A `Curve` is the bandwidth of an application as a function of how many I/O resources it uses, b_j(n) (002 §III.B). A file
gives curves and degradations as measured points, ``{"1": bytes/s, "4": bytes/s}``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.model import parse_units
from penstock.model.errors import InputError, short
from penstock.renamed import old_names

__getattr__ = old_names(__name__, together="total_bandwidth")


@dataclass(frozen=True)
class Curve:
    """The bandwidth of an application by the number of I/O resources it uses (002 §III.B).

    Between two measured counts the curve is linear, beyond the last one constant. Access without I/O resources, which some
    systems allow, is no point of it.

    Args:
        counts: numbers of I/O resources, ascending from 1.
        bandwidths: bytes/s at each of them.

    Raises:
        InputError: for counts that do not ascend from 1, or bandwidths that are not above 0.
    """

    counts: tuple[int, ...]
    bandwidths: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", tuple(parse_units.count(count, "", "I/O resources") for count in self.counts))
        if len(self.counts) != len(self.bandwidths):
            raise InputError("", f"{len(self.counts)} counts for {len(self.bandwidths)} bandwidths; expected one for each")
        if self.counts[:1] != (1,):
            raise InputError("", f"the counts {short(list(self.counts))} lack 1; expected the bandwidth with 1 I/O resource")
        if any(later <= earlier for earlier, later in zip(self.counts, self.counts[1:], strict=False)):
            raise InputError("", f"the counts {short(list(self.counts))} do not ascend; expected each count once")
        rates = (parse_units.bandwidth(rate, str(n)) for n, rate in zip(self.counts, self.bandwidths, strict=True))
        object.__setattr__(self, "bandwidths", tuple(rates))

    @classmethod
    def of(cls, points: object) -> Curve:
        """Make a curve from a mapping of counts to bandwidths.

        Args:
            points: bytes/s, or a text with a unit, by number of I/O resources; a `Curve` stays as it is.

        Raises:
            InputError: for what is no such mapping.

        Example:
            >>> from penstock.model.platform import Curve
            >>> Curve.of({1: "1 GB/s", 3: "2 GB/s"}).upto(4)
            array([1.0e+09, 1.5e+09, 2.0e+09, 2.0e+09])
        """
        if isinstance(points, Curve):
            return points
        return cls(*by_count(points, 'is not a curve; expected {"1": bytes/s, "2": bytes/s, …}', _count))

    def document(self) -> dict[str, float]:
        """The curve as a workload file has it."""
        return document(self.counts, self.bandwidths)

    def upto(self, resources: int) -> NDArray[np.float64]:
        """b(1), …, b(N) in bytes/s for N = `resources`: entry n − 1 is the bandwidth with n of them."""
        return np.interp(np.arange(1, resources + 1), self.counts, self.bandwidths)

    @cached_property
    def largest(self) -> float:
        """The largest bandwidth in bytes/s, which is one at a measured count."""
        return max(self.bandwidths)


def total_bandwidth(curves: Iterable[Curve]) -> float:
    """What applications of these curves can use at once, in bytes/s: a link of this bandwidth never slows them down."""
    return sum(curve.largest for curve in curves)


def _count(key: object) -> int:
    """A count of I/O resources, 1 or more."""
    if count_of_key(key) == 0 and not isinstance(key, bool):
        raise InputError("0", "direct access without I/O resources is no point of a curve; expected counts from 1 on")
    return as_count(key, "I/O resources")


def by_count(points: object, refusal: str, count: Callable[[object], int]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The counts of a mapping, ascending, and the value at each.

    Args:
        points: the mapping.
        refusal: the text of the error about anything else.
        count: turns a key into a count, or refuses it.

    Raises:
        InputError: for what is no mapping, and for a wrong key.
    """
    if not isinstance(points, Mapping):
        raise InputError("", f"{short(points)} {refusal}")
    measured = {count(key): value for key, value in points.items()}
    if len(measured) != len(points):
        raise InputError("", f"a count stands twice in {short(list(points))}; expected each count once")
    counts = tuple(sorted(measured))
    return counts, tuple(measured[one] for one in counts)


def count_of_key(key: object) -> object:
    """A count as it is, or as the integer of the string that JSON makes of a key."""
    return int(key) if isinstance(key, str) and key.isascii() and key.isdigit() else key


def as_count(key: object, what: str) -> int:
    """The `key` of a mapping as a count of `what`, 1 or more. Raises InputError for anything else."""
    return parse_units.count(count_of_key(key), str(count_of_key(key)), what)


def document(counts: tuple[int, ...], values: tuple[float, ...]) -> dict[str, float]:
    """The points as a workload file has them: each of the `values` by its entry of `counts`, as text."""
    return {str(count): value for count, value in zip(counts, values, strict=True)}


@dataclass(frozen=True)
class Degradation:
    """What is left of the bandwidth when several transfers share it, as a function d(k) of their number k (001 §I.A.4).

    d(1) = 1. Between two measured counts d is linear, beyond the last one constant.

    Args:
        counts: numbers of transfers at which it was measured, ascending from 2 or more.
        parts: at each of them the part of the bandwidth that is left, above 0 and at most 1.

    Raises:
        InputError: for counts that do not ascend or parts outside that range.
    """

    counts: tuple[int, ...]
    parts: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.parts):
            raise InputError("", f"{len(self.counts)} counts for {len(self.parts)} parts; expected one for each")
        if any(later <= earlier for earlier, later in zip((1, *self.counts), self.counts, strict=False)):
            raise InputError("", f"the counts {short(list(self.counts))} do not ascend from 2 on; expected each count once")
        for count, part in zip(self.counts, self.parts, strict=True):
            if not isinstance(part, int | float) or isinstance(part, bool) or not 0.0 < part <= 1.0:
                raise InputError(str(count), f"{part!r} is no part of the bandwidth; expected a number above 0, at most 1")
        object.__setattr__(self, "parts", tuple(float(part) for part in self.parts))

    @classmethod
    def of(cls, points: object) -> Degradation:
        """Make a degradation from a mapping of counts to parts.

        Args:
            points: the part of the bandwidth, above 0 to 1, by number of transfers; a `Degradation` stays as it is.

        Raises:
            InputError: for what is no such mapping.

        Example:
            >>> from penstock.model import Degradation
            >>> Degradation.of({4: 0.85}).upto(4)  # 4 transfers lose 15 %
            array([1.  , 0.95, 0.9 , 0.85])
        """
        if isinstance(points, Degradation):
            return points
        refusal = 'is no degradation; expected {"2": part, "4": part, …}'
        return cls(*by_count(points, refusal, lambda key: as_count(key, "transfers")))

    def document(self) -> dict[str, float]:
        """The degradation as a workload file has it."""
        return document(self.counts, self.parts)

    def upto(self, transfers: int) -> NDArray[np.float64]:
        """d(1), …, d(k) for k = `transfers`: entry k − 1 is the part that is left for k transfers."""
        return np.interp(np.arange(1, transfers + 1), (1, *self.counts), (1.0, *self.parts))


_BUFFER_KEYS: Final = ("size", "bandwidth", "resources")


@dataclass(frozen=True)
class Buffer:
    """A burst buffer between the nodes and the I/O system (004 §3.1).

    Args:
        size: S in bytes; None if it has to be found.
        bandwidth: B_BB, the bytes/s at which it can be filled; unbounded if not given.
        resources: the I/O resources behind it, which can only be all of them.
    """

    size: float | None = None
    bandwidth: float | None = None
    resources: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.size is not None:
            object.__setattr__(self, "size", parse_units.volume(self.size, "size"))
        if self.bandwidth is not None:
            object.__setattr__(self, "bandwidth", parse_units.bandwidth(self.bandwidth, "bandwidth"))
        if self.resources is not None:
            object.__setattr__(self, "resources", parse_units.positions(self.resources, "resources", "I/O resources"))

    @classmethod
    def of(cls, fields: object) -> Buffer:
        """Make a buffer.

        Args:
            fields: a mapping such as ``{"size": "100 TB", "bandwidth": "1 TB/s"}``; a `Buffer` stays as it is.

        Raises:
            InputError: for what is no such mapping.

        Example:
            >>> Buffer.of({"size": "100 TB"}).size
            100000000000000.0
        """
        if isinstance(fields, Buffer):
            return fields
        if not isinstance(fields, dict) or not set(fields) <= set(_BUFFER_KEYS):
            expected = f"expected an object with the keys {', '.join(_BUFFER_KEYS)}"
            raise InputError("", f"{short(fields)} is not a buffer; {expected}")
        return cls(**fields)

    def document(self) -> dict[str, Any]:
        """The buffer as a workload file has it."""
        fields = {"size": self.size, "bandwidth": self.bandwidth, "resources": self.resources and list(self.resources)}
        return {key: value for key, value in fields.items() if value is not None}

    def require_before(self, resources: int | None) -> None:
        """Refuse a buffer that some of the platform's I/O resources bypass."""
        if self.resources is None:
            return
        given = short(list(self.resources))
        if resources is None:
            raise InputError("resources", f"{given} on a platform without I/O resources; expected it to be left out")
        if set(self.resources) != set(range(resources)):
            raise InputError(
                "resources",
                f"{given} are not the {resources} I/O resources of the platform: some bypass the buffer; "
                "expected all of them, or leave it out",
            )


@dataclass(frozen=True)
class Platform:
    """The machine: one I/O system that all applications share (000 §3.1.2).

    Args:
        bandwidth: B of the I/O system, in bytes/s.
        node_bandwidth: b of one node, in bytes/s. Without it every application can use all of B.
        nodes: number of nodes of the machine.
        resources: number N of I/O nodes or storage targets, where the I/O system is seen as many (002 §III.A).
        read_bandwidth: B_r, the limit on all reads in bytes/s; B if not given.
        write_bandwidth: B_w, the limit on all writes in bytes/s; B if not given.
        buffer: the burst buffer (004 §3.1).
        degradation: what is left of B when several transfers share it; all of it if not given (001 §I.A.4).

    Raises:
        InputError: for a value that has no meaning; the text names the field.

    Example:
        >>> from penstock import Platform
        >>> platform = Platform("160 GB/s", node_bandwidth="1 GB/s", nodes=640)
        >>> platform.cap(100)
        100000000000.0
    """

    bandwidth: float
    node_bandwidth: float | None = None
    nodes: int | None = None
    resources: int | None = None
    read_bandwidth: float | None = None
    write_bandwidth: float | None = None
    buffer: Buffer | None = None
    degradation: Degradation | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", parse_units.bandwidth(self.bandwidth, "bandwidth"))
        for name in ("node_bandwidth", "read_bandwidth", "write_bandwidth"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, parse_units.bandwidth(getattr(self, name), name))
        if self.nodes is not None:
            parse_units.count(self.nodes, "nodes", "nodes")
        if self.resources is not None:
            parse_units.count(self.resources, "resources", "I/O resources")
        if self.buffer is not None:
            try:
                object.__setattr__(self, "buffer", Buffer.of(self.buffer))
                self.buffer.require_before(self.resources)
            except InputError as error:
                raise error.within("buffer") from None
        if self.degradation is not None:
            try:
                object.__setattr__(self, "degradation", Degradation.of(self.degradation))
            except InputError as error:
                raise error.within("degradation") from None

    @property
    def read_limit(self) -> float:
        """The limit on all reads, B_r in bytes/s, never above B."""
        return min(self.read_bandwidth or self.bandwidth, self.bandwidth)

    @property
    def write_limit(self) -> float:
        """The limit on all writes, B_w in bytes/s, never above B."""
        return min(self.write_bandwidth or self.bandwidth, self.bandwidth)

    def cap(self, nodes: int) -> float:
        """The largest bandwidth that so many nodes can use, b_i = min(p_i · b, B), in bytes/s (000 eq. 1)."""
        if self.node_bandwidth is None:
            return self.bandwidth
        return min(nodes * self.node_bandwidth, self.bandwidth)
