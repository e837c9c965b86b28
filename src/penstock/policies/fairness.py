"""job-fair, size-fair, user-fair and group-fair: the link is divided among jobs, nodes, users or groups.

Each policy divides bandwidth by weights, up to what each party can use (weighted max-min fairness). What one party cannot
use goes to the others in proportion to their weights. job-fair divides it among applications and size-fair among their
nodes, as ThemisIO's policies of these names do. user-fair divides it among the users who have I/O pending, and group-fair
among their groups. The parameter `within` says how the applications of one user, or of one group, divide its part: by
weight, by nodes times weight, or in the order of another policy, each up to its cap until the part is used up. A group can
also divide its part among its users, which is its default: by the weights of the users, and then by the weights of the
applications of each user.

The weight of an application is 1 unless the workload says otherwise. The weight of a user, or of a group, is the largest
among its applications with I/O pending. An application without a user counts as a user of its own, one without a group as a
group of its own.
"""

from __future__ import annotations

import numpy as np

from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import subroutine
from penstock.policies.due_yield import USUAL_C, due_grade
from penstock.policies.fcfs import posting
from penstock.policies.greedy_com import time_alone
from penstock.policies.order import rounded_yield, sort, water_level
from penstock.policies.policy import Need, Parameter, Policy
from penstock.policies.view import View

WITHIN = ("jobs", "sizes", "fcfs", "greedy-yield", "greedy-com", "due-yield", "users")
"""How the applications of one user or group share its part; `users` is for groups only."""
JOBS, SIZES, FCFS, GREEDY_YIELD, GREEDY_COM, DUE_YIELD, USERS = range(len(WITHIN))


@subroutine
def _in_order(view: View, within: int) -> Ints:
    """The applications of `view` in the order in which those of one user or group are served, for WITHIN[within]."""
    for i in range(len(view.cap)):
        if within == GREEDY_YIELD:
            view.scratch[i] = rounded_yield(view, i)
        elif within == GREEDY_COM:
            view.scratch[i] = time_alone(view, i)
        elif within == DUE_YIELD:
            view.scratch[i] = due_grade(view, i, USUAL_C)
        else:
            view.scratch[i] = posting(view, i)
    sort(view, view.scratch)
    return view.order.copy()


@subroutine
def _divide(view: View, members: Ints, amount: float, within: int, rates: Floats) -> None:
    """Divide `amount`, in bytes/s, among the `members` of one user or group, which are in the order of `_in_order`."""
    if within >= FCFS:
        for i in members:
            rates[i] = min(view.cap[i], amount)
            amount -= rates[i]
        return
    for i in members:
        view.scratch[i] = view.weight[i] * view.nodes[i] if within == SIZES else view.weight[i]
    level = water_level(amount, view.cap, view.scratch, members, 0, len(members), 0.0)
    for i in members:
        rates[i] = min(view.cap[i], level * view.scratch[i])


@subroutine
def _together(owners: Ints, members: Ints) -> tuple[Ints, Ints]:
    """The `members` grouped by owner, in unchanged order within a group, and where each group begins; last, the end."""
    members = members[np.argsort(owners[members], kind="mergesort")]
    begins = np.zeros(len(members) + 1, np.int64)
    count = 1
    for place in range(1, len(members)):
        if owners[members[place]] != owners[members[place - 1]]:
            begins[count] = place
            count += 1
    begins[count] = len(members)
    return members, begins[: count + 1]


@subroutine
def _parts(view: View, members: Ints, begins: Ints, amount: float) -> Floats:
    """The part of each owner in `amount`, in bytes/s, by weight and up to the caps of its `members`."""
    size = len(begins) - 1
    demands, weights = np.zeros(size), np.zeros(size)
    for owner in range(size):
        for i in members[begins[owner] : begins[owner + 1]]:
            demands[owner] += view.cap[i]
            weights[owner] = max(weights[owner], view.weight[i])
    level = water_level(amount, demands, weights, np.arange(size), 0, size, 0.0)
    for owner in range(size):
        demands[owner] = min(demands[owner], level * weights[owner])
    return demands


@subroutine
def _divide_by_user(view: View, members: Ints, amount: float, within: int, rates: Floats) -> None:
    """Divide `amount`, in bytes/s, among the users of the `members`, and the part of each as WITHIN[within] says."""
    members, begins = _together(view.user, members)
    parts = _parts(view, members, begins, amount)
    for user in range(len(parts)):
        _divide(view, members[begins[user] : begins[user + 1]], parts[user], within, rates)


def job_fair(view: View, rates: Floats) -> None:
    """Divide the link among the applications of `view` by their weights, as `rates` in bytes/s."""
    _divide(view, np.arange(len(rates)), view.bandwidth, JOBS, rates)


def size_fair(view: View, rates: Floats) -> None:
    """Divide the link among the applications of `view` by nodes times weight, as `rates` in bytes/s."""
    _divide(view, np.arange(len(rates)), view.bandwidth, SIZES, rates)


def user_fair(view: View, rates: Floats) -> None:
    """Divide the link among users, and the part of each user as the parameter says: `rates` in bytes/s. Time n log n."""
    within = min(int(view.parameter), DUE_YIELD)
    _divide_by_user(view, _in_order(view, within), view.bandwidth, within, rates)


def group_fair(view: View, rates: Floats) -> None:
    """Divide the link among groups, and the part of each group as the parameter says: `rates` in bytes/s. Time n log n."""
    within = min(int(view.parameter), USERS)
    members, begins = _together(view.group, _in_order(view, within))
    parts = _parts(view, members, begins, view.bandwidth)
    for group in range(len(parts)):
        inside = members[begins[group] : begins[group + 1]]
        if within == USERS:
            _divide_by_user(view, inside, parts[group], JOBS, rates)
        else:
            _divide(view, inside, parts[group], within, rates)


_ORDERS = (Need.WEIGHT, Need.NODES, Need.POSTING, Need.PROGRESS, Need.VOLUME)

JOB_FAIR = Policy(
    name="job-fair",
    rates=job_fair,
    summary="everyone, by weight",
    needs=(Need.WEIGHT,),
    reference="beyond 000",
    makes_arrays=True,
)
SIZE_FAIR = Policy(
    name="size-fair",
    rates=size_fair,
    summary="everyone, by nodes times weight",
    needs=(Need.WEIGHT, Need.NODES),
    reference="beyond 000",
    makes_arrays=True,
)
USER_FAIR = Policy(
    name="user-fair",
    rates=user_fair,
    summary="the same for every user, by weight; any order within",
    needs=(Need.USER, *_ORDERS),
    reference="beyond 000",
    parameter=Parameter("within", JOBS, "how the applications of a user share its part", WITHIN[:USERS]),
    makes_arrays=True,
)
GROUP_FAIR = Policy(
    name="group-fair",
    rates=group_fair,
    summary="the same for every group, by weight; any order within",
    needs=(Need.USER, Need.GROUP, *_ORDERS),
    reference="beyond 000",
    parameter=Parameter("within", USERS, "how the applications of a group share its part", WITHIN),
    makes_arrays=True,
)
