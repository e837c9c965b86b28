"""What the results of all functions have in common: a dictionary, data frames, and a table in a notebook."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from penstock.model import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

Row = Mapping[str, Any]

MOST_ROWS: Final = 20
"""Rows of a table in a notebook; of more the first are shown."""
_STYLE: Final = "text-align:right;padding:0.15em 0.7em"


class Tables(ABC):
    """A result that is one or more tables.

    The first table is the one that `to_pandas` gives unless told. A subclass lists its tables in `tables`, names the table
    that a notebook shows in `_shown` (the first by default) and its columns there in `_brief` (all by default).
    """

    _shown: ClassVar[str] = ""
    _brief: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def tables(self) -> dict[str, list[Row]]:
        """The tables by name; a row is a mapping from columns to numbers and texts."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The result as the command's ``--json`` prints it."""

    def to_pandas(self, table: str | None = None) -> DataFrame:
        """A table of the result as a data frame.

        Args:
            table: which one of `tables`; the first by default.

        Returns:
            The data frame: seconds, bytes and bytes/s; NaN or None where a value is not known.

        Raises:
            ImportError: if pandas is not installed.
            InputError: for an unknown table.
        """
        tables = self.tables()
        name = next(iter(tables)) if table is None else table
        if name not in tables:
            raise InputError("table", f"{name!r} is unknown; expected one of {', '.join(tables)}")
        return data_frame(tables[name])

    def _repr_html_(self) -> str:
        tables = self.tables()
        name = self._shown or next(iter(tables))
        return html_table(tables[name], name, self._brief)


def data_frame(rows: Sequence[Row]) -> DataFrame:
    """The `rows` as a data frame. Raises ImportError, in one line, if pandas is not installed."""
    require_pandas()
    import pandas as pd

    return pd.DataFrame([dict(row) for row in rows])


def require_pandas() -> None:
    """Say what to install where there is no pandas."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise ImportError("pandas is not installed; expected it from pip install 'penstock[pandas]'") from None


def html_table(rows: Sequence[Row], caption: str, brief: Sequence[str] = ()) -> str:
    """The `rows` as an HTML table with a `caption`; only the `brief` columns if some are named."""
    all_columns = list(dict.fromkeys(name for row in rows for name in row))
    columns = [name for name in brief if name in all_columns] or all_columns
    head = "".join(f'<th style="{_STYLE}">{html.escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_STYLE}">{_cell(row.get(name))}</td>' for name in columns) + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    more = f", the first {MOST_ROWS} of {len(rows):,}" if len(rows) > MOST_ROWS else ""
    return (
        f"<table><caption>{html.escape(caption)}{more}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def flat(row: Row) -> dict[str, Any]:
    """The row with what is nested in it as columns of its own: ``{"gap": {"min_yield": 0}}`` is ``{"gap_min_yield": 0}``."""
    columns: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            columns |= {f"{name}_{inner}": deeper for inner, deeper in flat(value).items()}
        else:
            columns[name] = value
    return columns


def _cell(value: Any) -> str:
    if value is None or value != value:  # NaN is what differs from itself
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return html.escape(" ".join(f"{one:.6g}" if isinstance(one, float) else str(one) for one in value))
    return html.escape(str(value))
