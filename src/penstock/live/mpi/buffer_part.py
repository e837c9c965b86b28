"""One rank's part of an operation: a buffer as mpi4py takes it, moved range by range.

An operation of all ranks has V bytes. When m of them are moved, a rank with n elements has moved ⌊n·m/V⌋ of them,
rounded down to complete *grains*. A grain is the smallest number of elements that makes a whole number of the view's
etypes, the unit of positions in an MPI file. At m = V all elements are moved. So every rank knows its range of each
round without a message.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

from penstock.live.client.errors import UsageError
from penstock.live.mpi.jobs import MPI


@dataclass(frozen=True)
class BufferPart:
    """`count` elements of the datatype, from the buffer's element `displacement` on."""

    data: Any
    count: int
    displacement: int
    datatype: MPI.Datatype
    size: int
    """Bytes of data in an element."""
    grain: int
    """Elements that are always moved together."""

    @property
    def volume(self) -> int:
        """Bytes of data."""
        return self.count * self.size

    @property
    def grains(self) -> int:
        """The largest number of pieces that the part can be cut into."""
        return -(-self.count // self.grain)

    def passed(self, moved: int, volume: int) -> int:
        """Elements that are moved when `moved` of the `volume` bytes of all ranks are."""
        return self.count if moved >= volume else self.count * moved // volume // self.grain * self.grain

    def message(self, first: int, last: int) -> list[Any]:
        """These elements, as mpi4py takes them."""
        return [self.data, (last - first, self.displacement + first), self.datatype]


def part_of(buffer: Any, etype: int, *, reading: bool, in_one_piece: bool) -> BufferPart:
    """The part that a buffer describes.

    Args:
        buffer: What mpi4py accepts. Without an MPI datatype it is moved as bytes, those of an item always together.
        etype: Bytes of the view's etype.
        reading: The buffer must be writable.
        in_one_piece: The part must not be cut.

    Raises:
        UsageError: If the buffer cannot be used.
    """
    data, count, displacement, datatype = _unpacked(buffer)
    item = 1
    if datatype is None:
        view = _view(data, reading)
        item, datatype = view.itemsize, MPI.BYTE
        count = view.nbytes if count is None else _number("count", count) * item
        displacement = _number("displacement", displacement) * item
    elif count is None:
        count = _filling(_view(data, reading), datatype)
    size = datatype.Get_size()
    count, displacement = _number("count", count) if size else 0, _number("displacement", displacement)
    if count * size % etype:
        raise UsageError(f"buffer: {count * size} bytes; expected a whole number of the view's etypes of {etype} bytes")
    grain = max(1, count) if in_one_piece or not count else math.lcm(size * item, etype) // size
    return BufferPart(data, count, displacement, datatype, size, grain)


def _unpacked(buffer: Any) -> tuple[Any, Any, Any, MPI.Datatype | None]:
    """Data, count, displacement and datatype by mpi4py's rules; None for what the buffer does not say."""
    if not isinstance(buffer, list | tuple):
        return buffer, None, 0, None
    match list(buffer):
        case [data, (MPI.Datatype() | str()) as code]:
            count, displacement = None, 0
        case [data, (list() | tuple()) as place, *rest] if len(place) == 2 and len(rest) <= 1:
            (count, displacement), code = place, rest[0] if rest else None
        case [data, count, *rest] if len(rest) <= 1:
            displacement, code = 0, rest[0] if rest else None
        case [data, count, displacement, code]:
            pass
        case _:
            raise UsageError(f"buffer: {len(buffer)} items; expected data, [data, count, datatype] or the like")
    datatype = MPI.Datatype.fromcode(code) if isinstance(code, str) else code
    if not isinstance(datatype, MPI.Datatype | None):
        raise UsageError(f"buffer: {datatype!r} is no datatype; expected an MPI.Datatype or the code of one")
    return data, count, displacement or 0, datatype


def _view(data: Any, reading: bool) -> memoryview:
    try:
        view = memoryview(data)
    except TypeError:
        raise UsageError(f"buffer: {type(data).__name__} is none; expected an array, or [data, count, datatype]") from None
    if not view.contiguous:
        raise UsageError("buffer: the array is not in one piece; expected a contiguous one")
    if reading and view.readonly:
        raise UsageError("buffer: the data cannot be changed; expected memory that can be read into")
    return view


def _filling(view: memoryview, datatype: MPI.Datatype) -> int:
    """How many elements fill the buffer."""
    extent = datatype.Get_extent()[1]
    if view.nbytes and (extent <= 0 or view.nbytes % extent):
        raise UsageError(f"buffer: {view.nbytes} bytes; expected a whole number of datatypes of {extent} bytes, or a count")
    return view.nbytes // extent if view.nbytes else 0


def _number(what: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise UsageError(f"buffer: {what} {value!r} is out of range; expected a whole number, 0 or more")
    return number
