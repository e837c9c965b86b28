"""What a policy reads and writes: the one table of columns.

At every event the engine (or the live coordinator) shows a policy the active applications, which have an I/O operation
posted and not complete (000 §4), and asks for a rate for each.

Engine and coordinator keep the active operations in two tables, with one row for each column of the view and one place for
each operation. `FLOATS` and `INTEGERS` name the first rows of both, in the order in which `View` declares its columns. The
row after them, `GIVEN`, takes the rates. A view is a range of places. Compiled policies are called with the addresses of
the tables and make the view themselves, so that columns they do not read cost nothing: a call costs 1 ns, where passing a
view of seventeen arrays costs 20.

An operation can be paused at the end of a round (003 §III.C): one of `volume` bytes in `rounds` equal rounds where
k·volume/rounds bytes have moved. Engine and policies both count so; 0 rounds are infinitely many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, get_type_hints

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, overload, register_model

from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import array_at, number_at, read_only, step
from penstock.numeric.tolerances import ROUND_END, ROUNDS_KNOWN_TO

# ruff: noqa: ARG001, ARG002
# numba prescribes these signatures.


POSTING: Final = "posting"
"""Filled when an operation is posted, then constant."""
MOVING: Final = "moving"
"""Kept up to date while the operation moves."""
DECIDING: Final = "deciding"
"""Filled by the previous decision."""
POLICY: Final = "policy"
"""Working memory of the policy during a call."""
ASKING: Final = "asking"
"""The same for all operations; filled before the policy is called."""


@dataclass(frozen=True)
class Column:
    """The unit of a column of the view, and when it is filled."""

    unit: str
    filled: str


class View(NamedTuple):
    """The active applications at an event, with one entry each in every array.

    The order of the entries has no meaning. A policy must not change a column, except for its own `scratch`, `spare` and
    `order`.

    Example:
        A policy is a function of a view and of the rates it writes, in bytes/s::

            def shortest_first(view, rates):
                left = view.bandwidth
                for i in np.argsort(view.remaining):
                    rates[i] = min(view.cap[i], left)
                    left -= rates[i]
    """

    application: Annotated[Ints, Column("position", POSTING)]
    """Position in the workload; breaks the last ties."""
    remaining: Annotated[Floats, Column("bytes", MOVING)]
    """V_i: bytes of the pending operation that have not moved yet."""
    cap: Annotated[Floats, Column("bytes/s", POSTING)]
    """b_i: the most bandwidth that the application can use, in bytes/s; never above `bandwidth`."""
    posted: Annotated[Floats, Column("s", POSTING)]
    """R_i: the date at which the pending operation was posted, in seconds, to the nanosecond."""
    progress: Annotated[Floats, Column("s", MOVING)]
    """Work done plus volume moved over cap since release, in seconds: the numerator of the yield (000 eq. 6)."""
    release: Annotated[Floats, Column("s", POSTING)]
    """τ_i, in seconds."""
    nodes: Annotated[Floats, Column("nodes", POSTING)]
    """p_i."""
    mean_iteration: Annotated[Floats, Column("s", POSTING)]
    """ω_i: mean seconds of work and dedicated I/O of the finished iterations; 0 before the first one."""
    volume: Annotated[Floats, Column("bytes", POSTING)]
    """Bytes of the pending operation when it was posted."""
    rate: Annotated[Floats, Column("bytes/s", DECIDING)]
    """Bytes/s that it had until now; above 0 for those that hold the link."""
    transferring: Annotated[Floats, Column("s", MOVING)]
    """Seconds with some bandwidth so far, over all its operations in this run."""
    whole: Annotated[Floats, Column("s", POSTING)]
    """Its progress, in seconds, at its end: minus `progress` this is the work and I/O left at full bandwidth."""
    rank: Annotated[Floats, Column("place", POSTING)]
    """Its place in the order that the policy has planned for the workload; 0 without a plan."""
    rounds: Annotated[Floats, Column("rounds", POSTING)]
    """Equal rounds of the pending operation; it can be paused only between two of them. 0 if it can be paused anywhere."""
    reach: Annotated[Floats, Column("bytes/s", MOVING)]
    """What it is known to reach however much it is granted, below `cap`; 0 where nothing below `cap` is known."""
    weight: Annotated[Floats, Column("", POSTING)]
    """Its weight where applications, users or groups share by weights; 1 unless something else is said."""
    turn: Annotated[Ints, Column("place", POSTING)]
    """Place of the pending operation in the planned order of all operations, from 0; −1 without such a plan."""
    user: Annotated[Ints, Column("number", POSTING)]
    """The number of its user; a number of its own if it has none."""
    group: Annotated[Ints, Column("number", POSTING)]
    """The number of its group or project; a number of its own if it has none."""
    degradation: Annotated[Floats, Column("part", ASKING)]
    """Parts of `bandwidth` that 1, 2, … n transfers get together; the policy gives rates as if all were 1."""
    scratch: Annotated[Floats, Column("", POLICY)]
    """Working memory, one number per application; its contents mean nothing."""
    spare: Annotated[Floats, Column("", POLICY)]
    """A second column of working memory."""
    order: Annotated[Ints, Column("", POLICY)]
    """Working memory, one index per application."""
    now: Annotated[float, Column("s", ASKING)]
    """t, in seconds."""
    bandwidth: Annotated[float, Column("bytes/s", ASKING)]
    """B: what the link carries, in bytes/s."""
    window_end: Annotated[float, Column("s", ASKING)]
    """T_end, in seconds; infinite without a window."""
    parameter: Annotated[float, Column("", ASKING)]
    """The value of the policy's parameter; 0 if it has none."""
    completed: Annotated[int, Column("operations", ASKING)]
    """Operations completed so far, of all applications."""


RatesFunction: TypeAlias = Callable[[View, Floats], None]
"""A policy: reads the view, writes ``rates[i]`` in bytes/s for every i; keeps no state and draws no random number."""
KeyFunction: TypeAlias = Callable[[View, int], float]
"""Where application i comes in an order, lowest first."""


_HINTS: Final = get_type_hints(View, include_extras=True)
COLUMNS: Final[dict[str, Column]] = {name: hint.__metadata__[0] for name, hint in _HINTS.items()}
"""All columns of the view by name."""


def _of(kind: Any) -> tuple[str, ...]:
    return tuple(name for name, hint in _HINTS.items() if hint.__origin__ == kind and name != "degradation")


FLOATS: Final = _of(Floats)
"""Names of the columns of numbers, in the order of their rows."""
INTEGERS: Final = _of(Ints)
"""Names of the columns of integers, in the order of their rows."""
MOMENT: Final = (*_of(float), *_of(int))
"""Names of what is the same for all operations, in the order in which it is handed over."""
ROW: Final[dict[str, int]] = {name: row for names in (FLOATS, INTEGERS, MOMENT) for row, name in enumerate(names)}
"""The row of each column in its table."""
GIVEN: Final = len(FLOATS)
"""The row that policies write rates to, behind the columns of numbers."""

_number_column: Final = types.Array(types.float64, 1, "C", readonly=True)
_index_column: Final = types.Array(types.int64, 1, "C", readonly=True)


def _compiled_type(name: str) -> Any:
    own = COLUMNS[name].filled == POLICY
    if name in FLOATS or name == "degradation":
        return types.float64[::1] if own else _number_column
    if name in INTEGERS:
        return types.int64[::1] if own else _index_column
    return types.int64 if name in _of(int) else types.float64


class ViewType(types.Type):  # type: ignore[misc]
    """The view in compiled code: addresses, from which a column is made where it is read.

    As a tuple of eighteen arrays it would be 130 numbers to pass at every call, and policies took a fifth longer.
    """

    def __init__(self) -> None:
        super().__init__(name="View")


VIEW_TYPE: Final = ViewType()
RATES_SIGNATURE: Final[Any] = types.void(*[types.intp] * 7)
"""How compiled policies are called: the addresses of both tables, of `MOMENT` and of the degradation, the length of a row,
the first place and the number of places.
"""
KEY_SIGNATURE: Final[Any] = types.float64(*[types.intp] * 6)
"""The same for one place: its key."""


def view_at(floats: Any, integers: Any, moment: Any, degradation: Any, stride: int, begin: int, size: int) -> View:
    """The view of `size` places from `begin` on.

    Compiled code passes addresses of the tables; without the compiler they are the tables themselves.

    Args:
        floats: the table of the columns `FLOATS`.
        integers: the table of the columns `INTEGERS`.
        moment: the numbers of `MOMENT`.
        degradation: parts of the bandwidth that 1, 2, … transfers get together.
        stride: the length of a row of the tables.
        begin: the first place.
        size: the number of places.
    """
    places = slice(begin, begin + size)

    def column(name: str) -> Any:
        if name in MOMENT:
            return moment[ROW[name]].item()
        if name == "degradation":
            return read_only(degradation[:size])
        found = (floats if name in FLOATS else integers)[ROW[name], places]
        return found if COLUMNS[name].filled == POLICY else read_only(found)

    values = {name: column(name) for name in View._fields}
    return View(**{**values, "completed": int(values["completed"])})


def given_at(floats: Any, stride: int, begin: int, size: int) -> Any:
    """The rates of `size` places from `begin` on, to be written, in the table `floats` with rows of the length `stride`."""
    return floats[GIVEN, begin : begin + size]


_PLACE: Final = ("floats", "integers", "moment", "degradation", "stride", "begin", "size")


@register_model(ViewType)
class _ViewModel(models.StructModel):  # type: ignore[misc]
    """The arguments of a compiled policy as they are, and what is the same for all operations."""

    def __init__(self, manager: Any, kind: Any) -> None:
        addresses = [(name, types.intp) for name in _PLACE]
        super().__init__(manager, kind, addresses + [(name, _compiled_type(name)) for name in MOMENT])


@infer_getattr
class _Columns(AttributeTemplate):  # type: ignore[misc]
    """The types of the columns."""

    key = ViewType

    def generic_resolve(self, view: Any, name: str) -> Any:
        """numba asks for it; None for what is no column."""
        return _compiled_type(name) if name in COLUMNS else None


@lower_getattr_generic(ViewType)  # type: ignore[untyped-decorator]
def _column(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    view = cgutils.create_struct_proxy(kind)(context, builder, value)
    wanted = _compiled_type(name)
    if name in MOMENT:
        return getattr(view, name)
    if name == "degradation":
        return array_at(context, builder, wanted, view.degradation, view.begin.type(0), view.size)
    start = builder.add(builder.mul(view.stride, view.stride.type(ROW[name])), view.begin)
    return array_at(context, builder, wanted, view.floats if name in FLOATS else view.integers, start, view.size)


@intrinsic  # type: ignore[untyped-decorator]
def _view_at(_: Any, floats: Any, integers: Any, moment: Any, degradation: Any, stride: Any, begin: Any, size: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        for name, argument in zip(_PLACE, arguments, strict=True):
            setattr(view, name, argument)
        for name in MOMENT:
            setattr(view, name, number_at(context, builder, _compiled_type(name), arguments[2], ROW[name]))
        return view._getvalue()

    return VIEW_TYPE(floats, integers, moment, degradation, stride, begin, size), generate


@intrinsic  # type: ignore[untyped-decorator]
def _given_at(_: Any, floats: Any, stride: Any, begin: Any, size: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        floats, stride, begin, size = arguments
        start = builder.add(builder.mul(stride, stride.type(GIVEN)), begin)
        return array_at(context, builder, signature.return_type, floats, start, size)

    return types.float64[::1](floats, stride, begin, size), generate


@overload(view_at, strict=False)  # type: ignore[untyped-decorator]
def _compiled_view_at(floats: Any, integers: Any, moment: Any, degradation: Any, stride: Any, begin: Any, size: Any) -> Any:
    return lambda floats, integers, moment, degradation, stride, begin, size: _view_at(
        floats, integers, moment, degradation, stride, begin, size
    )


@overload(given_at, strict=False)  # type: ignore[untyped-decorator]
def _compiled_given_at(floats: Any, stride: Any, begin: Any, size: Any) -> Any:
    return lambda floats, stride, begin, size: _given_at(floats, stride, begin, size)


def call_policy(floats: Any, integers: Any, moment: Any, degradation: Any, stride: int, begin: int, size: int) -> None:
    """Call a policy as the engine does; `function` is replaced by the policy's own.

    `floats`, `integers`, `moment`, `degradation`, `stride`, `begin` and `size` are those of `view_at`.
    """
    function(view_at(floats, integers, moment, degradation, stride, begin, size), given_at(floats, stride, begin, size))


def call_key(floats: Any, integers: Any, moment: Any, degradation: Any, stride: int, place: int) -> float:
    """The key of one `place` as the engine asks for it; `function` is replaced by the policy's own.

    `floats`, `integers`, `moment`, `degradation` and `stride` are those of `view_at`.
    """
    return function(view_at(floats, integers, moment, degradation, stride, place, 1), 0)  # type: ignore[no-any-return]


function: Any = None
"""Stands for the policy's own function in `call_policy` and `call_key`; `numeric.compiled.retargeted` replaces it."""


@step
def inside_round(remaining: float, volume: float, rounds: float) -> bool:
    """Whether an operation of `volume` bytes in `rounds` rounds is inside a round when `remaining` bytes are left."""
    done = _rounds_done(remaining, volume, rounds)
    return bool(abs(done - np.rint(done)) > _nearly(rounds))


@step
def left_after_round(remaining: float, volume: float, rounds: float) -> float:
    """Bytes left when the present round is over, of `volume` in `rounds` rounds with `remaining` left.

    A round that is over to the last bits is the present one.
    """
    done = np.ceil(_rounds_done(remaining, volume, rounds) - _nearly(rounds))
    return float(volume * (1.0 - done / rounds))


@step
def left_when_paused(view: View, i: int) -> float:
    """Bytes left of operation `i` of the `view` when it pauses, if told to now: all, unless it is inside a round."""
    remaining = view.remaining[i]
    if view.rate[i] <= 0.0 or view.rounds[i] <= 0.0 or not inside_round(remaining, view.volume[i], view.rounds[i]):
        return float(remaining)
    return left_after_round(remaining, view.volume[i], view.rounds[i])


@step
def _rounds_done(remaining: float, volume: float, rounds: float) -> float:
    return float((1.0 - remaining / volume) * rounds)


@step
def _nearly(rounds: float) -> float:
    """The part of a round within which a transfer counts as between two rounds."""
    return float(ROUND_END + ROUNDS_KNOWN_TO * rounds)
