"""Campaigns: grids of workload parameters, seeds and policies, run on local processes or Dask into Parquet.

::

    from penstock.campaign import grid, run

    campaign = grid("pressure", "synthetic", {"pressure": [0.2, 0.5, 0.8]}, seeds=range(20), policies=["fcfs", "fair-share"])
    table = run(campaign, "out/pressure")
"""

from penstock.campaign.campaign_files import read
from penstock.campaign.cells import BOUND, Campaign, Cell, Task, grid
from penstock.campaign.execute import run
from penstock.campaign.rows import SCHEMA
from penstock.campaign.sources import SOURCES, Source
from penstock.campaign.summary import by_policy, failures, placements

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
]
