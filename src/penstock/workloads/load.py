"""Measures of how much I/O a workload asks for (001).

With a_ij seconds of work and b_ij bytes of I/O of application i, p_i nodes, its cap b_i, B of the link and P nodes:

- T_i(b) = Σ_j a_ij + b_ij / b, the time alone at bandwidth b (001 eq. III.1);
- I/O weight W = Σ_i (Σ_j b_ij / b_i) / T_i(b_i), the sum of the parts of their time that are I/O (001 §II.D.3);
- I/O load α = P · Σ_ij (b_ij / B) / Σ_i p_i · T_i(b_i), the part of the link that is used if no node is ever idle or waits:
  an upper bound, above 1 if the link cannot keep up (001 eq. III.5).

In 001 every application can use the whole link: b_i = B. Where nodes cannot, times alone are those at the cap. Work in
`lead` counts as work. Time linear in the number of phases.
"""

from __future__ import annotations

from penstock.model import Application, InputError, Workload
from penstock.model.application import WORK


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
