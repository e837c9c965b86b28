"""What the page draws, as one JSON object: applications, policies, and their rates over time.

Arrays are base64 of little-endian numbers, half the size of decimal text. Up to MOST_SEGMENTS segments are stored one by
one; beyond that, each row holds means over MOST_BINS bins. A mean m is stored as round(STEPS · √(m / M)) in one byte,
where M is the largest mean on the page. The root leaves more steps to the many small means, and is also the shade on the
page.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.report import binning
from penstock.report.binning import Bins, Floats, Ints

if TYPE_CHECKING:
    from penstock.engine import Result, Trace
    from penstock.model import Workload

MOST_SEGMENTS: Final = 50_000
"""Segments of all policies together that are drawn one by one: 22 bytes each, 1.5 MB as base64."""
MOST_BINS: Final = 1_200
"""About one bin per pixel of the plot."""
MOST_ROWS: Final = 100
STEPS: Final = 255


def payload(workload: Workload, results: Sequence[Result]) -> dict[str, Any]:
    """Make the object from the `results` of a `workload`: dates in seconds, rates in bytes/s, all of the same window."""
    traces = [traced(workload, result) for result in results]
    begin = workload.begin
    # If nothing takes time, an empty second is drawn.
    end = max(result.end for result in results) if any(result.end > begin for result in results) else begin + 1.0
    rows = rows_to_draw(results[0])
    caps = _caps(workload, results[0], traces)
    placed = results[0].applications[0].resources is not None
    document: dict[str, Any] = {
        "begin": begin,
        "end": end,
        "bandwidth": float(caps.sum()) if placed else workload.platform.bandwidth,
        "applications": [
            {"name": application.name, "nodes": application.nodes, "cap": cap, "start": workload.start(application)}
            for application, cap in zip(workload.applications, caps.tolist(), strict=True)
        ],
        "rows": rows.tolist(),
        "bins": None,
        "policies": [_policy(result) for result in results],
    }
    if sum(len(trace.rate) for trace in traces) <= MOST_SEGMENTS:
        _add_segments(document, traces, rows)
    else:
        _add_bins(document, traces, rows, caps[rows])
    return document


def to_json(document: dict[str, Any]) -> str:
    """Write the `document` as JSON that can stand inside a script element: no "<" in it could end the element."""
    return json.dumps(document, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def traced(workload: Workload, result: Result) -> Trace:
    """The trace of a result of this workload, with the total rate of each application."""
    if result.trace is None:
        raise ValueError(f"the result of {result.policy} has no trace; expected one of simulate(…, trace=True)")
    if [a.name for a in result.applications] != [a.name for a in workload.applications]:
        raise ValueError(f"the result of {result.policy} is of other applications; expected those of the workload")
    return binning.united(result.trace)


def _caps(workload: Workload, result: Result, traces: Sequence[Trace]) -> Floats:
    """The most bytes/s of each application: of the link or of its I/O resources, or the rate that it had if that is more."""
    caps = np.array([application.cap(workload.platform) for application in workload.applications])
    for index, (application, outcome) in enumerate(zip(workload.applications, result.applications, strict=True)):
        if outcome.resources is not None and application.curve is not None:
            caps[index] = application.curve.upto(len(outcome.resources))[-1]
    for trace in traces:
        np.maximum.at(caps, trace.application, trace.rate)
    return caps


def rows_to_draw(result: Result) -> Ints:
    """Positions of the applications of a `result` that get a row, ascending: those with the MOST_ROWS lowest yields."""
    return np.sort(np.argsort(result.yields, kind="stable")[:MOST_ROWS])


def _policy(result: Result) -> dict[str, Any]:
    return {
        "name": result.policy,
        "end": result.end,
        "yields": [application.yield_ for application in result.applications],
        "ends": [application.end for application in result.applications],
    }


def _add_segments(document: dict[str, Any], traces: Sequence[Trace], rows: Ints) -> None:
    """Add every segment of the rows, ordered by row and begin, and the sum over all applications."""
    for policy, trace in zip(document["policies"], traces, strict=True):
        row, shown = of_rows(trace, rows)
        order = np.lexsort((shown.begin, row))
        policy["gantt"] = {
            "row": packed(row[order], "<u2"),
            "begin": packed(shown.begin[order], "<f8"),
            "end": packed(shown.end[order], "<f8"),
            "rate": packed(shown.rate[order], "<f4"),
        }
        dates, use = binning.total(trace, document["begin"], document["end"])
        policy["use"] = {"dates": packed(dates, "<f8"), "rate": packed(use, "<f4")}


def _add_bins(document: dict[str, Any], traces: Sequence[Trace], rows: Ints, caps: Floats) -> None:
    """Add means over bins: rates as parts of the caps, waiting as parts of the time."""
    bins = Bins(document["begin"], document["end"], MOST_BINS)
    shares = []
    for policy, trace in zip(document["policies"], traces, strict=True):
        row, shown = of_rows(trace, rows)
        rate, waiting = binning.means(row, len(rows), shown, bins)
        shares.append((rate / caps[:, None], waiting))
        whole, _ = binning.means(np.zeros_like(trace.application), 1, trace, bins)
        policy["use"] = {"dates": packed(bins.edges, "<f8"), "rate": packed(whole[0], "<f4")}
    scales = [max(float(share[kind].max()) for share in shares) or 1.0 for kind in (0, 1)]
    for policy, share in zip(document["policies"], shares, strict=True):
        rate, waiting = (np.rint(np.sqrt(values / scale) * STEPS) for values, scale in zip(share, scales, strict=True))
        policy["gantt"] = {"rate": packed(rate, "<u1"), "waiting": packed(waiting, "<u1")}
    largest = {"rate": scales[0], "waiting": scales[1]}
    document["bins"] = {"count": bins.count, "seconds": bins.seconds, "steps": STEPS, "largest": largest}


def of_rows(trace: Trace, rows: Ints) -> tuple[Ints, Trace]:
    """The segments of a `trace` that belong to `rows`, ascending positions of applications, and the row of each segment."""
    row = np.minimum(np.searchsorted(rows, trace.application), len(rows) - 1)
    shown = rows[row] == trace.application
    return row[shown], trace._replace(**{name: column[shown] for name, column in trace._asdict().items()})


def packed(values: NDArray[Any], dtype: str) -> str:
    """The `values` as base64 of numbers of type `dtype`."""
    return base64.b64encode(np.ascontiguousarray(values, dtype).tobytes()).decode("ascii")
