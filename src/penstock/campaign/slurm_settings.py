"""The settings of ``slurm:key=value``: how many jobs, and what each asks Slurm for.

What is not set comes from dask-jobqueue's own configuration, ``jobqueue.slurm`` in ``~/.config/dask/jobqueue.yaml``, where a
site keeps its queue, account, walltime, modules to load and more.
"""

from __future__ import annotations

import math
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.model import InputError, units

DEFAULT_JOBS: Final = 4
DEFAULT_WAIT: Final = 600.0
"""Seconds."""
DEFAULT_MEMORY: Final = 2_000_000_000
"""Bytes for each core. A worker takes about a fifth of it."""


@dataclass(frozen=True)
class Settings:
    """How many jobs, how long to be without a worker (seconds), and what is set of a job, as dask-jobqueue names it."""

    jobs: int = DEFAULT_JOBS
    wait: float = DEFAULT_WAIT
    job: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Settings:
        """The settings in a text such as ``slurm`` or ``slurm:jobs=8:queue=main:walltime=2h:memory=4GB``.

        Raises InputError for an unknown key and a wrong value.
        """
        settings: dict[str, Any] = {}
        for part in text.split(":")[1:]:
            key, equals, value = part.partition("=")
            if not equals:
                raise InputError(f"dask {text}", f"{part!r} is no setting; expected slurm:key=value, a time as in 90min")
            if key not in _READERS:
                raise InputError("dask slurm", f"unknown setting {key!r}; expected one of {', '.join(_READERS)}")
            settings[key] = _READERS[key](value.strip(), f"dask slurm: {key}")
        return cls(settings.pop("jobs", DEFAULT_JOBS), settings.pop("wait", DEFAULT_WAIT), settings)

    def options(self, site: Mapping[str, Any]) -> dict[str, Any]:
        """What a job is, where the site has these settings: one process a core, for Python keeps one core busy."""
        cores = self.job.get("cores") or site.get("cores") or 1
        memory = self.job.get("memory") or site.get("memory") or cores * DEFAULT_MEMORY
        return {**self.job, "cores": cores, "processes": cores, "memory": memory}


def _count(text: str, place: str) -> int:
    return units.count(int(text) if re.fullmatch("[0-9]{1,15}", text) else text, place, place.rpartition(" ")[2])


def _time(text: str, place: str) -> float:
    seconds = units.seconds(text, place)
    if not seconds > 0.0:
        raise InputError(place, f"{text!r} is no time; expected seconds above 0")
    return seconds


def _minutes(text: str, place: str) -> str:
    """As Slurm takes a time limit: whole minutes."""
    return str(math.ceil(_time(text, place) / 60.0))


def _memory(text: str, place: str) -> int:
    memory = math.ceil(units.volume(text, place))
    if not memory > 0:
        raise InputError(place, f"{text!r} is no memory; expected bytes above 0")
    return memory


def _name(text: str, place: str) -> str:
    if not text or not text.isprintable() or " " in text:
        raise InputError(place, f"{text!r} is no name; expected one without spaces")
    return text


def _interface(text: str, place: str) -> str:
    known = [name for _, name in socket.if_nameindex()]
    if text not in known:
        raise InputError(place, f"{text!r} is no network interface of this machine; expected one of {', '.join(known)}")
    return text


_READERS: Final[dict[str, Callable[[str, str], Any]]] = {
    "jobs": _count,
    "queue": _name,
    "account": _name,
    "walltime": _minutes,
    "cores": _count,
    "memory": _memory,
    "interface": _interface,
    "wait": _time,
}
