"""What a command says on standard error about a workload file: fields that it does not use, scales that do not match.

The table says for each field under which circumstances a command uses it. A field that is not in the file is never named.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from penstock.cli.output import say

if TYPE_CHECKING:
    from penstock.model import Workload
    from penstock.planning.placement.choice import ChosenPlacement
    from penstock.policies import Policy


@dataclass(frozen=True)
class Case:
    """What decides whether a field is used: the workload, its policies, and options of the command."""

    workload: Workload
    policies: Sequence[Policy] = ()
    own_placement: bool = False
    """Whether the placement of the file is used."""
    directories: bool = False
    """Whether lines for the directories of the applications are written."""
    stream: bool = False
    """Whether a command that can also do otherwise runs the workload as jobs that come and go, on the whole machine."""
    shows_users: bool = False
    """Whether the command says what the run was for each user and group."""
    on_machine: bool = False
    """Whether the command also runs the jobs as `penstock machine` does."""
    file: str = ""
    """Where the workload comes from, where there are several."""

    @classmethod
    def of(cls, workload: Workload, policies: Sequence[Policy], placed: ChosenPlacement | None) -> Case:
        """The case of a run of the `workload` under `policies`; on one link if `placed` is None."""
        return cls(workload, policies, own_placement=placed is not None and placed.heuristic is None)

    @property
    def resources(self) -> bool:
        """Whether it runs on I/O resources and not on one link."""
        return self.workload.on_resources

    @property
    def buffered(self) -> bool:
        """Whether it has a buffer of a known size."""
        buffer = self.workload.platform.buffer
        return buffer is not None and buffer.size is not None

    @property
    def limited(self) -> bool:
        """Whether reads or writes have a limit of their own, which on resources is a part of the bandwidth."""
        platform = self.workload.platform
        return platform.read_bandwidth is not None or platform.write_bandwidth is not None

    @property
    def measured(self) -> bool:
        """Whether all applications have curves, without which `place` runs nothing."""
        return all(application.curve is not None for application in self.workload.applications)

    @property
    def counted(self) -> bool:
        """Whether the best number of resources of every application is known, by itself or from its curve."""
        return all(one.curve is not None or one.best_count is not None for one in self.workload.applications)

    def needs(self, what: str) -> bool:
        """Whether one of the policies must know `what`, as `penstock.policies.Need` calls it."""
        return any(what in policy.needs for policy in self.policies)


Rule = Callable[[Case], bool]


def _yes(_: Case) -> bool:
    return True


def _no(_: Case) -> bool:
    return False


def _link(case: Case) -> bool:
    return not case.resources


def _resources(case: Case) -> bool:
    return case.resources


def _plain(case: Case) -> bool:
    return not case.buffered


def _own_speed(case: Case) -> bool:
    """On resources a curve gives the speed of an application, except to a buffer."""
    return case.buffered or not case.resources


def _whole(case: Case) -> bool:
    return case.limited or not case.resources


def _whole_plain(case: Case) -> bool:
    return not case.resources or (case.limited and not case.buffered)


def _nominal(case: Case) -> bool:
    return case.needs("nominal iteration")


def _submitted(case: Case) -> bool:
    """Whether some application is released when it is submitted; where all are released later, that alone counts."""
    return any(one.submit is not None and one.submit == one.release for one in case.workload.applications)


def _iterations(case: Case) -> bool:
    return case.needs("iteration length")


def _users(case: Case) -> bool:
    """`simulate` shows yields and node-hours by user and group."""
    return case.shows_users or case.needs("user")


def _groups(case: Case) -> bool:
    return case.shows_users or case.needs("group")


def _weights(case: Case) -> bool:
    return case.needs("weight")


def _own_placement(case: Case) -> bool:
    return case.resources and case.own_placement


def _measured(case: Case) -> bool:
    return case.measured


def _measured_buffered(case: Case) -> bool:
    return case.measured and case.buffered


def _counted(case: Case) -> bool:
    return case.counted


_FIELDS: Final[dict[str, tuple[Rule, Rule, Rule, Rule, Rule]]] = {
    # Field: used by simulate, compare and campaign; by bound; by pack; by place; by buffer.
    "platform.bandwidth": (_whole, _whole_plain, _yes, lambda case: case.measured and case.limited, _yes),
    "platform.node_bandwidth": (_link, _link, _yes, _no, _yes),
    "platform.nodes": (_yes, _yes, _yes, _yes, _yes),
    "platform.resources": (_resources, _resources, _no, _yes, _no),
    "platform.read_bandwidth": (_yes, _plain, _no, _measured, _yes),
    "platform.write_bandwidth": (_yes, _plain, _no, _measured, _yes),
    "platform.buffer": (_no, _no, _no, _no, _yes),  # one without a size
    "platform.buffer.size": (_yes, _yes, _no, _measured, _no),
    "platform.buffer.bandwidth": (_yes, _no, _no, _measured, _yes),
    "platform.buffer.resources": (_yes, _yes, _yes, _yes, _yes),  # whether it stands before them all is checked
    "platform.degradation": (_yes, _no, _yes, _measured, _yes),
    "window": (_yes, _yes, _yes, _measured, _yes),
    "window[1]": (_yes, _yes, _yes, _no, _no),
    "applications[].nodes": (_yes, _yes, _yes, _yes, _yes),
    "applications[].release": (_yes, _yes, _yes, _measured, _yes),
    "applications[].lead": (_yes, _yes, _yes, _measured, _yes),
    "applications[].bandwidth": (_own_speed, _own_speed, _yes, _measured_buffered, _yes),
    "applications[].progress": (_yes, _yes, _no, _measured, _no),
    "applications[].nominal": (_nominal, _no, _nominal, lambda case: case.measured and _nominal(case), _nominal),
    "applications[].read_bandwidth": (_own_speed, _own_speed, _yes, _measured_buffered, _yes),
    "applications[].write_bandwidth": (_own_speed, _own_speed, _yes, _measured_buffered, _yes),
    "applications[].curve": (_resources, _resources, _no, _counted, _no),
    "applications[].best_count": (_no, _no, _no, lambda case: case.counted and not case.measured, _no),
    "applications[].directory": (_no, _no, _no, lambda case: case.directories, _no),
    "applications[].rounds": (_yes, _no, _yes, _measured, _yes),
    "applications[].placement": (_own_placement, _own_placement, _no, _no, _no),
    "applications[].share": (_yes, _yes, _no, _measured, _no),
    "applications[].user": (_users, _no, _users, lambda case: case.measured and _users(case), _users),
    "applications[].group": (_groups, _no, _groups, lambda case: case.measured and _groups(case), _groups),
    "applications[].submit": (
        _submitted,
        _submitted,
        _submitted,
        lambda case: case.measured and _submitted(case),
        _submitted,
    ),
    "applications[].requested": (_no, _no, _no, _no, _no),
    "applications[].weight": (_weights, _no, _weights, lambda case: case.measured and _weights(case), _weights),
    "applications[].past": (_iterations, _no, _iterations, lambda case: case.measured and _iterations(case), _iterations),
}


def _any_without_curve(case: Case) -> bool:
    """Whether the bandwidth of the platform and of a node counts for some job on its resources, or there is one link."""
    return case.workload.platform.resources is None or not case.measured


def _has_nodes(case: Case) -> bool:
    """Whether applications are jobs that wait for nodes."""
    return case.workload.platform.nodes is not None


_BY_MACHINE: Final[dict[str, Rule]] = {
    # Fields that penstock machine does not use, or only sometimes; it uses all others.
    "platform.bandwidth": lambda case: _any_without_curve(case) or case.limited,
    "platform.node_bandwidth": _any_without_curve,
    "platform.buffer": _no,
    **dict.fromkeys(
        ("applications[].bandwidth", "applications[].read_bandwidth", "applications[].write_bandwidth"),
        lambda case: case.buffered or _any_without_curve(case),
    ),
    "applications[].progress": _no,
    "applications[].nominal": _nominal,
    "applications[].curve": lambda case: case.workload.platform.resources is not None,
    "applications[].best_count": _no,
    "applications[].directory": _no,
    "applications[].placement": lambda case: case.own_placement,
    "applications[].share": _no,
    "applications[].weight": _weights,
}
_BY_STREAM: Final[dict[str, Rule]] = {
    **_BY_MACHINE,
    "platform.buffer.size": _no,
    "platform.buffer.bandwidth": _no,
    "applications[].directory": lambda case: case.directories,
    "applications[].user": _users,
    "applications[].group": _groups,
}
"""The same of a command that runs jobs on the machine without a buffer."""
_BY_GROUPS: Final[dict[str, Rule]] = {
    **dict.fromkeys(("platform.resources", "platform.buffer", "platform.buffer.size", "platform.buffer.bandwidth"), _no),
    **dict.fromkeys(("applications[].submit", "applications[].requested"), _has_nodes),
    **{f"applications[].{name}": _no for name in ("progress", "curve", "best_count", "directory", "placement", "share")},
    "applications[].nominal": _nominal,
    "applications[].weight": _weights,
    "applications[].past": _iterations,
    "applications[].user": _users,
    "applications[].group": _groups,
}
"""The same of penstock groups, where every group is a link."""
MOST_FILES: Final = 3
"""The most files that are named with a field."""
_COMMANDS: Final = {"simulate": 0, "compare": 0, "campaign": 0, "bound": 1, "pack": 2, "place": 3, "buffer": 4}
_BY: Final = {"machine": _BY_MACHINE, "advise": _BY_MACHINE, "groups": _BY_GROUPS}
_WHY: Final = {"platform.buffer": " (it has no size; penstock buffer finds one)"}


def unused(command: str, case: Case) -> list[str]:
    """The fields that the workload of the `case` has and the `command` does not use."""
    from penstock.model.files import fields

    def rule(name: str) -> Rule:
        if command in _BY or case.stream:
            return (_BY_STREAM if case.stream else _BY[command]).get(name, _yes)
        return _FIELDS[name][_COMMANDS[command]]

    def used(name: str) -> bool:
        return rule(name)(case) or (case.on_machine and _BY_MACHINE.get(name, _yes)(case))

    return [name for name in fields(case.workload) if not used(name)]


def note_unused(command: str, *cases: Case) -> None:
    """Name the fields that the `command` does not use, in one line for all `cases`, and question scales that do not match.

    A field is named with its files where the command uses it in other files.
    """
    for remark in dict.fromkeys(filter(None, (*map(_question, cases), *map(_modelled, cases)))):
        say(f"note: {remark}", sys.stderr)
    files: dict[str, list[str]] = {}
    for case in cases:
        for name in unused(command, case):
            files.setdefault(name, []).append(case.file)
    if files:
        listed = ", ".join(f"{name}{_WHY.get(name, '')}{_where(command, name, files[name], cases)}" for name in files)
        say(f"note: {command} does not use {listed}", sys.stderr)


def _question(case: Case) -> str | None:
    """A question about a bandwidth and a volume whose scales do not match, in one line; None if all match."""
    from penstock.model.scales import YEAR, mismatch
    from penstock.report.format_units import duration, rate, volume

    found = mismatch(case.workload)
    if found is None:
        return None
    shown = rate if found.too_slow else volume
    time = f"{found.seconds / YEAR:,.0f} years" if found.seconds >= YEAR else duration(found.seconds)
    meant = f"did you mean {shown(found.value * found.factor)}?" if found.factor else "are the units right?"
    file = f"{case.file}: " if case.file else ""
    return f"{file}{found.place}: an operation of {volume(found.volume)} takes {time} at {rate(found.bandwidth)}; {meant}"


def _modelled(case: Case) -> str | None:
    """What part of the I/O no log or counter has shown, in one line; None if that is nothing."""
    from penstock.model.application import MODELLED
    from penstock.model.workload import volume

    applications = case.workload.applications
    assumed = [application for application in applications if application.source in MODELLED]
    if not assumed:
        return None
    part = sum(map(volume, assumed)) / (sum(map(volume, applications)) or 1.0)
    file = f"{case.file}: " if case.file else ""
    count = f"{len(assumed):,} of {len(applications):,} applications"
    return f"{file}{part:.0%} of the I/O rests on a model, that of {count}; no log or counter has shown it"


def _where(command: str, name: str, files: Sequence[str], cases: Sequence[Case]) -> str:
    """The files in which the field is not used; empty if the command uses it in no file."""
    from penstock.model.files import fields

    used = any(name in fields(case.workload) and name not in unused(command, case) for case in cases)
    if not used:
        return ""
    more = f" and {len(files) - MOST_FILES:,} more" if len(files) > MOST_FILES else ""
    return f" (in {', '.join(files[:MOST_FILES])}{more})"
