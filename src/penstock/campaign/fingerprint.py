"""Which program computes: rows of a campaign must all come from the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from penstock import __version__
from penstock.model import PenstockError

SOURCES: Final = (
    "numeric/*",
    "model/*",
    "workloads/*",
    "policies/*",
    "engine/*",
    "theory/*",
    "planning/placement/*",
    "campaign/cells",
    "campaign/own_policies",
    "campaign/rows",
    "campaign/sources",
    "campaign/workers",
)
"""The modules of the package that decide what a row says."""

Identity = Mapping[str, str]
"""Versions by name: of penstock, of its sources (a digest), of numpy and of numba."""


class OtherVersion(PenstockError):
    """A worker that runs another program than the campaign."""


@cache
def identity(*more: str) -> dict[str, str]:
    """The identity of this process; `more` modules count where they decide what a row says."""
    import numba
    import numpy as np

    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for pattern in (*SOURCES, *more):
        for path in sorted(package.glob(f"{pattern}.py")):
            digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return {
        "penstock": __version__,
        "sources": digest.hexdigest()[:12],
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def differences(theirs: Identity, ours: Identity) -> tuple[str, str] | None:
    """What differs, once as they have it and once as we do; None if nothing does."""
    names = [name for name in ours if theirs.get(name) != ours[name]]
    if not names:
        return None
    return _text(theirs, names), _text(ours, names)


def require(theirs: Identity, ours: Identity, who: str) -> None:
    """Refuse a worker `who` that has another identity than the campaign."""
    different = differences(theirs, ours)
    if different is not None:
        raise OtherVersion(f"{who} has {different[0]}, the campaign {different[1]}; expected the same on all workers")


def _text(versions: Identity, names: list[str]) -> str:
    return ", ".join(f"{name} {versions.get(name, 'unknown')}" for name in names)
