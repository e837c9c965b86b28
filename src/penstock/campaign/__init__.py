"""Campaigns: grids of workload parameters, seeds and policies, run on local processes or Dask into Parquet.

::

    from penstock.campaign import grid, run

    campaign = grid("pressure", "synthetic", {"pressure": [0.2, 0.5, 0.8]}, seeds=range(20), policies=["fcfs", "fair-share"])
    table = run(campaign, "out/pressure")

The module can also be called, as ``penstock.campaign(campaign, "out/pressure")``: see `penstock.api.campaigns.campaign`.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from penstock.campaign.campaign_files import read
from penstock.campaign.cells import BOUND, Campaign, Cell, Task, grid
from penstock.campaign.rows import SCHEMA, by_policy, failures, placements, summarise
from penstock.campaign.sources import SOURCES, Source
from penstock.campaign.workers import run

__all__ = [
    "BOUND",
    "SCHEMA",
    "SOURCES",
    "Campaign",
    "Cell",
    "Source",
    "Task",
    "by_policy",
    "failures",
    "grid",
    "placements",
    "read",
    "run",
    "summarise",
]


class _CallableModule(ModuleType):
    """The function `penstock.campaign` has the name of this package, and importing the package must not hide it."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run a campaign; the function is in a layer above this one and is looked up when it is called."""
        return import_module("penstock.api.campaigns").campaign(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
