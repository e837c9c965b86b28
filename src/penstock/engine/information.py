"""What a policy is told of what lies ahead: the truth, what has been learned, the means of a class, or nothing.

A policy is shown columns that nobody can measure when it decides: how much the pending operation still has to move
(`volume`, `remaining`), how long an iteration takes (`mean_iteration`), how long the application goes on (`whole`) and its
place in a planned order (`rank`). The simulator knows all of this; a machine does not. A run on other information shows the
policy other values in these columns. What moves, and how long it takes, stays as in the workload.

**predicted** shows what the application's own past says, in simulations and live by the same code
(`penstock.engine.chain.learn`). The volume of an operation is the mean over its ended operations. Before the first one has
ended, the operation counts as long as the mean of all ended operations of all applications takes alone (`FIRST_GUESS_S` if
there is none). The iteration length is the mean over its ended iterations (000 §4.2), times the operations that begin in a
period: an I/O phase may have several. The period is looked for in its latest `KEPT` operations by the search of the
importers (`penstock.numeric.periodicity`); without one each operation is a phase. An application is taken to go on for as
long as it has gone on: the median of what is left of a process is its age (Harchol-Balter and Downey, ACM TOCS 15(3), 1997).
Johnson's order compares the mean work and I/O of its phases.

**class** shows the means over all applications of its class: those of its user whose names differ in their numbers only.

**none** shows the same of all: operations of `FIRST_GUESS_S` at their caps, of which nothing is known to have moved; no
ended iteration; nothing left to do; no place in an order.

Volumes that the policy is shown replace the true ones during the call only. The other columns are written when an operation
is posted. Both cost nothing in a run on the truth: the kernel leaves them out.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numba
import numpy as np
from numba import types

from penstock.engine.chain import (
    KEPT,
    compiled_johnson_key,
    compiled_learn,
    compiled_length_left,
    compiled_search_is_due,
    compiled_shown_left,
)
from penstock.engine.machine import Layout, in_units
from penstock.engine.setup import Chains
from penstock.engine.state import INDEX, NOW, Records, State, new_records
from penstock.engine.transfers import CAP, MEAN_ITERATION, RANK, REMAINING, VOLUME, WHOLE
from penstock.model import Application, InputError, Workload
from penstock.model.application import WORK
from penstock.model.errors import expected
from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import JIT, call_at, inlined_kernel
from penstock.numeric.periodicity import period_of_latest
from penstock.numeric.tolerances import FIRST_GUESS_S
from penstock.policies.order import nominal
from penstock.policies.policy import Need, Policy
from penstock.policies.registry import is_built_in

TRUE: Final = "true"
PREDICTED: Final = "predicted"
CLASS: Final = "class"
NONE: Final = "none"
INFORMATION: Final = (TRUE, PREDICTED, CLASS, NONE)
AHEAD: Final = frozenset({Need.VOLUME, Need.ITERATION, Need.REMAINING, Need.NOMINAL, Need.COUNTS})
"""What a policy may need that nobody can measure when it decides."""
_PERIODIC: Final = frozenset({Need.ITERATION, Need.NOMINAL})
"""Needs that rest on the period of an application."""
NOTES: Final = {
    PREDICTED: "predicted: policies were shown what each application's own past says, not the true values",
    CLASS: "class: policies were shown means over all applications of one user and name, not the true values",
    NONE: "none: policies were shown nothing of what lies ahead",
}
"""What to say of runs that are not on the truth."""
_PREDICTED, _CLASS, _NONE = 1, 2, 3
_MODES: Final = {PREDICTED: _PREDICTED, CLASS: _CLASS, NONE: _NONE}

_BELIEF: Final = np.dtype(
    [
        ("operations", np.int64),  # ended operations that the volume is the mean of
        ("volume", np.float64),  # units of an operation; bytes where it is that of a class
        ("iterations", np.int64),  # ended iterations that the next two are means of
        ("work", np.float64),  # seconds of work of an iteration
        ("alone", np.float64),  # seconds that its I/O takes alone; of the last entry, of an operation
        ("per_phase", np.int64),  # operations in a period
        ("searched", np.int64),  # ended operations when the period was last looked for
        ("iteration", np.float64),  # of a class: seconds of an iteration
        ("longer", np.float64),  # of a class: by how many seconds its applications are longer than this one
        ("rank", np.float64),  # of a class: the place in the planned order
        ("shown", np.float64),  # units of the operation under way, as the policy is shown
        ("true_volume", np.float64),  # while the policy is asked: what it is not shown
        ("true_remaining", np.float64),
    ]
)


class Beliefs(NamedTuple):
    """What is believed of each application, and behind them of all together; and how it comes about."""

    known: Records
    mode: int
    latest: Floats
    """A row for each application: date posted, date ended and units of its latest operations; none if nobody asks."""
    search: Any
    """What looks for a period when the kernel calls it; see `Search`."""


BELIEFS_TYPE: Final[Any] = types.NamedTuple(
    [numba.from_dtype(_BELIEF)[::1], types.int64, types.float64[:, ::1], types.int64], Beliefs
)


class Search:
    """Looks for the periods of applications when the kernel asks: the search is no compiled code.

    Args:
        known: what is believed of each application, to be changed.
        latest: their latest operations, as in `Beliefs`.
    """

    def __init__(self, known: Records, latest: Floats) -> None:
        self._known, self._latest = known, latest
        self.failure: BaseException | None = None
        """Why a search has failed; nothing may be raised through compiled code."""
        self._called = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 7)(self._look)

    @property
    def address(self) -> Any:
        """What a kernel calls; without the compiler, the function itself."""
        return ctypes.cast(self._called, ctypes.c_void_p).value if JIT else self._look

    def _look(self, index: int, *_: int) -> None:
        try:
            count = min(int(self._known["operations"][index]), KEPT)
            rows = self._latest[index, : 3 * count].reshape(count, 3)
            rows = rows[np.argsort(rows[:, 1], kind="stable")]  # the oldest are overwritten
            self._known["per_phase"][index] = period_of_latest(rows)[1]
        except BaseException as error:
            self.failure = self.failure or error


def checked_information(information: str, policy: Policy) -> str:
    """The `information`, if it is one of `INFORMATION` and the `policy` can be run on it.

    Raises:
        InputError: in one line, if not.
    """
    if information not in INFORMATION:
        raise InputError("information", f"{information!r} is unknown; {expected(information, INFORMATION)}")
    place = f"policy {policy.name}"
    if information != TRUE and Need.COUNTS in policy.needs:
        reason = "it fixes the order of all operations at the start, from the workload"
        raise InputError(place, f"{reason}; on {information} information it has none; expected information true")
    if information == PREDICTED and policy.planner is not None and not is_built_in(policy):
        reason = "its planner orders applications before anything is learned of them"
        raise InputError(place, f"{reason}; expected information true, class or none")
    return information


def tells_apart(information: str, policy: Policy) -> bool:
    """Whether a run of the `policy` on this `information` is another one than on the truth.

    A user's policy may read any column, whatever it declares.
    """
    return information != TRUE and (not policy.built_in or bool(AHEAD & set(policy.needs)))


def class_of(application: Application) -> tuple[str | None, str]:
    """The class of an `application`: its user, and its name without the numbers at the end.

    Example:
        >>> class_of(Application.of("EAP-12", [("work", 1.0)], user="ann"))
        ('ann', 'EAP')
    """
    return application.user, re.sub(r"(?<=.)[-_.]?\d[-_.\d]*(-run\d+)?$", "", application.name)


def new_beliefs(
    information: str, workload: Workload, layout: Layout, chains: Chains, policy: Policy
) -> tuple[Beliefs, Search]:
    """What is believed at the start of a run, and what looks for periods; keep it for as long as the run goes on.

    Args:
        information: PREDICTED, CLASS or NONE.
        workload: the applications.
        layout: the stores that they use.
        chains: their phases, and the seconds that each takes alone.
        policy: the policy, which may plan an order.
    """
    known = new_records(len(workload.applications) + 1, _BELIEF)
    known["alone"][-1], known["per_phase"] = FIRST_GUESS_S, 1
    if information == CLASS:
        _believe_classes(known, workload, layout, chains, policy)
    searching = information == PREDICTED and (not policy.built_in or bool(_PERIODIC & set(policy.needs)))
    latest = np.zeros((len(workload.applications) if searching else 0, 3 * KEPT))
    search = Search(known, latest)
    return Beliefs(known, _MODES[information], latest, search.address), search


def _believe_classes(known: Records, workload: Workload, layout: Layout, chains: Chains, policy: Policy) -> None:
    """Fill in the means over the applications of each class."""
    first, applications = chains.first, workload.applications
    members: dict[tuple[str | None, str], list[int]] = {}
    for index, application in enumerate(applications):
        members.setdefault(class_of(application), []).append(index)
    operations, lengths = chains.operations, chains.cycle + np.array([one.lead for one in applications])
    io = chains.kinds != WORK
    volumes = np.add.reduceat(np.where(io, chains.amounts, 0.0), first[:-1]) * layout.bytes
    for own in members.values():
        count = int(operations[own].sum())
        known["operations"][own] = count
        known["volume"][own] = volumes[own].sum() / max(count, 1)
        known["iteration"][own] = chains.cycle[own].sum() / max(count, 1)
        known["longer"][own] = lengths[own].mean() - lengths[own]
    if policy.planner is not None:
        planned = in_units(workload, layout)
        rank = policy.plan(_of_classes(planned, list(members.values()))).rank
        known["rank"][:-1] = 0.0 if rank is None else rank


def _of_classes(workload: Workload, classes: Sequence[Sequence[int]]) -> Workload:
    """The workload with the nominal values of each application replaced by the means over its class."""
    of_all, changed = nominal(workload), list(workload.applications)
    for own in classes:
        work, io = float(of_all.work[own].mean()), float(of_all.io[own].mean())
        for index in own:
            one = changed[index]
            speed = min(one.write_speed(workload.platform), workload.platform.write_limit)
            changed[index] = replace(one, lead=0.0, nominal=(work, io * speed))
    return replace(workload, applications=tuple(changed))


@inlined_kernel
def believe(state: State, beliefs: Beliefs, slot: int, index: int) -> None:
    """Write what is believed of application `index` into place `slot` of `state`, where its operation was just posted."""
    mine, own, floats = beliefs.known[index], state.own[index], state.floats
    if mine.operations == 0:
        mine.shown = beliefs.known[len(beliefs.known) - 1].alone * floats[CAP, slot]
    else:
        mine.shown = mine.volume / (own.bytes if beliefs.mode == _CLASS else 1.0)
    if beliefs.mode == _PREDICTED:
        floats[MEAN_ITERATION, slot] *= mine.per_phase
        floats[WHOLE, slot] = own.done + compiled_length_left(own.done)
        floats[RANK, slot] = compiled_johnson_key(mine)
    elif beliefs.mode == _CLASS:
        floats[MEAN_ITERATION, slot] = mine.iteration
        floats[WHOLE, slot] = max(own.whole + mine.longer, own.done)
        floats[RANK, slot] = mine.rank
    else:
        floats[MEAN_ITERATION, slot] = 0.0
        floats[WHOLE, slot] = own.done
        floats[RANK, slot] = 0.0


@inlined_kernel
def learn_of(state: State, beliefs: Beliefs, index: int, volume: float, alone: float) -> None:
    """Learn from an operation of application `index` of `state` that ends: `volume` units, `alone` seconds by itself."""
    if beliefs.mode == _PREDICTED:
        known = beliefs.known
        mine = known[index]
        compiled_learn(mine, known[len(known) - 1], state.own[index], volume, alone)
        if len(beliefs.latest) > 0:
            place = 3 * ((mine.operations - 1) % KEPT)
            beliefs.latest[index, place] = state.own[index].began
            beliefs.latest[index, place + 1] = state.clock[NOW]
            beliefs.latest[index, place + 2] = volume
            if compiled_search_is_due(mine.operations, mine.searched):
                mine.searched = mine.operations
                call_at(beliefs.search, index, 0, 0, 0, 0, 0, 0)


@inlined_kernel
def hide(state: State, beliefs: Beliefs, begin: int, size: int) -> None:
    """Show the policy volumes that are believed, in `size` places of `state` from `begin` on; `reveal` undoes it."""
    known, floats = beliefs.known, state.floats
    for slot in range(begin, begin + size):
        mine = known[state.integers[INDEX, slot]]
        volume, remaining = floats[VOLUME, slot], floats[REMAINING, slot]
        mine.true_volume, mine.true_remaining = volume, remaining
        floats[VOLUME, slot] = mine.shown
        floats[REMAINING, slot] = compiled_shown_left(mine.shown, volume, remaining) if beliefs.mode != _NONE else mine.shown


@inlined_kernel
def reveal(state: State, beliefs: Beliefs, begin: int, size: int) -> None:
    """Put the true volumes back into `size` places of `state` from `begin` on, from the `beliefs`."""
    for slot in range(begin, begin + size):
        mine = beliefs.known[state.integers[INDEX, slot]]
        state.floats[VOLUME, slot], state.floats[REMAINING, slot] = mine.true_volume, mine.true_remaining
