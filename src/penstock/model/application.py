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
    """One application A_i.

    `nodes` is its size p_i, `release` its release time τ_i, `lead` seconds of work before its first phase (which belong to
    no iteration). `bandwidth` replaces min(p_i · b, B) as its cap b_i; `progress` is what it has done, in seconds of its
    dedicated run, between its release and the begin of the window (by default: all of that time, a yield of 1). `nominal` is
    what an iteration is known as beforehand, seconds of work and bytes of I/O, where phases vary (by default: their means).
    `read_bandwidth` b_r and `write_bandwidth` b_w replace its cap in one direction (004 §3.2). `curve`
    is its bandwidth by the number of I/O resources it uses (002 §III.B), `best_count` the number with which it is fastest,
    where that is all that is known; `directory` is where its files lie, for placing them. `rounds` is how many equal rounds
    of collective buffering, or files, an operation is made of: it can be interrupted between two only (003 §III.C), and
    anywhere if not given. `placement` lists the I/O resources it uses, numbered from 0. `share` is its part S_k of the burst
    buffer, in bytes, where that is divided (004 §6.2).
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
        """What it does on I/O resources."""
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
        """An application from a list of pairs: ``Application.of("a", [("work", 10), ("io", "3 GB")])``."""
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
        """T_i(b): how long it takes with nobody in its way, at `bandwidth` bytes/s, the lead included (001 eq. III.1)."""
        return self.lead + float(self.phases.dedicated_seconds(bandwidth).sum())


def _checked_couple(couple: object) -> tuple[float, float]:
    if not isinstance(couple, list | tuple) or len(couple) != 2:
        raise InputError("nominal", f"{couple!r} is no couple; expected [seconds of work, bytes of I/O]")
    return parse_units.seconds(couple[0], "nominal[0]"), parse_units.volume(couple[1], "nominal[1]")
