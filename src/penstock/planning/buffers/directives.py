"""Shares as lines for batch scripts: how much of the burst buffer each job asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from penstock.model import InputError, Workload
from penstock.policies.view import Floats

GIB: Final = 2.0**30
STYLES: Final[Mapping[str, Callable[[int], str]]] = MappingProxyType(
    {
        "dw": lambda gib: f"#DW jobdw type=scratch access_mode=striped capacity={gib}GiB",
        "bb": lambda gib: f"#BB capacity={gib}GiB",
    }
)
"""DataWarp's directive, and that of a site's own plug-in that goes by #BB."""


def directives(workload: Workload, shares: Floats, style: str = "dw") -> str:
    """For each job a comment with its name and, if it needs a share, its directive; whole GiB, rounded up."""
    if style not in STYLES:
        raise InputError("style", f"{style!r} is unknown; expected {' or '.join(STYLES)}")
    lines = []
    for application, share in zip(workload.applications, shares.tolist(), strict=True):
        name = " ".join(application.name.split())
        lines.append(f"# {name}" if share > 0.0 else f"# {name}: no burst buffer")
        if share > 0.0:
            lines.append(STYLES[style](math.ceil(share / GIB)))
    return "\n".join(lines) + "\n"
