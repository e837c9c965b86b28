"""Figures as files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def encoded(figure: Figure, kind: str) -> bytes:
    """The figure as the bytes of a PNG or SVG file, the same for the same data."""
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=130, metadata=metadata)
    return buffer.getvalue()
