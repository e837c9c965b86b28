"""Tables that fit a terminal: columns are left out or wrapped at spaces, and no name is broken inside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

FEWEST: Final = 2
"""Columns that are always shown."""
_WORD: Final = re.compile(r"-?[\d.,]+ [A-Za-zµ/]+(?!\S)|\S+")
"""What stays on one line: a word, or a number with its unit."""


def table_of(columns: Mapping[str, Sequence[str | Text]], texts: Sequence[str] = (), caption: str | None = None) -> Table:
    """A table of columns by heading.

    Args:
        columns: The cells of each column. A string is shown as it is, without markup.
        texts: Headings of columns of text beside the first column. They are wrapped at spaces; the others are numbers.
        caption: A line below the table.

    """
    table = Table(header_style="", show_edge=False, pad_edge=False, caption=caption)
    for number, heading in enumerate(columns):
        if number and heading not in texts:
            table.add_column(heading, justify="right", no_wrap=True)
        else:
            table.add_column(heading, overflow="fold")
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def fitted(
    out: Console, make: Callable[[Sequence[str]], Table], optional: Sequence[str] = (), *, wrap: bool = False
) -> tuple[Table, list[str]]:
    """Make a table that fits the console.

    Args:
        out: Where the table will be printed.
        make: Makes the table without the columns of the given headings.
        optional: Headings of columns to leave out while the table is too wide, the first ones first.
        wrap: Wrap columns of text before any column is left out.

    Returns:
        The table and the headings left out. Where no word fits, further columns are left out from the end; two always stay.

    """
    dropped: list[str] = []
    table = make(dropped)
    whole = [str(column.header) for column in table.columns]
    rest = [heading for heading in optional if heading in whole]
    while rest and (_least(out, table) if wrap else _most(out, table)) > out.width:
        dropped.append(rest.pop(0))
        table = make(dropped)
    while _least(out, table) > out.width and len(table.columns) > FEWEST:
        dropped.append(str(table.columns[-1].header))
        table = make(dropped)
    _set_widths(out, table)
    return table, dropped


def print_fitting(
    out: Console, make: Callable[[Sequence[str]], Table], optional: Sequence[str] = (), *, wrap: bool = False
) -> None:
    """Print the table that `fitted` makes, and which columns are left out. A name wider than the console stays whole.

    `out`, `make`, `optional` and `wrap` are as for `fitted`.
    """
    table, dropped = fitted(out, make, optional, wrap=wrap)
    width = out.width
    out.width = max(width, _most(out, table))  # rich would break a name that is wider
    out.print(table)
    out.width = width
    if dropped:
        out.print(Text(f"no room for: {', '.join(dict.fromkeys(dropped))}", style="dim"))


def _set_widths(out: Console, table: Table) -> None:
    """Give columns of text what numbers leave of the console, but no less than their longest words.

    Without a width of its own, rich narrows such a column as far as it likes and breaks its words.
    """
    texts = [column for column in table.columns if not column.no_wrap]
    least, most = [_longest_word(column) for column in texts], [_longest_line(column) for column in texts]
    room = out.width - (_most(out, table) - sum(most))
    widths = list(least)
    while (left := room - sum(widths)) > 0 and (narrow := [at for at, width in enumerate(widths) if width < most[at]]):
        for at in narrow[:left]:
            widths[at] += 1
    for column, width in zip(texts, widths, strict=True):
        column.width = width


def _least(out: Console, table: Table) -> int:
    """The width below which a word or a number would be broken."""
    texts = [column for column in table.columns if not column.no_wrap]
    return _most(out, table) - sum(_longest_line(column) - _longest_word(column) for column in texts)


def _most(out: Console, table: Table) -> int:
    """The width with which nothing more is wrapped."""
    return out.measure(table, options=out.options.update(max_width=100_000)).maximum


def _longest_word(column: Column) -> int:
    return max((cell_len(word) for text in _texts(column) for word in _WORD.findall(text)), default=0)


def _longest_line(column: Column) -> int:
    return max((cell_len(line) for text in _texts(column) for line in text.splitlines()), default=0)


def _texts(column: Column) -> Iterator[str]:
    return (str(part) for part in (column.header, *column.cells))
