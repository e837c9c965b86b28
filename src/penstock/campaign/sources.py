"""Where the workloads of a campaign come from, by kind. A new kind takes a line in `SOURCES`.

A source has a frozen dataclass of parameters that checks itself, a function that makes workloads of them and a seed, and
the shell command that makes the same workload as a file. The types of its parameters are float, int and str.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final, get_type_hints

from penstock.model import InputError, Workload
from penstock.model.errors import short
from penstock.model.files import read
from penstock.workloads import (
    FAMILIES,
    Bicolored,
    Distributed,
    Jacobi,
    Lanl,
    Mira,
    Packs,
    Swf,
    Synthetic,
    Uniform,
    bicolored,
    curve_source,
    distributed,
    jacobi,
    lanl,
    mira,
    stream,
    synthetic,
    uniform,
    windows,
)
from penstock.workloads.apex import classes, find_machine
from penstock.workloads.synthetic import LATER


@dataclass(frozen=True)
class Source:
    """How one kind of workload is made.

    `make(parameters, seed)` gives the workloads, one a window. `recipe(parameters, seed, window)` gives the shell command
    that writes the workload of that window, or nothing if it is there already, and the name of the file.
    """

    parameters: type[Any]
    make: Callable[[Any, int], Sequence[Workload]]
    recipe: Callable[[Any, int, int], tuple[str, str]]

    def parse(self, given: Mapping[str, Any]) -> Any:
        """The parameters as an object; InputError that names the wrong one."""
        known, needed = self._fields
        for name in given:
            if name not in known:
                raise InputError(f"parameters.{name}", f"unknown; expected one of {', '.join(known)}")
        for name in needed:
            if name not in given:
                raise InputError(f"parameters.{name}", "is missing; expected a value")
        values = {name: _CONVERTERS[known[name]](value, name) for name, value in given.items()}
        try:
            return self.parameters(**values)
        except InputError as error:
            raise error.within("parameters") from None

    @cached_property
    def _fields(self) -> tuple[dict[str, type], tuple[str, ...]]:
        """The types of the parameters by name, and those that have no default."""
        types = get_type_hints(self.parameters)
        known = {field.name: types[field.name] for field in fields(self.parameters)}
        return known, tuple(field.name for field in fields(self.parameters) if field.default is MISSING)


@dataclass(frozen=True)
class WorkloadFile:
    """A workload in a file; `sha256`, 16 digits that are filled in if not given, tells whether it is still the same."""

    path: str
    sha256: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", str(Path(self.path).absolute()))
        if not self.sha256:
            object.__setattr__(self, "sha256", digest_of_file(self.path))


@dataclass(frozen=True, kw_only=True)
class SwfFile(Swf):
    """The jobs of a trace in a file as a stream; `sha256` as for a `WorkloadFile`."""

    path: str
    sha256: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "path", str(Path(self.path).absolute()))
        if not self.sha256:
            object.__setattr__(self, "sha256", digest_of_file(self.path))


@dataclass(frozen=True, kw_only=True)
class DistributedSets(Distributed):
    """Application sets with the `curves` of a family, or of a file with `sha256` as for a `WorkloadFile`."""

    curves: str = "io-nodes"
    statistic: str = "mean"
    sha256: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        curve_source(self.curves, self.statistic)
        if self.curves not in FAMILIES:
            object.__setattr__(self, "curves", str(Path(self.curves).absolute()))
            object.__setattr__(self, "sha256", self.sha256 or digest_of_file(self.curves))


@dataclass(frozen=True)
class ApexWindows:
    """The `count` longest steady-state windows of a schedule of the workload on the machine (000 §6.3)."""

    workload: str
    machine: str = "cielo"
    count: int = 20

    def __post_init__(self) -> None:
        classes(self.workload)
        object.__setattr__(self, "machine", find_machine(self.machine).name)
        if self.count < 1:
            raise InputError("count", f"{self.count} is out of range; expected 1 or more")


def normal_parameters(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as the source understands them, defaults included: the same ones, however they were written.

    A parameter that a kind got later is left out at its default, so that older cells keep their keys.
    """
    return stated(source(kind).parse(given))


def stated(parameters: Any) -> dict[str, Any]:
    """The parameters by name, without those marked as LATER that are at their defaults."""
    return {
        field.name: value
        for field in fields(parameters)
        if (value := getattr(parameters, field.name)) != field.default or not field.metadata.get(LATER)
    }


def source(kind: str) -> Source:
    """The source of that kind; InputError with the known ones if there is none."""
    if kind not in SOURCES:
        raise InputError("workload", f"{short(kind)} is unknown; expected one of {', '.join(SOURCES)}")
    return SOURCES[kind]


def generate_command(kind: str, parameters: Any, seed: int | None, output: str) -> str:
    """``penstock generate KIND`` with each parameter as the option of its name, and a path as what it reads.

    A default of 0 or "" stands for what is not given and is left out; so is the seed where nothing is drawn.
    """
    defaults = {field.name: field.default for field in fields(parameters)}
    given = stated(parameters)
    given.pop("sha256", None)  # it tells that the file is still the same, and makes nothing
    words = [given.pop("path")] if "path" in given else []
    words += [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value or value != defaults[name]]
    words += [] if seed is None else [f"--seed={seed}"]
    return shlex.join(["penstock", "generate", kind, *words, "-o", output])


def digest_of_file(path: str) -> str:
    """The first 16 digits of the SHA-256 of the file's content."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise InputError("path", f"{path} cannot be read: {error.strerror}; expected a workload file") from None


def _read_file(file: WorkloadFile, _seed: int) -> list[Workload]:
    _require_unchanged(file.path, file.sha256)
    return [read(file.path)]


def _read_swf(file: SwfFile, seed: int) -> list[Workload]:
    _require_unchanged(file.path, file.sha256)
    return [stream(file.path, file, seed).workload]


def _draw_distributed(sets: DistributedSets, seed: int) -> list[Workload]:
    if sets.sha256:
        _require_unchanged(sets.curves, sets.sha256)
    return [distributed(sets, curve_source(sets.curves, sets.statistic), seed)]


def _require_unchanged(path: str, sha256: str) -> None:
    if digest_of_file(path) != sha256:
        raise InputError(path, f"the file has changed; expected the content with SHA-256 {sha256}…")


def _generated(kind: str, suffix: str) -> Callable[[Any, int, int], tuple[str, str]]:
    """The recipe of a kind that makes one workload: ``penstock generate`` into a file with that suffix."""
    file = f"w.{suffix}"
    return lambda parameters, seed, _window: (generate_command(kind, parameters, seed, file), file)


def _number(value: Any, name: str) -> float:
    # YAML takes 2e6 for a word, as it has no point.
    try:
        if not isinstance(value, bool):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise InputError(f"parameters.{name}", f"{short(value)} is not a number; expected a number")


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"parameters.{name}", f"{short(value)} is not a whole number; expected one")
    return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"parameters.{name}", f"{short(value)} is not a text; expected one")
    return value


_CONVERTERS: Final[dict[type, Callable[[Any, str], Any]]] = {float: _number, int: _whole, str: _text}

SOURCES: Final[dict[str, Source]] = {
    "synthetic": Source(Synthetic, lambda parameters, seed: [synthetic(parameters, seed)], _generated("synthetic", "json")),
    "apex": Source(
        ApexWindows,
        lambda parameters, seed: windows(parameters.workload, parameters.machine, seed, parameters.count),
        lambda parameters, seed, window: (generate_command("apex", parameters, seed, "w"), f"w/window-{window:02}.json"),
    ),
    "bicolored": Source(Bicolored, lambda parameters, seed: [bicolored(parameters, seed)], _generated("bicolored", "json")),
    "jacobi": Source(
        Jacobi,
        lambda parameters, _seed: [jacobi(parameters)],
        lambda parameters, _seed, _window: (generate_command("jacobi", parameters, None, "w.json"), "w.json"),
    ),
    "packs": Source(Packs, lambda parameters, seed: [uniform(parameters, seed).workload], _generated("packs", "json")),
    "uniform": Source(
        Uniform, lambda parameters, seed: [uniform(parameters, seed).workload], _generated("uniform", "parquet")
    ),
    "mira": Source(Mira, lambda parameters, seed: [mira(parameters, seed).workload], _generated("mira", "json")),
    "distributed": Source(DistributedSets, _draw_distributed, _generated("distributed", "json")),
    "lanl": Source(Lanl, lambda parameters, seed: [lanl(parameters, seed).workload], _generated("lanl", "parquet")),
    "swf": Source(SwfFile, _read_swf, _generated("swf", "parquet")),
    "file": Source(WorkloadFile, _read_file, lambda parameters, _seed, _window: ("", parameters.path)),
}
