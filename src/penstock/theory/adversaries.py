"""Instances on which bandwidth-sharing strategies fail (000 §5, Table 2), as functions of the number of applications m.

The paper prints Example 2. The others are constructed here from what Table 2 says about them. In all of them b_i = B = 1 and
p_i = 1. Ties go to the application listed first, so the adversary lists first whom the strategy should not serve.
`LAST_LISTED_FIRST` is the strategy that knows this.

Not constructed: Example 5 (no strategy is closer than 3/2 to the best minimum yield) and Example 6 (best-next-event is
m/2 − 4 from it).
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.engine import simulate
from penstock.model import Application, InputError, Platform, Workload
from penstock.numeric.arrays import Floats
from penstock.policies.order import fill
from penstock.policies.policy import Policy
from penstock.policies.view import View

_LINK = Platform(bandwidth=1.0)


def last_listed_first(view: View, rates: Floats) -> None:
    """Fill the link in the order of the workload, the last one first: from `view`, to `rates` in bytes/s."""
    for i in range(len(rates)):
        view.scratch[i] = -float(view.application[i])
    fill(view, view.scratch, rates)


LAST_LISTED_FIRST = Policy(
    name="last-listed-first",
    rates=last_listed_first,
    summary="the application listed last first",
    reference="the adversary's own",
)


def late_comer(m: int, epsilon: float) -> Workload:
    """Example 1: fair-share is a factor m from the best minimum yield.

    In the window [0, 1], m − 1 applications with a history of 1/ε seconds in which they lost nothing, and one that is
    released at 0, have I/O for the whole window. Equal sharing leaves the newcomer a yield of 1/m. Served alone it has 1,
    and the others have 1/(1 + ε). Nobody arrives inside the window, as §3.2 (iii) demands. The paper does not print its
    Example 1.

    Args:
        m: number of applications, 2 or more.
        epsilon: ε, above 0 and small.

    Raises:
        InputError: if m is too small.

    Example:
        >>> from penstock.engine import simulate
        >>> round(simulate(late_comer(4, 1e-6), "fair-share").min_yield, 3)
        0.25
        >>> round(simulate(late_comer(4, 1e-6), LAST_LISTED_FIRST).min_yield, 3)
        1.0
    """
    _require(m, 2)
    history = 1.0 / epsilon
    early = [Application.of(f"early{i}", [("io", 2.0)], release=-history, progress=history) for i in range(m - 1)]
    late = Application.of("late", [("io", 2.0)])
    return Workload(_LINK, (*early, late), (0.0, 1.0))


def two_categories(m: int, epsilon: float, starved: Iterable[int] | None = None) -> Workload:
    """Example 2, printed in the paper: half of the applications gain nearly nothing if the wrong half is served.

    All m applications post I/O of 2/m at time 0. Those of category A then work for 1; those of category B work for
    ε/(m/2 − 1) and have I/O of volume 1. Only m/2 operations can complete in the window [0, 1]. A strategy that completes
    those of B gains nearly nothing.

    Args:
        m: number of applications, even, 4 or more.
        epsilon: ε, above 0 and small.
        starved: positions of category A; by default the last m/2.

    Raises:
        InputError: if m is odd or too small.
    """
    _require(m, 4, even=True)
    short = epsilon / (m / 2 - 1)
    of_a = set(range(m // 2, m) if starved is None else starved)
    tails = {True: [("work", 1.0)], False: [("work", short), ("io", 1.0)]}
    applications = (Application.of(f"a{i}", [("io", 2.0 / m), *tails[i in of_a]]) for i in range(m))
    return Workload(_LINK, tuple(applications), (0.0, 1.0))


def against(policy: Policy, m: int, epsilon: float) -> Workload:
    """Example 2 against a given strategy, by an adversary that watches it.

    All applications are alike until they complete. The adversary makes those that complete first category B, until m/2 are.

    Args:
        policy: the strategy.
        m: number of applications, even, 4 or more.
        epsilon: ε, above 0 and small.
    """
    of_a = set(range(m))
    while len(of_a) > m // 2:
        workload = two_categories(m, epsilon, starved=of_a)
        progress = [application.progress for application in simulate(workload, policy).applications]
        of_a.remove(max(of_a, key=lambda i: (progress[i], -i)))
    return two_categories(m, epsilon, starved=of_a)


def one_behind(m: int, epsilon: float) -> Workload:
    """Example 3: strategies that serve the lowest yield, or the first posted, are a factor m from the best efficiency.

    The first application has done nothing in the 2 s before the window [0, 1] and has I/O for all of it: its yield stays the
    lowest. The others have lost nothing, and have I/O of ε before work for the rest of the window.

    Args:
        m: number of applications, 2 or more.
        epsilon: ε, above 0 and small.
    """
    _require(m, 2)
    behind = Application.of("behind", [("io", 1.0)], release=-2.0, progress=0.0)
    others = (Application.of(f"ahead{i}", [("io", epsilon), ("work", 1.0)], release=-2.0) for i in range(1, m))
    return Workload(_LINK, (behind, *others), (0.0, 1.0))


def in_step(m: int, cycles: int) -> Workload:
    """Example 4: sharing between equals is a factor 2 − 1/m from the best minimum yield.

    Each of m applications repeats I/O of 1 and work of m − 1. Staggered, they fill the link and never wait again. With equal
    progress all complete at once, work at once, and a cycle of m takes 2m − 1. As m and the number of cycles grow, yields
    are 1/2 instead of 1.

    Args:
        m: number of applications, 2 or more.
        cycles: repetitions of the chain.
    """
    _require(m, 2)
    chain = [{"repeat": cycles, "phases": [["io", 1.0], ["work", m - 1.0]]}]
    applications = tuple(Application.of(f"a{i}", chain) for i in range(m))
    return Workload(_LINK, applications, (0.0, float(cycles * m)))


def _require(m: int, least: int, *, even: bool = False) -> None:
    if m < least or (even and m % 2):
        expected = f"{least} or more{', even' if even else ''}"
        raise InputError("m", f"{m} applications do not make this instance; expected {expected}")
