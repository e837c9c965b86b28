"""Campaign files: a small grid in YAML (or JSON, which is YAML too).

::

    campaign: pressure
    workload: synthetic
    parameters: {pressure: [0.2, 0.5, 0.8], sigma: 0.5}   # lists are crossed
    seeds: {first: 0, count: 20}                           # or a list; default: 0
    policies: [fair-share, greedy-yield]                   # default: those that share the link
    allocation: n-sys                                      # on I/O resources; default: as the workload says, else tcpu
    placement: random                                      # likewise; else greedy-clairvoyant
    information: ["true", predicted]                       # what policies are told; default: "true"
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from penstock.campaign.cells import MOST_CELLS, Campaign, grid
from penstock.campaign.sources import source
from penstock.engine.information import INFORMATION, TRUE
from penstock.model import InputError
from penstock.model.errors import short
from penstock.model.files import parse_yaml
from penstock.planning.placement.choice import heuristic_of

_KEYS: Final = ("campaign", "workload", "parameters", "seeds", "policies", "allocation", "placement", "information")
_NEEDED: Final = ("campaign", "workload")


def read(path: str | os.PathLike[str], *, allocation: str | None = None, placement: str | None = None) -> Campaign:
    """The campaign in a file.

    Args:
        path: the YAML file.
        allocation: on I/O resources, how many for each application, in place of what the file says.
        placement: likewise, which ones.

    Raises:
        InputError: with one line that names the file, the place in it, the value and what is expected.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        ...     print("{campaign: demo, workload: demo, seeds: [1, 2], policies: [fcfs]}", file=file, flush=True)
        ...     campaign = read(file.name)
        >>> campaign.name, len(campaign.cells)
        ('demo', 2)
    """
    name = os.fspath(path)
    if allocation is not None or placement is not None:
        heuristic_of(allocation, placement)  # not the file's fault
    try:
        document = parse_yaml(_text(Path(name)), "a campaign")
        given = {"allocation": allocation, "placement": placement}
        asked = {key: value for key, value in given.items() if value is not None}
        return from_document({**document, **asked} if isinstance(document, dict) else document)
    except InputError as error:
        raise error.in_file(name) from None


def from_document(document: object) -> Campaign:
    """The campaign of a `document`: a parsed file, or a mapping with the same keys.

    From Python the seeds may also be a range, and the policies functions and `Policy` objects.

    Raises:
        InputError: that names the key, the value and what is expected.
    """
    if not isinstance(document, dict):
        raise InputError("", f"{short(document)} is not a campaign; expected the keys {', '.join(_KEYS)}")
    for key in document:
        if key not in _KEYS:
            raise InputError(str(key), f"unknown key; expected one of {', '.join(_KEYS)}")
    for key in _NEEDED:
        if key not in document:
            raise InputError(key, f"is missing; expected the keys {', '.join(_NEEDED)}")
    kind = document["workload"]
    if not isinstance(kind, str):
        raise InputError("workload", f"{short(kind)} is not a kind of workload; expected a name")
    source(kind)
    parameters = document.get("parameters", {})
    if not isinstance(parameters, dict) or not all(isinstance(name, str) for name in parameters):
        raise InputError("parameters", f"{short(parameters)} is not an object; expected names and values")
    policies = document.get("policies")
    if policies is not None and not isinstance(policies, list | tuple):
        raise InputError("policies", f"{short(policies)} is not a list; expected a list of names")
    placing = {key: document.get(key) for key in ("allocation", "placement")}
    for key, value in placing.items():
        if value is not None and not isinstance(value, str):
            raise InputError(key, f"{short(value)} is no name; expected one that `penstock place` knows")
    told = _information(document.get("information", TRUE))
    seeds = _seeds(document.get("seeds", [0]))
    return grid(document["campaign"], kind, parameters, seeds, policies, **placing, information=told)


def _information(value: object) -> list[str]:
    """What policies are told, as a list; YAML reads true without quotes as a truth value."""
    values = value if isinstance(value, list | tuple) else [value]
    words = [TRUE if one is True else one for one in values]
    if not all(isinstance(one, str) for one in words):
        raise InputError("information", f"{short(value)} is none; expected {', '.join(INFORMATION)}, or a list of them")
    return [str(one) for one in words]


def _seeds(value: object) -> Sequence[Any]:
    if isinstance(value, list | tuple | range):
        return value
    if not isinstance(value, dict) or set(value) != {"first", "count"}:
        raise InputError("seeds", f"{short(value)} are no seeds; expected a list, or an object with first and count")
    for name, least in (("first", 0), ("count", 1)):
        number = value[name]
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number:
            raise InputError(f"seeds.{name}", f"{short(number)} is out of range; expected a whole number, {least} or more")
    if value["count"] > MOST_CELLS:
        raise InputError("seeds.count", f"{value['count']:,} are too many; expected at most {MOST_CELLS:,}")
    return range(value["first"], value["first"] + value["count"])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError("", f"cannot be read: {error.strerror}; expected a campaign file") from None
    except UnicodeDecodeError as error:
        raise InputError("", f"byte {error.start} is not UTF-8 text; expected a campaign file in YAML") from None
