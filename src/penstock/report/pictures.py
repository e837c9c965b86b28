"""Figures as files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock.model import InputError
from penstock.model.files import replacing
from penstock.report.findings import Picture, write_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SUFFIXES: Final = (".svg", ".png", ".html")
COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
STYLE: Final[Any] = {
    "svg.hashsalt": "penstock",
    "font.size": 9,
    "axes.axisbelow": True,
    "text.parse_math": False,  # a name may have dollars in it
}


class Page(NamedTuple):
    """What is around a drawing on a page of its own."""

    title: str
    subtitle: str
    item: str
    caption: str


def check_suffix(path: Path) -> None:
    """Refuse a file whose format is none of ours."""
    if path.suffix not in SUFFIXES:
        raise InputError(str(path), f"cannot tell the format from {path.suffix!r}; expected one of {', '.join(SUFFIXES)}")


def kind_of(path: Path) -> str:
    """How the drawing is encoded for the file; a page has SVG."""
    return "png" if path.suffix == ".png" else "svg"


def write_picture(path: Path, picture: bytes, page: Page) -> None:
    """Write an encoded drawing to a file, with a page around it for HTML, by way of a temporary file."""
    if path.suffix == ".html":
        write_page(path, page.title, page.subtitle, [Picture(page.item, page.caption, picture)], [])
        return
    with replacing(path) as temporary:
        temporary.write_bytes(picture)


def printable(name: str) -> str:
    """The name without characters that a drawing cannot hold."""
    whole = name.encode("utf-8", "replace").decode()
    return "".join(character if character.isprintable() else "?" for character in whole)


def encoded(figure: Figure, kind: str) -> bytes:
    """The figure as the bytes of a PNG or SVG file, the same for the same data."""
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=130, metadata=metadata)
    return buffer.getvalue()
