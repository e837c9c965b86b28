"""A workload: the applications that share a platform, in a steady-state window or to their ends (000 §3.2).

`io_weight` and `io_load` measure how much I/O it asks for (001).

With a_ij seconds of work and b_ij bytes of I/O of application i, p_i nodes, its cap b_i, B of the link and P nodes:

- T_i(b) = Σ_j a_ij + b_ij / b, the time alone at bandwidth b (001 eq. III.1);
- I/O weight W = Σ_i (Σ_j b_ij / b_i) / T_i(b_i), the sum of the parts of their time that are I/O (001 §II.D.3);
- I/O load α = P · Σ_ij (b_ij / B) / Σ_i p_i · T_i(b_i), the part of the link that is used if no node is ever idle or waits:
  an upper bound, above 1 if the link cannot keep up (001 eq. III.5).

In 001 every application can use the whole link: b_i = B. Where nodes cannot, times alone are those at the cap. Work in
`lead` counts as work. Time linear in the number of phases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.model import parse_units
from penstock.model.application import WORK, Application
from penstock.model.errors import InputError, short
from penstock.model.platform import Platform


@dataclass(frozen=True)
class Workload:
    """The applications that share a platform (000 §3.2). It is checked when it is made, and immutable.

    Args:
        platform: the machine they share.
        applications: one or more, with different names. Results list them in this order.
        window: [T_begin, T_end] in seconds, the steady state to measure. Without one every application runs to its end.

    Raises:
        InputError: for a value that has no meaning; the text names its place, such as ``applications[3].nodes``.

    Example:
        >>> from penstock import Application, Platform, Workload
        >>> chain = [("work", 10.0), ("write", "5 GB")]
        >>> workload = Workload(Platform("1 GB/s"), (Application.of("a", chain), Application.of("b", chain)))
        >>> len(workload.applications)
        2
    """

    platform: Platform
    applications: tuple[Application, ...]
    window: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "applications", tuple(self.applications))
        if not self.applications:
            raise InputError("applications", "the workload is empty; expected at least one application")
        if self.window is not None:
            object.__setattr__(self, "window", _checked_window(self.window))
        names: dict[str, int] = {}
        for index, application in enumerate(self.applications):
            place = f"applications[{index}]"
            if names.setdefault(application.name, index) != index:
                earlier = f"applications[{names[application.name]}]"
                raise InputError(f"{place}.name", f"{application.name!r} is also {earlier}; expected different names")
            try:
                self._check(application)
            except InputError as error:
                raise error.within(place) from None
        self._check_shares()

    @cached_property
    def begin(self) -> float:
        """T_begin in seconds, or without a window the earliest release."""
        return self.window[0] if self.window else min(a.release for a in self.applications)

    def start(self, application: Application) -> float:
        """The date, in seconds, at which the phases of an `application` begin: its release, or T_begin if that is later."""
        return max(application.release, self.begin)

    def history(self, application: Application) -> float:
        """The progress, in seconds, that an `application` has when its listed phases begin."""
        if application.progress is not None:
            return application.progress
        return self.start(application) - application.release

    @cached_property
    def on_resources(self) -> bool:
        """Whether the workload runs on I/O resources instead of one link.

        It does if the platform has some, and all applications have a curve or some have a placement.
        """
        curves = all(application.curve is not None for application in self.applications)
        placed = any(application.placement is not None for application in self.applications)
        return self.platform.resources is not None and (curves or placed)

    @cached_property
    def placement(self) -> tuple[tuple[int, ...], ...] | None:
        """The I/O resources that each application uses, numbered from 0; None if no application lists them.

        Raises:
            InputError: if some applications have a placement and others do not.
        """
        given = [application.placement for application in self.applications]
        if not any(given):
            return None
        for index, used in enumerate(given):
            if used is None:
                expected = "expected it for every application, or for none"
                raise InputError(f"applications[{index}]", f"the key 'placement' is missing; {expected}")
        return tuple(used for used in given if used is not None)

    @cached_property
    def shares(self) -> tuple[float, ...] | None:
        """Bytes of the buffer that each application owns, 0 where it does no I/O; None if the buffer is one pool."""
        given = [application.share for application in self.applications]
        return None if all(share is None for share in given) else tuple(share or 0.0 for share in given)

    def _check(self, application: Application) -> None:
        machine = self.platform.nodes
        if machine is not None and application.nodes > machine:
            raise InputError("nodes", f"{application.nodes} nodes on a platform of {machine}; expected at most {machine}")
        if self.window and application.release >= self.window[1]:
            end = self.window[1]
            raise InputError("release", f"{application.release} is not before the end of the window; expected under {end}")
        if application.placement:
            self._check_placement(application.placement)
        elapsed = self.start(application) - application.release
        if application.progress is not None and application.progress > elapsed:
            raise InputError(
                "progress", f"{application.progress} s done in {elapsed} s before the window; expected {elapsed} or less"
            )

    def _check_placement(self, placement: tuple[int, ...]) -> None:
        resources, used = self.platform.resources, short(list(placement))
        if resources is None:
            raise InputError(
                "placement", f"{used} on a platform without I/O resources; expected platform.resources, or leave it out"
            )
        if max(placement) >= resources:
            raise InputError(
                "placement", f"{used} on a platform of {resources} I/O resources; expected numbers from 0 to {resources - 1}"
            )

    def _check_shares(self) -> None:
        """Refuse shares of a missing buffer, missing shares, and shares larger than the buffer."""
        given = [application.share for application in self.applications]
        first = next((index for index, share in enumerate(given) if share is not None), None)
        if first is None:
            return
        size = self.platform.buffer.size if self.platform.buffer is not None else None
        if size is None:
            expected = "expected platform.buffer.size, or leave it out"
            raise InputError(f"applications[{first}].share", f"{given[first]} bytes of a buffer without a size; {expected}")
        for index, (application, share) in enumerate(zip(self.applications, given, strict=True)):
            place = f"applications[{index}]"
            if share is None and application.phases.operations:
                expected = f"expected bytes for every application that does I/O, as applications[{first}] has them"
                raise InputError(place, f"the key 'share' is missing; {expected}")
            if share is not None and share > size:
                message = f"{share} bytes are more than the buffer's {size}; expected at most {size}"
                raise InputError(f"{place}.share", message)


def _checked_window(window: object) -> tuple[float, float]:
    if not isinstance(window, list | tuple) or len(window) != 2:
        raise InputError("window", f"{window!r} is not a window; expected [begin, end] in seconds")
    begin, end = (parse_units.instant(value, f"window[{index}]") for index, value in enumerate(window))
    if end <= begin:
        raise InputError("window", f"the end {end} is not after the start {begin}; expected [begin, end] in seconds")
    return begin, end


def volume(application: Application) -> float:
    """Σ_j b_ij, the bytes of all I/O of the application."""
    phases = application.phases
    return float(phases.amounts[phases.kinds != WORK].sum())


def io_weight(workload: Workload) -> float:
    """The I/O weight W of a `workload`, from 0 (no I/O) to the number of applications (only I/O).

    Example:
        >>> from penstock.model import Platform
        >>> half = Application.of("a", [("work", 5.0), ("io", 5.0)])
        >>> io_weight(Workload(Platform(1.0, nodes=1), (half,)))
        0.5
    """
    weight = 0.0
    for application in workload.applications:
        cap = application.cap(workload.platform)
        seconds = application.seconds_alone(cap)
        weight += volume(application) / cap / seconds if seconds > 0.0 else 0.0
    return weight


def io_load(workload: Workload) -> float:
    """The I/O load α of a `workload`.

    Raises:
        InputError: The platform does not say how many nodes it has, or the applications take no time.

    Example:
        >>> from penstock.model import Platform
        >>> half = Application.of("a", [("work", 5.0), ("io", 5.0)])
        >>> io_load(Workload(Platform(1.0, nodes=4), (half,)))
        2.0
    """
    platform = workload.platform
    if platform.nodes is None:
        raise InputError("platform.nodes", "is not given; expected the nodes of the machine, for the I/O load")
    link_seconds = sum(volume(application) for application in workload.applications) / platform.bandwidth
    node_seconds = sum(a.nodes * a.seconds_alone(a.cap(platform)) for a in workload.applications)
    if node_seconds == 0.0:
        raise InputError("applications", "take no time at all; expected work or I/O, for the I/O load")
    return platform.nodes * link_seconds / node_seconds
