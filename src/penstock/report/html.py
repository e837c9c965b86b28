"""The report of a comparison: one HTML file that needs neither a network nor a server.

Template, styles and scripts are files beside this module. The content security policy of the page allows only these scripts
and loads nothing. Names given by users are text everywhere: escaped in the markup, data in the JSON block.

What the page draws is one JSON object: applications, policies, and their rates over time. Arrays in it are base64 of
little-endian numbers, half the size of decimal text. Up to MOST_SEGMENTS segments are stored one by one; beyond that, each
row holds means over MOST_BINS bins. A mean m is stored as round(STEPS · √(m / M)) in one byte, where M is the largest mean
on the page. The root leaves more steps to the many small means, and is also the shade on the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.model.files import replacing
from penstock.planning.node_hours import hours, owner_rows
from penstock.report import binning, format_units, objectives
from penstock.report.binning import Bins, Floats, Ints

if TYPE_CHECKING:
    from penstock.engine import Result, Trace
    from penstock.model import Workload
    from penstock.theory import Bounds

_SCRIPTS: Final = ("format.js", "canvas.js", "rates.js", "table.js", "yields.js", "span.js", "timeline.js", "report.js")
_NAMES_LISTED: Final = 6
MOST_SEGMENTS: Final = 50_000
"""Segments of all policies together that are drawn one by one: 22 bytes each, 1.5 MB as base64."""
MOST_BINS: Final = 1_200
"""About one bin per pixel of the plot."""
MOST_ROWS: Final = 100
STEPS: Final = 255
USES: Final = ("computing", "transferring", "delayed")
"""What the node-hours of a user are spent for."""


def write_report(
    path: Path, workload: Workload, results: Sequence[Result], title: str, bounds: Bounds | None = None
) -> None:
    """Write the report of a comparison. The file keeps its old content if anything fails.

    Args:
        path: The HTML file.
        workload: The workload of all results.
        results: One result per policy, each with a trace.
        title: The title of the page.
        bounds: Upper bounds for any schedule of the workload.

    Raises:
        InputError: The file cannot be written.
        ValueError: There is no result, or one is of another workload or has no trace.

    Example:
        >>> import tempfile
        >>> from penstock.engine import simulate
        >>> from penstock.workloads import demo
        >>> with tempfile.NamedTemporaryFile(suffix=".html") as file:
        ...     write_report(Path(file.name), demo(), [simulate(demo(), "fcfs", trace=True)], "demo")
        ...     "fcfs" in Path(file.name).read_text()
        True
    """
    page = render(workload, results, title, bounds)
    with replacing(path) as temporary:
        # A lone surrogate in a name has no UTF-8; as a character reference a browser shows it as a replacement character.
        temporary.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))


def render(workload: Workload, results: Sequence[Result], title: str, bounds: Bounds | None = None) -> str:
    """Render the page that `write_report` writes.

    Args:
        workload: The workload of all results.
        results: One result per policy, each with a trace.
        title: The title of the page.
        bounds: Upper bounds for any schedule. The table then has them and the gaps to them, and the plot of yields has a
            line at the bound on the lowest.

    Raises:
        ValueError: There is no result, or one is of another workload or has no trace.

    Example:
        >>> from penstock.engine import simulate
        >>> from penstock.workloads import demo
        >>> render(demo(), [simulate(demo(), "fcfs", trace=True)], "demo").startswith("<!DOCTYPE html>")
        True
    """
    if not results:
        raise ValueError("there are no results; expected at least one")
    style, script = asset("report.css"), "\n".join(asset(name) for name in _SCRIPTS)
    return Template(asset("report.html")).substitute(
        title=escape(title),
        facts="\n".join(_facts(workload, results)),
        headings="\n".join(_headings(results, bounds)),
        rows="\n".join(_rows(results, bounds)),
        **_bound_parts(results, bounds),
        ended=_ended_early(results),
        users=_users(workload, results),
        style=style,
        style_hash=allowed_hash(style),
        script=script,
        script_hash=allowed_hash(script),
        data=to_json(payload(workload, results)),
    )


def asset(name: str) -> str:
    """The text of a file beside this module, by its `name`: a template, styles or a script."""
    return files("penstock.report").joinpath(name).read_text(encoding="utf-8")


def allowed_hash(text: str) -> str:
    """The source expression that allows this inline `text` in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _facts(workload: Workload, results: Sequence[Result]) -> Iterator[str]:
    """What was simulated, as terms and values."""
    end = max(result.end for result in results)
    facts = {
        "applications": f"{len(workload.applications):,}",
        "window" if workload.window else "duration, to the last end": _window(workload.begin, end),
        "I/O pressure": format_units.number(results[0].pressure),
        **_machine(workload, results),
        "policies": f"{len(results):,}",
    }
    for term, value in facts.items():
        yield f"<div><dt>{escape(term)}</dt><dd>{escape(value)}</dd></div>"


def _machine(workload: Workload, results: Sequence[Result]) -> dict[str, str]:
    """The link or the I/O resources, and the buffer."""
    stores = len(results[0].occupancy)
    placed = results[0].applications[0].resources is not None
    facts = {"I/O resources": f"{stores:,}"} if placed else {"bandwidth": format_units.rate(workload.platform.bandwidth)}
    pool = results[0].buffer.pool if results[0].buffer else None
    return facts if pool is None else {**facts, "buffer": format_units.volume(pool)}


def _window(begin: float, end: float) -> str:
    length = format_units.duration(end - begin)
    return length if begin == 0.0 else f"{length} from {format_units.duration(begin)}"


def _headings(results: Sequence[Result], bounds: Bounds | None) -> Iterator[str]:
    """The headings of the table, each a button that sorts; `data-descending` says that the largest come first."""
    yield _heading("policy")
    for objective, name in objectives.OBJECTIVES.items():
        yield _heading(name, " data-descending")
        if bounds is not None and objective in objectives.BOUNDED:
            yield _heading("gap", f' aria-label="gap to the bound in {name}"', to_bound=True)
    yield from (_heading(objectives.COSTS[cost]) for cost in objectives.costs(results))
    yield _heading("events")
    yield _heading("engine time" if bounds is None else "time")


def _heading(text: str, attributes: str = "", *, to_bound: bool = False) -> str:
    kind = ' class="to-bound"' if to_bound else ""
    return f'<th scope="col"{kind}><button type="button"{attributes}>{text}</button></th>'


def _rows(results: Sequence[Result], bounds: Bounds | None) -> Iterator[str]:
    """The rows of the table; a cell's `data-value` is what sorting compares."""
    more = objectives.costs(results)
    best = {objective: objectives.best(results, objective) for objective in (*objectives.OBJECTIVES, *more)}
    for index, result in enumerate(results):
        name, gaps = escape(result.policy), objectives.gaps(result, bounds)
        cells = [f'<th scope="row" data-value="{name}"><button type="button" data-policy="{index}">{name}</button></th>']
        for objective in objectives.OBJECTIVES:
            value = getattr(result, objective)
            cells.append(_cell(value, objectives.text(value), best=index in best[objective]))
            if objective in gaps:
                cells.append(_gap_cell(gaps[objective]))
        for cost in more:
            value = getattr(result, cost)
            cells.append(_cell(value, objectives.text(value), best=index in best[cost]))
        cells.append(_cell(result.events, f"{result.events:,}"))
        cells.append(_cell(result.seconds, format_units.duration(result.seconds)))
        yield f"<tr>{''.join(cells)}</tr>"


def _cell(value: float, shown: str, *, best: bool = False) -> str:
    if not best:
        return f'<td data-value="{value!r}">{escape(shown)}</td>'
    star = '<span class="star" role="img" aria-label="best">★</span>'
    return f'<td data-value="{value!r}" class="best">{star}{escape(shown)}</td>'


def _gap_cell(gap: float) -> str:
    return f'<td data-value="{gap!r}" class="to-bound">{objectives.text(gap)}</td>'


def _bound_parts(results: Sequence[Result], bounds: Bounds | None) -> dict[str, str]:
    """What the page adds if there are bounds: a last row that stays last, notes, and a line in the plot of yields."""
    if bounds is None:
        return dict.fromkeys(("foot", "bound_note", "bounded", "line_note", "line"), "")
    lowest = objectives.text(bounds.min_yield)
    return {
        "foot": f'\n<tfoot><tr id="bound">{"".join(_bound_cells(results, bounds))}</tr></tfoot>',
        "bound_note": '<p class="note">Bound: an upper bound for any schedule, even one that knows the future. '
        "Gap: how far below the bound a policy stays.</p>\n",
        "bounded": " bounded",
        "line_note": "\nThe dashed line is the bound: the lowest yield of any schedule is to the left of it.",
        "line": f'\n<div class="bound" data-value="{bounds.min_yield!r}" hidden>'
        f"<span>bound on the min-yield {lowest}</span></div>",
    }


def _bound_cells(results: Sequence[Result], bounds: Bounds) -> Iterator[str]:
    yield '<th scope="row">bound</th>'
    for objective in objectives.OBJECTIVES:
        if objective in objectives.BOUNDED:
            yield f'<td>{objectives.text(getattr(bounds, objective))}</td><td class="to-bound"></td>'
        else:
            yield "<td>–</td>"
    yield from ("<td>–</td>" for _ in objectives.costs(results))
    yield f"<td>–</td><td>{escape(format_units.duration(bounds.seconds))}</td>"


def _users(workload: Workload, results: Sequence[Result]) -> str:
    """The section with the lowest yield and the node-hours of each user under each policy; empty without users."""
    rows = [
        f'<tr><th scope="row">{escape(result.policy)}</th><td>{escape(row["user"] or "–")}</td>'
        f"<td>{row['applications']:,}</td><td>{objectives.text(row['min_yield'])}</td>"
        + "".join(f"<td>{hours(row[use])}</td>" for use in USES)
        + "</tr>"
        for result in results
        for row in owner_rows(workload, result, "user")
    ]
    if not rows:
        return ""
    headings = ("policy", "user", "applications", "min-yield", *(f"node-hours {use}" for use in USES))
    head = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{chr(10).join(rows)}\n</tbody>\n</table>"
    return (
        '<section aria-labelledby="users-heading">\n<h2 id="users-heading">Users</h2>\n'
        f'<div class="scroll" id="users">\n{table}\n</div>\n</section>\n'
    )


def _ended_early(results: Sequence[Result]) -> str:
    """One line about applications that ended inside the window under some policy; empty if there are none."""
    policies = [result.policy for result in results if result.ended_early]
    if not policies:
        return ""
    names = list(dict.fromkeys(name for result in results for name in result.ended_early))
    listed = escape(f"{_listed(names)} (under {_listed(policies)})")
    return f'<p class="note">Ended inside the window, which is then not a steady state: {listed}.</p>'


def _listed(names: Sequence[str]) -> str:
    """The first names and how many more there are."""
    more = len(names) - _NAMES_LISTED
    return ", ".join(names[:_NAMES_LISTED]) + (f" and {more:,} more" if more > 0 else "")


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
