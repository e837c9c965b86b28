"""An application: a chain of work phases and I/O operations on dedicated nodes (000 §3.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.model import parse_units
from penstock.model.curve import Curve
from penstock.model.errors import InputError
from penstock.model.phases import Phases
from penstock.model.platform import Platform


@dataclass(frozen=True)
class Application:
    """One application A_i: a chain of work and I/O on nodes of its own (000 §3.1).

    Args:
        name: its name, unique in a workload.
        phases: the chain; `Application.of` makes it from a list of pairs.
        nodes: p_i, the number of nodes.
        release: τ_i, the date in seconds at which it may start.
        lead: seconds of work before the first phase, which belong to no iteration.
        bandwidth: the cap b_i in bytes/s, in place of min(p_i · b, B).
        progress: seconds of its dedicated run that are done between release and T_begin; by default all of that time,
            which is a yield of 1.
        nominal: (seconds of work, bytes of I/O) of an iteration as known beforehand; by default the means of the chain.
        read_bandwidth: b_r in bytes/s, its cap when it reads (004 §3.2).
        write_bandwidth: b_w in bytes/s, its cap when it writes.
        curve: its bandwidth by the number of I/O resources it uses (002 §III.B).
        best_count: the number of I/O resources with which it is fastest, where the curve is not known.
        directory: where its files are, for commands that place them.
        rounds: how many equal rounds (or files) an operation consists of. It can be interrupted only between two of them
            (003 §III.C); anywhere by default.
        placement: the I/O resources it uses, numbered from 0.
        share: S_k, its part of the burst buffer in bytes, where that is divided (004 §6.2).

    Raises:
        InputError: for a value that has no meaning; the text names the field.
    """

    name: str
    phases: Phases
    nodes: int = 1
    release: float = 0.0
    lead: float = 0.0
    bandwidth: float | None = None
    progress: float | None = None
    nominal: tuple[float, float] | None = None
    read_bandwidth: float | None = None
    write_bandwidth: float | None = None
    curve: Curve | None = None
    best_count: int | None = None
    directory: str | None = None
    rounds: int | None = None
    placement: tuple[int, ...] | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError("name", f"{self.name!r} is not a name; expected a string that is not empty")
        if not isinstance(self.phases, Phases):
            raise InputError("phases", "expected Phases; Phases.of([('work', 10.0), ('io', 2.0)]) makes them")
        parse_units.count(self.nodes, "nodes", "nodes")
        object.__setattr__(self, "release", parse_units.instant(self.release, "release"))
        object.__setattr__(self, "lead", parse_units.seconds(self.lead, "lead"))
        for name in ("bandwidth", "read_bandwidth", "write_bandwidth"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, parse_units.bandwidth(getattr(self, name), name))
        if self.progress is not None:
            object.__setattr__(self, "progress", parse_units.seconds(self.progress, "progress"))
        if self.nominal is not None:
            object.__setattr__(self, "nominal", _checked_couple(self.nominal))
        if self.share is not None:
            object.__setattr__(self, "share", parse_units.volume(self.share, "share"))
        self._check_resources()
        if self.rounds is not None:
            parse_units.count(self.rounds, "rounds", "rounds")
        if self.directory is not None and (not isinstance(self.directory, str) or not self.directory):
            raise InputError("directory", f"{self.directory!r} is not a directory; expected its path as a string")

    def _check_resources(self) -> None:
        """Check the fields that concern I/O resources."""
        if self.curve is not None:
            try:
                object.__setattr__(self, "curve", Curve.of(self.curve))
            except InputError as error:
                raise error.within("curve") from None
        if self.best_count is not None:
            parse_units.count(self.best_count, "best_count", "I/O resources")
        if self.placement is not None:
            object.__setattr__(self, "placement", parse_units.positions(self.placement, "placement", "I/O resources"))

    @classmethod
    def of(cls, name: str, phases: Iterable[object], **options: object) -> Application:
        """Make an application from a list of phases.

        Args:
            name: its name.
            phases: pairs and repetitions, as `Phases.of` takes them.
            options: further fields of `Application` by name.

        Example:
            >>> from penstock import Application
            >>> Application.of("a", [("work", "1 min"), ("io", "3 GB")], nodes=4, release=10.0).nodes
            4
        """
        return cls(name, Phases.of(phases), **options)  # type: ignore[arg-type]  # __post_init__ checks them

    def cap(self, platform: Platform) -> float:
        """b_i, the largest bandwidth it can use on the platform, in bytes/s."""
        if self.bandwidth is not None:
            return min(self.bandwidth, platform.bandwidth)
        return platform.cap(self.nodes)

    def read_speed(self, platform: Platform) -> float:
        """b_r, how fast it can read from a buffer, in bytes/s; it may be more than the I/O system gives (004 §3.2)."""
        return self.read_bandwidth or self.bandwidth or self.cap(platform)

    def write_speed(self, platform: Platform) -> float:
        """b_w, how fast it can write to a buffer, in bytes/s; it may be more than the I/O system takes (004 §3.2)."""
        return self.write_bandwidth or self.bandwidth or self.cap(platform)

    def seconds_alone(self, bandwidth: float) -> float:
        """T_i(b): seconds that it takes alone at `bandwidth` bytes/s, lead included (001 eq. III.1)."""
        return self.lead + float(self.phases.dedicated_seconds(bandwidth).sum())


def _checked_couple(couple: object) -> tuple[float, float]:
    if not isinstance(couple, list | tuple) or len(couple) != 2:
        raise InputError("nominal", f"{couple!r} is no couple; expected [seconds of work, bytes of I/O]")
    return parse_units.seconds(couple[0], "nominal[0]"), parse_units.volume(couple[1], "nominal[1]")
