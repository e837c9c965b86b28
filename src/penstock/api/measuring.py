"""`penstock.import_ior`: measured bandwidths become a platform, curves and a degradation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from penstock.api.importing import ImportResult
from penstock.model import InputError, Workload
from penstock.report.format_units import rate
from penstock.workloads.importers.bandwidths import machine_of, read_measurements


def import_ior(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    statistic: str = "mean",
    ranks_per_node: int | None = None,
    nodes_per_transfer: int | None = None,
    machine_nodes: int | None = None,
) -> ImportResult:
    """Make a platform of measured bandwidths: what ``penstock import ior FILE`` writes to a file.

    The workload also has an application for each size of run that was measured, one after the other, so that every command
    can read it; other importers take its platform (``platform=``).

    Args:
        files: output of IOR as text, JSON or CSV, or tables with a column such as MB/s.
        statistic: what stands for runs that were repeated: mean, median or best.
        ranks_per_node: processes on a node, for output that has only processes.
        nodes_per_transfer: so many nodes of a run count as one transfer; what many nodes lose is then a degradation.
        machine_nodes: nodes of the machine; by default not said.

    Returns:
        The workload, and what was read; it has no records of jobs.

    Raises:
        InputError: for a file that holds no measured bandwidth, and a number that is out of range.

    Example:
        >>> import penstock, tempfile
        >>> table = "nodes,osts,MB/s", "1,1,900", "4,1,1000", "4,4,3600"
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     print(*table, sep=chr(10), file=file, flush=True)
        ...     made = penstock.import_ior(file.name)
        >>> made.workload.platform.bandwidth, made.workload.platform.node_bandwidth, made.workload.platform.resources
        (3600000000.0, 900000000.0, 4)
    """
    if ranks_per_node is not None and ranks_per_node < 1:
        raise InputError("ranks_per_node", f"{ranks_per_node} is out of range; expected 1 or more")
    names = [os.fspath(files)] if isinstance(files, str | os.PathLike) else [os.fspath(file) for file in files]
    measurements = [one for name in names for one in read_measurements(name, ranks_per_node)]
    if not measurements:
        raise InputError("files", "there is none; expected output of IOR or a table")
    workload, notes = machine_of(measurements, statistic, nodes_per_transfer)
    platform = workload.platform
    if machine_nodes is not None:
        platform = replace(platform, nodes=machine_nodes)
        workload = Workload(platform, workload.applications)
    about = f"platform: {rate(platform.bandwidth)}"
    about += f", {rate(platform.node_bandwidth)} a node" if platform.node_bandwidth else ""
    about += f", {platform.resources} OSTs" if platform.resources else ""
    counts = {"files": len(names), "measurements": len(measurements), "sizes of runs": len(workload.applications)}
    return ImportResult("ior", workload, (), counts, (), (about, *notes))
