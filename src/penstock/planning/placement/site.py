"""A placement as lines that a site can use."""

from __future__ import annotations

import csv
import io
import shlex

from penstock.engine.machine import Placement
from penstock.model import InputError, Workload


def setstripe_lines(workload: Workload, placement: Placement) -> str:
    """``lfs setstripe -c COUNT -o OST,… DIRECTORY`` for each application: its new files lie on the storage targets it is
    placed on, which are numbered from 0 as Lustre does.
    """
    lines = []
    for index, (application, used) in enumerate(zip(workload.applications, placement, strict=True)):
        if application.directory is None:
            raise InputError(
                f"applications[{index}]", "the key 'directory' is missing; expected where its files lie, to stripe them"
            )
        targets = ",".join(map(str, used))
        lines.append(f"lfs setstripe -c {len(used)} -o {targets} {shlex.quote(application.directory)}\n")
    return "".join(lines)


def csv_lines(workload: Workload, placement: Placement) -> str:
    """A table of jobs and their I/O nodes: ``job,count,resources``, the resources separated by spaces, from 0."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["job", "count", "resources"])
    for application, used in zip(workload.applications, placement, strict=True):
        writer.writerow([application.name, len(used), " ".join(map(str, used))])
    return text.getvalue()
