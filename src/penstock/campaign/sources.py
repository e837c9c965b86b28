"""Where the workloads of a campaign come from, by kind: every generator, and workload files.

A source has the parameters of its generator, makes the workloads from them and a seed, and knows the shell command that
makes the same workload as a file. Parameters that name a file also hold a digest of its content: a campaign refuses a file
that has changed.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from penstock.model import InputError, Workload
from penstock.model.errors import expected, short
from penstock.model.files import read
from penstock.workloads.curves import FAMILIES, curve_source
from penstock.workloads.generators import GENERATORS, DistributedFromCurves, Generator, SwfFromPath
from penstock.workloads.parameters import parameter, parameters_of, parse


@dataclass(frozen=True)
class Source:
    """How one kind of workload is made.

    Args:
        parameters: the dataclass of its parameters.
        make: makes the workloads, one per window, from parameters and a seed.
        recipe: from parameters, a seed and the number of a window, the shell command that writes the workload of that
            window, or nothing if it is there already, and the name of the file.
    """

    parameters: type[Any]
    make: Callable[[Any, int], Sequence[Workload]]
    recipe: Callable[[Any, int, int], tuple[str, str]]

    def parse(self, given: Mapping[str, Any]) -> Any:
        """Make the parameters from the values of a campaign file.

        Args:
            given: Values by name. Times and bandwidths may carry a unit.

        Returns:
            An object of the class `parameters`.

        Raises:
            InputError: A parameter is unknown, missing or out of range; the error names it.

        """
        try:
            return parse(self.parameters, dict(given))
        except InputError as error:
            raise error.within("parameters") from None


def _digest_field() -> Any:
    """A field for the digest of a file: 16 digits, filled in if not given."""
    return parameter("the first 16 digits of the SHA-256 of the file", "", hidden=True)


@dataclass(frozen=True)
class WorkloadFile:
    """A workload in a file."""

    path: str = parameter("the workload file")
    sha256: str = _digest_field()

    def __post_init__(self) -> None:
        _pin(self, "path")


@dataclass(frozen=True, kw_only=True)
class SwfFile(SwfFromPath):
    """The jobs of a trace in a file as a stream."""

    sha256: str = _digest_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        _pin(self, "path")


@dataclass(frozen=True, kw_only=True)
class DistributedSets(DistributedFromCurves):
    """Application sets with the curves of a family or of a file."""

    sha256: str = _digest_field()

    def __post_init__(self) -> None:
        super().__post_init__()
        curve_source(self.curves, self.statistic)
        if self.curves not in FAMILIES:
            _pin(self, "curves")


def _pin(parameters: Any, name: str) -> None:
    """Make the path in field `name` absolute and fill in the digest of its file."""
    object.__setattr__(parameters, name, str(Path(getattr(parameters, name)).absolute()))
    if not parameters.sha256:
        object.__setattr__(parameters, "sha256", digest_of_file(getattr(parameters, name)))


def normal_parameters(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as the source of a kind understands them, defaults included.

    The same values give the same dictionary, however they were written. A parameter that a kind got later is left out at
    its default, so that older cells keep their keys.

    Args:
        kind: the kind of the source.
        given: values by name.

    Raises:
        InputError: for an unknown kind or parameter, and a value that is out of range.
    """
    return stated(source(kind).parse(given))


def stated(parameters: Any) -> dict[str, Any]:
    """The parameters by name, without those added later that are at their defaults."""
    return {
        each.name: value
        for each in parameters_of(type(parameters))
        if (value := getattr(parameters, each.name)) != each.default or not each.added_later
    }


def source(kind: str) -> Source:
    """The source of a `kind`. Raises InputError with the known ones if there is none."""
    if kind not in SOURCES:
        raise InputError("workload", f"{short(kind)} is unknown; {expected(kind, SOURCES)}")
    return SOURCES[kind]


def generate_command(kind: str, parameters: Any, seed: int | None, output: str) -> str:
    """``penstock generate KIND`` with each parameter as the option of its name, and a path as what it reads.

    Args:
        kind: the kind.
        parameters: the object of its parameters. A default of 0 or "" stands for what is not given and is left out.
        seed: the seed; None where nothing is drawn.
        output: the file to write.
    """
    defaults = {each.name: each.default for each in fields(parameters)}
    given = stated(parameters)
    given.pop("sha256", None)  # it tells that the file is still the same, and makes nothing
    words = [given.pop("path")] if "path" in given else []
    words += [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value or value != defaults[name]]
    words += [] if seed is None else [f"--seed={seed}"]
    return shlex.join(["penstock", "generate", kind, *words, "-o", output])


def digest_of_file(path: str) -> str:
    """The first 16 digits of the SHA-256 of the content of the file `path`. Raises InputError if it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise InputError("path", f"{path} cannot be read: {error.strerror}; expected a workload file") from None


def _require_unchanged(path: str, sha256: str) -> None:
    if digest_of_file(path) != sha256:
        raise InputError(path, f"the file has changed; expected the content with SHA-256 {sha256}…")


def _read_file(file: WorkloadFile, _seed: int) -> list[Workload]:
    _require_unchanged(file.path, file.sha256)
    return [read(file.path)]


def _generated(kind: str, generator: Generator) -> Source:
    """The source of a generator."""
    parameters = _OF_FILES.get(kind, (generator.parameters, ""))[0]

    def make(given: Any, seed: int) -> Sequence[Workload]:
        if kind in _OF_FILES and given.sha256:
            _require_unchanged(getattr(given, _OF_FILES[kind][1]), given.sha256)
        return list(generator.make(given, seed).workloads)

    def recipe(given: Any, seed: int, window: int) -> tuple[str, str]:
        output = "w" if generator.several else f"w.{generator.suffix}"
        command = generate_command(kind, given, seed if generator.seeded else None, output)
        return command, f"w/window-{window:02}.{generator.suffix}" if generator.several else output

    return Source(parameters, make, recipe)


_OF_FILES: Final[dict[str, tuple[type[Any], str]]] = {"swf": (SwfFile, "path"), "distributed": (DistributedSets, "curves")}
"""Kinds whose parameters may name a file: the class that also holds its digest, and the parameter that names it."""
SOURCES: Final[dict[str, Source]] = {
    **{kind: _generated(kind, generator) for kind, generator in GENERATORS.items()},
    "file": Source(WorkloadFile, _read_file, lambda parameters, _seed, _window: ("", parameters.path)),
}
"""The sources by kind."""
