"""Results to look at: tables for the terminal and the HTML report of a comparison.

Names are imported when they are first used, as rich is not needed for HTML nor numpy for a table.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.report.html import render, write_report
    from penstock.report.table import applications_table, bounds_table, comparison_table, measures_table

__all__ = ["applications_table", "bounds_table", "comparison_table", "measures_table", "render", "write_report"]

_HOME_OF = {
    "applications_table": "penstock.report.table",
    "bounds_table": "penstock.report.table",
    "comparison_table": "penstock.report.table",
    "measures_table": "penstock.report.table",
    "render": "penstock.report.html",
    "write_report": "penstock.report.html",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'penstock.report' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
