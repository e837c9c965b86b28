"""Workload files: JSON, YAML, and Parquet for large ones; read and written without loss.

The text formats hold one object::

    {"penstock": 1,
     "platform": {"bandwidth": 1.0, "node_bandwidth": 1.0, "nodes": 60},
     "window": [0.0, 1842746.66],
     "applications": [{"name": "a0", "nodes": 1, "release": 0.0, "lead": 721.4,
                       "phases": [["work", 424.1], ["io", 9.6], {"repeat": 3, "phases": [["work", 8], ["read", 6]]}]}]}

Times are in seconds and volumes in bytes; a string may carry a unit. How Parquet holds the same: `penstock.model.parquet`.

`fields` names the optional fields that a workload uses, as the documentation names them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from penstock.model.application import Application, Phases
from penstock.model.errors import InputError, short
from penstock.model.platform import Buffer, Curve, Degradation, Platform, total_bandwidth
from penstock.model.workload import Workload

FORMAT: Final = 1
SUFFIXES: Final = (".json", ".yaml", ".yml", ".parquet")
LARGEST_TEXT: Final = 512 * 2**20
"""A larger text file would take many times its size in memory to parse; Parquet has no such limit."""

PLATFORM_KEYS: Final = (
    "bandwidth",
    "node_bandwidth",
    "nodes",
    "resources",
    "read_bandwidth",
    "write_bandwidth",
    "buffer",
    "degradation",
)
"""Fields of a platform in a file."""
APPLICATION_KEYS: Final = (
    "name",
    "nodes",
    "release",
    "lead",
    "bandwidth",
    "progress",
    "nominal",
    "read_bandwidth",
    "write_bandwidth",
    "curve",
    "best_count",
    "directory",
    "rounds",
    "placement",
    "share",
    "user",
    "group",
    "submit",
    "requested",
    "weight",
    "past",
    "recorded",
    "source",
)
"""Fields of an application in a file, its phases apart."""


def read(path: str | os.PathLike[str]) -> Workload:
    """Read a workload file.

    Args:
        path: a file that ends in .json, .yaml, .yml or .parquet; ``-`` reads JSON or YAML from standard input.

    Raises:
        InputError: with one line that names the file, the place in it, the value and what is expected.

    Example:
        >>> import penstock, tempfile
        >>> from penstock.workloads.synthetic import demo
        >>> with tempfile.NamedTemporaryFile(suffix=".json") as file:
        ...     penstock.write(demo(), file.name)
        ...     workload = penstock.read(file.name)
        >>> len(workload.applications)
        8
    """
    name = os.fspath(path)
    try:
        if name != "-" and Path(name).suffix == ".parquet":
            from penstock.model import parquet

            _check_readable(Path(name))
            return parquet.read(Path(name))
        return from_document(_parse(*_text(name)))
    except InputError as error:
        raise error.in_file("standard input" if name == "-" else name) from None


def write(workload: Workload, path: str | os.PathLike[str]) -> None:
    """Write a workload to a file, in the format of the suffix, without loss.

    The file appears complete or not at all: it is written under a temporary name first.

    Args:
        workload: what to write.
        path: a name that ends in .json, .yaml, .yml or .parquet; ``-`` writes JSON to standard output.

    Raises:
        InputError: if the suffix is unknown or the file cannot be written.

    Example:
        >>> import penstock
        >>> workload = penstock.Workload(penstock.Platform(1.0), (penstock.Application.of("a", [("io", 2.0)]),))
        >>> penstock.write(workload, "-")
        {"penstock": 1, "platform": {"bandwidth": 1.0},
         "applications": [
          {"name": "a", "nodes": 1, "release": 0.0, "lead": 0.0, "phases": [["io", 2.0]]}]}
    """
    name = os.fspath(path)
    if name == "-":
        sys.stdout.write(to_json(workload))
        return
    suffix = Path(name).suffix
    if suffix not in SUFFIXES:
        raise InputError(name, f"cannot tell the format from {suffix!r}; expected a name ending in {', '.join(SUFFIXES)}")
    with replacing(Path(name)) as temporary:
        if suffix == ".parquet":
            from penstock.model import parquet

            parquet.write(workload, temporary)
        elif suffix == ".json":
            temporary.write_text(to_json(workload), encoding="utf-8")
        else:
            temporary.write_text(_to_yaml(workload), encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file that replaces `path` when the block succeeds, and is removed when it fails.

    A device or a pipe is not replaced: what the block has written goes there.
    """
    if path.is_dir():
        raise InputError(str(path), "is a directory; expected the name of a file to write")
    if path.exists() and not path.is_file():
        with tempfile.TemporaryDirectory() as folder:
            temporary = Path(folder) / path.name
            yield temporary
            _pour(temporary, path)
        return
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    except OSError as error:
        raise InputError(str(path), f"cannot be written: {error.strerror}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes files that only their owner can read
        temporary.replace(path)
    except OSError as error:
        raise InputError(str(path), f"cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _pour(source: Path, path: Path) -> None:
    """Write the content of `source` to `path`, a device or a pipe."""
    try:
        with source.open("rb") as content, path.open("wb") as out:
            shutil.copyfileobj(content, out)
    except OSError as error:
        raise InputError(str(path), f"cannot be written: {error.strerror or error}") from None


def from_document(document: object) -> Workload:
    """The workload that a `document`, a parsed file, describes. Raises InputError that names the wrong place in it."""
    fields = _object(document, "", ("penstock", "platform", "window", "applications"), needed=("penstock", "platform"))
    if fields["penstock"] != FORMAT or isinstance(fields["penstock"], bool):
        raise InputError("penstock", f"format {fields['penstock']!r} is unknown; expected {FORMAT}")
    entries = fields.get("applications")
    if not isinstance(entries, list):
        raise InputError("applications", f"{short(entries)} is not a list; expected a list of applications")
    if not entries:
        raise InputError("applications", "the workload is empty; expected at least one application")
    applications = tuple(_application(entry, index) for index, entry in enumerate(entries))
    return Workload(read_platform(fields["platform"], applications), applications, fields.get("window"))


def read_platform(document: object, applications: tuple[Application, ...] = ()) -> Platform:
    """The platform that a parsed object describes.

    Args:
        document: the object.
        applications: those of the workload. A platform of I/O resources may omit its `bandwidth` if all of them have a
            curve. It is then what they can use at once, so that only the resources limit them.

    Raises:
        InputError: for an unknown key or a wrong value; the text names its place.
    """
    fields = dict(_object(document, "platform", PLATFORM_KEYS, needed=()))
    curves = [application.curve for application in applications if application.curve is not None]
    if "resources" in fields and curves and len(curves) == len(applications):
        fields.setdefault("bandwidth", total_bandwidth(curves))
    if "bandwidth" not in fields:
        expected = "bandwidth, or resources and a curve for every application"
        raise InputError("platform", f"the key 'bandwidth' is missing; expected {expected}")
    try:
        return Platform(**fields)
    except InputError as error:
        raise error.within("platform") from None


def application_options(document: object, place: str, index: int, *, phases: bool) -> dict[str, Any]:
    """The fields of one application, without its chain.

    Args:
        document: the parsed object.
        place: where it stands in the file, for the error.
        index: its position among the applications; without a name it is called ``a0``, ``a1`` and so on.
        phases: whether the object must have a chain too.

    Raises:
        InputError: for an unknown key, and for a chain that is missing.
    """
    keys = (*APPLICATION_KEYS, "phases") if phases else APPLICATION_KEYS
    fields = dict(_object(document, place, keys, needed=("phases",) if phases else ()))
    fields.setdefault("name", f"a{index}")
    return fields


def header(workload: Workload) -> dict[str, Any]:
    """The document of a `workload` without its applications."""
    document: dict[str, Any] = {"penstock": FORMAT, "platform": _given(workload.platform, PLATFORM_KEYS)}
    if workload.window is not None:
        document["window"] = list(workload.window)
    return document


def application_fields(application: Application) -> dict[str, Any]:
    """The document of an application without its chain."""
    return _given(application, APPLICATION_KEYS)


def to_json(workload: Workload) -> str:
    """The `workload` as JSON text, with one line per application."""
    lines = [
        json.dumps({**application_fields(application), "phases": [list(phase) for phase in application.phases]})
        for application in workload.applications
    ]
    top = json.dumps(header(workload))
    return top[:-1] + ',\n "applications": [\n  ' + ",\n  ".join(lines) + "]}\n"


def _to_yaml(workload: Workload) -> str:
    import yaml

    applications = [
        {**application_fields(application), "phases": [list(phase) for phase in application.phases]}
        for application in workload.applications
    ]
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump({**header(workload), "applications": applications}, Dumper=dumper, sort_keys=False))


def _application(document: object, index: int) -> Application:
    place = f"applications[{index}]"
    fields = application_options(document, place, index, phases=True)
    chain = fields.pop("phases")
    try:
        if not isinstance(chain, list):
            raise InputError("phases", f"{short(chain)} is not a list; expected a list of phases")
        return Application(phases=Phases.of(chain), **fields)
    except InputError as error:
        raise error.within(place) from None


def _object(document: object, place: str, known: tuple[str, ...], needed: tuple[str, ...]) -> Mapping[str, Any]:
    """The document as a mapping with no unknown key and all needed ones."""
    if not isinstance(document, dict):
        raise InputError(place, f"{short(document)} is not an object; expected one with the keys {', '.join(known)}")
    for key in document:
        if key not in known:
            raise InputError(place, f"unknown key {short(key)}; expected {', '.join(known)}")
    for key in needed:
        if key not in document:
            raise InputError(place, f"the key {key!r} is missing; expected {', '.join(needed)}")
    return document


def _given(thing: object, keys: tuple[str, ...]) -> dict[str, Any]:
    """The fields of the object that have a value; a file leaves out the others."""
    given = {key: value for key in keys if (value := getattr(thing, key)) is not None}
    return {key: _document(value) for key, value in given.items()}


def _document(value: Any) -> Any:
    """The value as JSON and YAML have it."""
    if isinstance(value, Buffer | Curve | Degradation):
        return value.document()
    return list(value) if isinstance(value, tuple) else value


def _check_readable(path: Path) -> None:
    if path.is_dir():
        raise InputError("", "is a directory; expected a workload file")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError("", f"cannot be read: {error.strerror}; expected a workload file") from None


def _text(name: str) -> tuple[str, str]:
    """The text of a JSON or YAML file and its suffix; what comes from standard input may be either."""
    if name == "-":
        return sys.stdin.read(), ".yaml"
    path = Path(name)
    _check_readable(path)
    if path.suffix not in SUFFIXES:
        raise InputError("", f"cannot tell the format from {path.suffix!r}; expected a name ending in {', '.join(SUFFIXES)}")
    size = path.stat().st_size
    if size > LARGEST_TEXT:
        limit = f"{LARGEST_TEXT // 2**20} MiB"
        raise InputError("", f"{size / 2**20:,.0f} MiB are too much for a text file; expected at most {limit}, or Parquet")
    try:
        return path.read_text(encoding="utf-8"), path.suffix
    except UnicodeDecodeError as error:
        raise InputError("", f"byte {error.start} is not UTF-8 text; expected JSON or YAML") from None


def _parse(text: str, suffix: str) -> object:
    if suffix == ".json" or text.lstrip()[:1] == "{":
        try:
            return json.loads(text, object_pairs_hook=_without_duplicates)
        except json.JSONDecodeError as error:
            at = f"line {error.lineno}, column {error.colno}"
            raise InputError(at, f"the file is not JSON or ends too early: {error.msg}; expected a workload") from None
        except RecursionError:
            raise InputError("", "objects are nested too deeply; expected a workload") from None
    return parse_yaml(text, "a workload")


def parse_yaml(text: str, expected: str) -> object:
    """The YAML document of a text.

    Args:
        text: the content of a file.
        expected: what the file should be, for the error: "a workload".

    Raises:
        InputError: with the line, if it is not YAML or repeats a key.
    """
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Refuses an object that has a key twice, of which YAML keeps the last."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            fields = dict(super().construct_mapping(node, deep))
            _without_duplicates([(self.construct_object(key, True), None) for key, _ in node.value])
            return fields

    try:
        return yaml.load(text, Loader)  # noqa: S506  (a safe loader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        at = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = getattr(error, "problem", None) or "objects are nested too deeply"
        raise InputError(at, f"the file is not YAML or ends too early: {what}; expected {expected}") from None


def _without_duplicates(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError("", f"the key {twice!r} stands twice in one object; expected each key once")
    return fields


_DEFAULTS = {"nodes": 1, "release": 0.0, "lead": 0.0}
_PLATFORM = tuple(name for name in PLATFORM_KEYS if name not in ("bandwidth", "buffer"))
_MARKS = ("name", "source", "recorded")
"""Fields that tell people what they see, and no program what to do."""
_APPLICATION = tuple(name for name in APPLICATION_KEYS if name not in (*_MARKS, *_DEFAULTS))


def fields(workload: Workload) -> list[str]:
    """The names of the optional fields of a `workload` that carry information.

    A default carries none, nor does a bandwidth that only stands for the sum of the curves.
    """
    return [*_of_platform(workload.platform, workload), *_of_buffer(workload.platform.buffer), *_of_applications(workload)]


def _of_platform(platform: Platform, workload: Workload) -> Iterator[str]:
    curves = [application.curve for application in workload.applications if application.curve is not None]
    if not workload.on_resources or platform.bandwidth != total_bandwidth(curves):
        yield "platform.bandwidth"
    yield from (f"platform.{name}" for name in _PLATFORM if getattr(platform, name) is not None)
    if workload.window is not None:
        yield "window"
        yield "window[1]"


def _of_buffer(buffer: Buffer | None) -> Iterator[str]:
    """A buffer whose size has to be found has one name; others are named by their parts."""
    if buffer is None:
        return
    if buffer.size is None:
        yield "platform.buffer"
        return
    yield from (f"platform.buffer.{name}" for name in buffer.document())


def _of_applications(workload: Workload) -> Iterator[str]:
    members = workload.applications
    for name, default in _DEFAULTS.items():
        if any(getattr(application, name) != default for application in members):
            yield f"applications[].{name}"
    for name in _APPLICATION:
        if any(getattr(application, name) is not None for application in members):
            yield f"applications[].{name}"
