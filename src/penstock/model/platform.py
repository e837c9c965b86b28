"""The platform: one I/O system of total bandwidth B that all applications share (000 §3.1.2).

A `Platform` has bandwidths in bytes/s and counts of nodes and I/O resources. Two optional parts describe more of it:
`Buffer`, the burst buffer between nodes and I/O system (004 §3.1), and `Degradation`, what the I/O system loses when
several transfers share it: k of them get at most d(k)·B together (001 §I.A.4; 003 §II).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.model import parse_units
from penstock.model.curve import as_count, by_count, document
from penstock.model.errors import InputError, short


@dataclass(frozen=True)
class Degradation:
    """The part of the bandwidth that is left, above 0 and at most 1, at measured numbers of concurrent transfers, ascending.

    One transfer has all of it. Between two measured numbers it is linear, beyond the last one constant.
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
        """From a mapping of counts to parts: ``Degradation.of({4: 0.84})`` where 4 transfers lose 16 %."""
        if isinstance(points, Degradation):
            return points
        refusal = 'is no degradation; expected {"2": part, "4": part, …}'
        return cls(*by_count(points, refusal, lambda key: as_count(key, "transfers")))

    def document(self) -> dict[str, float]:
        """The degradation as a file has it."""
        return document(self.counts, self.parts)

    def upto(self, transfers: int) -> NDArray[np.float64]:
        """d(1), …, d(k): entry k − 1 is the part that is left for k transfers together."""
        return np.interp(np.arange(1, transfers + 1), (1, *self.counts), (1.0, *self.parts))


_BUFFER_KEYS: Final = ("size", "bandwidth", "resources")


@dataclass(frozen=True)
class Buffer:
    """A burst buffer between the nodes and the I/O system: its `size` S in bytes, and the `bandwidth` B_BB in bytes/s at
    which it can be filled, unbounded if not given (004 §3.1). `resources` are the I/O resources it stands before, which can
    only be all of them.
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
        """A buffer from a mapping such as ``{"size": "100 TB", "bandwidth": "1 TB/s"}``."""
        if isinstance(fields, Buffer):
            return fields
        if not isinstance(fields, dict) or not set(fields) <= set(_BUFFER_KEYS):
            expected = f"expected an object with the keys {', '.join(_BUFFER_KEYS)}"
            raise InputError("", f"{short(fields)} is not a buffer; {expected}")
        return cls(**fields)

    def document(self) -> dict[str, Any]:
        """The buffer as a file has it."""
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
    """`bandwidth` B of the I/O system and `node_bandwidth` b of one node, in bytes/s; `nodes` of the machine.

    Without `node_bandwidth` every application can use all of B by itself. `resources` is the number N of I/O nodes or
    storage targets where the I/O system is seen as many (002 §III.A). `read_bandwidth` B_r and `write_bandwidth` B_w bound
    each direction, B if not given, and `buffer` is the burst buffer (004 §3.1).
    `degradation` is what is left of B when several transfers share it, all of it if not given (001 §I.A.4).
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
        """B_r, what can be read from the I/O system at once, in bytes/s; never above B."""
        return min(self.read_bandwidth or self.bandwidth, self.bandwidth)

    @property
    def write_limit(self) -> float:
        """B_w, what can be written to the I/O system at once, in bytes/s; never above B."""
        return min(self.write_bandwidth or self.bandwidth, self.bandwidth)

    def cap(self, nodes: int) -> float:
        """The largest bandwidth that `nodes` nodes can use: b_i = min(p_i · b, B) (000 eq. 1)."""
        if self.node_bandwidth is None:
            return self.bandwidth
        return min(nodes * self.node_bandwidth, self.bandwidth)
