"""Figures as files, and pages of figures and claims: one HTML file that works offline."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock.model import InputError
from penstock.model.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure: its name, its caption, and the bytes of its SVG."""

    name: str
    caption: str
    svg: bytes


_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --poor: #b35900; --bad: #cf222e; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
figure { margin: 1.5rem 0; } figure img { width: 100%; background: #fff; border-radius: 4px; }
figcaption { opacity: 0.75; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
td, th { border-top: 1px solid var(--line); padding: 0.3rem 0.6rem 0.3rem 0; text-align: left; vertical-align: top; }
tr.claim td { font-weight: 600; border-top-width: 2px; } td.mark { white-space: nowrap; }
.holds { color: var(--good); } .part { color: var(--poor); } .fails { color: var(--bad); } .unknown { opacity: 0.7; }
"""
_CLASSES = {"holds": "holds", "in part": "part", "fails": "fails", "not measured": "unknown"}
_OUTCOMES = {True: ("holds", "yes"), False: ("fails", "no"), None: ("unknown", "undecided")}


def write_page(
    path: Path, title: str, subtitle: str, pictures: Sequence[Picture], verdicts: Sequence[Mapping[str, Any]]
) -> None:
    """Write a page of figures and claims. The file keeps its old content if anything fails.

    Args:
        path: the HTML file; its folder is made if need be.
        title: the heading.
        subtitle: the line below it.
        pictures: the figures, in their order.
        verdicts: the claims as JSON objects, each with id, place, says, verdict and checks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(render_page(title, subtitle, pictures, verdicts), encoding="utf-8")


def render_page(title: str, subtitle: str, pictures: Sequence[Picture], verdicts: Sequence[Mapping[str, Any]]) -> str:
    """The page as text; `title`, `subtitle`, `pictures` and `verdicts` as for `write_page`."""
    claims = f"<h2>Claims</h2>\n<table>{''.join(_claim(verdict) for verdict in verdicts)}</table>" if verdicts else ""
    figures = "\n".join(_figure(picture) for picture in pictures)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>\n'
        f"<h1>{html.escape(title)}</h1>\n<p>{html.escape(subtitle)}</p>\n{claims}\n<h2>Figures</h2>\n{figures}\n</body></html>\n"
    )


def _figure(picture: Picture) -> str:
    data = base64.b64encode(picture.svg).decode()
    name, caption = html.escape(picture.name), html.escape(picture.caption)
    return (
        f'<figure id="{name}"><img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _claim(claim: Mapping[str, Any]) -> str:
    verdict = claim["verdict"]
    head = (
        f'<tr class="claim"><td>{html.escape(claim["id"])}</td><td>{html.escape(claim["says"])} '
        f'({html.escape(claim["place"])})</td><td class="mark {_CLASSES[verdict]}">{verdict}</td></tr>'
    )
    rows = "".join(
        f"<tr><td></td><td>{html.escape(check['expected'])}: {html.escape(check['measured'])}</td>"
        f'<td class="{_OUTCOMES[check["holds"]][0]}">{_OUTCOMES[check["holds"]][1]}</td></tr>'
        for check in claim["checks"]
    )
    return head + rows


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
    """Refuse a file `path` that ends in none of `SUFFIXES`."""
    if path.suffix not in SUFFIXES:
        raise InputError(str(path), f"cannot tell the format from {path.suffix!r}; expected one of {', '.join(SUFFIXES)}")


def kind_of(path: Path) -> str:
    """How a drawing is encoded for the file `path`: png, or svg also for a page."""
    return "png" if path.suffix == ".png" else "svg"


def write_picture(path: Path, picture: bytes, page: Page) -> None:
    """Write an encoded drawing, `picture`, to the file `path`, for HTML inside a `page`, by way of a temporary file."""
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
    """The `figure` as the bytes of a file of this `kind`, png or svg; the same bytes for the same data."""
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=130, metadata=metadata)
    return buffer.getvalue()
