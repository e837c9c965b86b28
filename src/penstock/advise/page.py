"""The advice as one HTML page that works offline: a first screen for those who decide, the numbers behind it below.

The page has no script. Drawings are made of SVG and of tables with bars, so that each has its numbers as a table. The
content security policy loads nothing. Names given by users are escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import Any, Final, NamedTuple

import numpy as np

from penstock.advise.answers import CHANGE, OPEN, STAY, OperatorAnswer
from penstock.advise.findings import NOT_MODELLED, Findings
from penstock.model.files import replacing
from penstock.numeric.tolerances import LOWEST_AXIS
from penstock.planning.node_hours import hours
from penstock.report.format_units import duration, number, percent, volume
from penstock.report.html import allowed_hash, asset

_NOTED: Final = 40
"""Rows of the numbers behind a drawing over time."""
_BEYOND: Final = 3.0
"""Bars end at this multiple of today's value; longer ones have another colour."""
_WIDE, _HIGH = 1000.0, 200.0
"""Size of a drawing in its own units; a page stretches it."""


def write_advice(path: Path, found: Findings) -> None:
    """Write the page of what was `found` to the file `path`, which keeps its old content if anything fails."""
    with replacing(path) as temporary:
        temporary.write_bytes(render_advice(found).encode("utf-8", "xmlcharrefreplace"))


def render_advice(found: Findings) -> str:
    """The page of what was `found`, as text."""
    style = asset("report.css") + files("penstock.advise").joinpath("page.css").read_text(encoding="utf-8")
    return Template(files("penstock.advise").joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(f"Advice on {found.title}"),
        headline=escape(found.headline),
        summary="\n".join(f"<p>{escape(text)}</p>" for text in found.summary()),
        cards=_cards(found),
        sections="\n".join(_sections(found)),
        style=style,
        style_hash=allowed_hash(style),
    )


# --- the first screen ----------------------------------------------------------------------------------------------------


def _cards(found: Findings) -> str:
    """The four answers in a few words, each with its gain."""
    if not found.answers:
        return ""
    return f'<ul class="cards">{"".join(map(_card, found.answers))}</ul>'


def _card(answer: OperatorAnswer) -> str:
    kind = {CHANGE: "change", STAY: "stay", OPEN: "open"}[answer.verdict]
    return (
        f'<li class="{kind}"><a href="#{answer.key}"><span class="question">{escape(answer.question)}</span>'
        f'<span class="answer">{escape(answer.short)}</span><span class="gain">{_gain(answer)}</span></a></li>'
    )


def _gain(answer: OperatorAnswer) -> str:
    gain = answer.gain
    if gain is None:
        return "<small>data are missing</small>"
    if answer.verdict == STAY and not gain.mean > 0.0:
        return "<small>nothing to gain</small>"
    if answer.verdict == STAY:
        return f"<small>at most {hours(max(0.0, gain.mean))} node-hours</small>"
    interval = f"<small>95 %: {hours(gain.interval[0])} to {hours(gain.interval[1])}</small>" if gain.interval else ""
    return f"{hours(gain.mean)} node-hours{interval}"


# --- tables --------------------------------------------------------------------------------------------------------------


class _Column(NamedTuple):
    """A column of a table: how its cells are written, and whether a bar shows them, too."""

    heading: str
    write: Callable[[Mapping[str, Any]], str]
    value: Callable[[Mapping[str, Any]], float] | None = None
    """What the bar is as long as."""
    text: bool = False


def _plain(key: str, heading: str) -> _Column:
    return _Column(heading, lambda row: "–" if row[key] is None else f"{row[key]}", text=True)


def _count(key: str, heading: str) -> _Column:
    return _Column(heading, lambda row: f"{row[key]:,}")


def _hours(key: str, heading: str, *, bar: bool = False) -> _Column:
    return _Column(heading, lambda row: hours(row[key]), (lambda row: row[key]) if bar else None)


def _interval(key: str, heading: str = "95 % interval") -> _Column:
    def write(row: Mapping[str, Any]) -> str:
        ends = row[key]
        return "–" if ends is None else f"{hours(ends[0])} to {hours(ends[1])}"

    return _Column(heading, write)


def _ratio(key: str, heading: str) -> _Column:
    return _Column(heading, lambda row: f"{row[key]:.2f}")


def _part(key: str, heading: str, *, bar: bool = False) -> _Column:
    return _Column(heading, lambda row: percent(row[key], 1), (lambda row: row[key]) if bar else None)


def _time(key: str, heading: str) -> _Column:
    return _Column(heading, lambda row: duration(row[key]))


def _table(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[_Column],
    mark: Callable[[Mapping[str, Any]], str] = lambda _: "",
) -> str:
    """A table with a heading in the first cell of each row; `mark` gives the class of a row."""
    most = {one.heading: _longest([one.value(row) for row in rows], rows) for one in columns if one.value}
    head = "".join(
        f'<th scope="col"{" class=text" if one.text and place else ""}{" colspan=2" if one.value else ""}>'
        f"{escape(one.heading)}</th>"
        for place, one in enumerate(columns)
    )
    body = "".join(f"<tr{_class(mark(row))}>{''.join(_cells(row, columns, most))}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _longest(values: Sequence[float], rows: Sequence[Mapping[str, Any]]) -> float:
    """What the longest bar stands for: beside today's value, at most `_BEYOND` times that."""
    most = max(values, default=0.0)
    now = [value for value, row in zip(values, rows, strict=True) if row.get("today") and value > 0.0]
    return min(most, _BEYOND * now[0]) if now else most


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _cells(row: Mapping[str, Any], columns: Sequence[_Column], most: Mapping[str, float]) -> Iterator[str]:
    for place, one in enumerate(columns):
        text = escape(one.write(row))
        if not place:
            yield f'<th scope="row">{text}</th>'
            continue
        yield f'<td class="text">{text}</td>' if one.text else f"<td>{text}</td>"
        if one.value:
            part = max(0.0, one.value(row)) / most[one.heading] if most[one.heading] > 0.0 else 0.0
            shape = f'<rect{_class("over" if part > 1.0 else "")} width="{100.0 * min(1.0, part):.2f}%" height="100%"/>'
            yield f'<td class="bar"><svg aria-hidden="true">{shape}</svg></td>'


def _folded(label: str, table: str) -> str:
    return f"<details><summary>{escape(label)}</summary>{table}</details>"


def _list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"


def _section(key: str, heading: str, *parts: str) -> str:
    inside = "\n".join(part for part in parts if part)
    title = f'<h2 id="{key}-heading">{escape(heading)}</h2>'
    return f'<section id="{key}" aria-labelledby="{key}-heading">\n{title}\n{inside}\n</section>'


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(value)}</dd></div>" for term, value in facts.items())
    return f'<dl class="facts">{rows}</dl>'


# --- drawings over time --------------------------------------------------------------------------------------------------


def _drawing(
    caption: str, values: Sequence[float], seconds: float, write: Callable[[float], str], limit: float = 0.0
) -> str:
    """An area over time, from 0 to the largest value; a dashed line at the `limit`, if there is one."""
    top = max(*values, 1.05 * limit, LOWEST_AXIS)
    edges = np.linspace(0.0, _WIDE, len(values) + 1).tolist()
    heights = [_HIGH * (1.0 - value / top) for value in values]
    steps = " ".join(
        f"L{begin:.2f} {height:.2f} L{end:.2f} {height:.2f}"
        for (begin, end), height in zip(pairwise(edges), heights, strict=True)
    )
    at = _HIGH * (1.0 - limit / top)
    line = f'<line class="limit" x1="0" x2="{_WIDE:g}" y1="{at:.2f}" y2="{at:.2f}"/>' if limit else ""
    area = f'<path class="area" d="M0 {_HIGH:g} {steps} L{_WIDE:g} {_HIGH:g} Z"/>'
    ylabels = "".join(f"<span>{escape(write(part * top))}</span>" for part in (1.0, 0.5, 0.0))
    xlabels = "".join(f"<span>{escape(duration(part * seconds))}</span>" for part in (0.0, 0.5, 1.0))
    attributes = f'viewBox="0 0 {_WIDE:g} {_HIGH:g}" preserveAspectRatio="none" role="img"'
    return (
        f'<figure><figcaption>{escape(caption)}</figcaption><div class="plotbox"><div class="ylabels">{ylabels}</div>'
        f'<svg {attributes} aria-label="{escape(caption)}">{area}{line}</svg>'
        f'<div class="xlabels">{xlabels}</div></div></figure>'
    )


def _sparse(rows: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """At most about `_NOTED` rows: means over neighbouring intervals, at the end of the last one."""
    step = -(-len(rows) // _NOTED)
    groups = [rows[first : first + step] for first in range(0, len(rows), step)]
    return [
        {name: group[-1]["date"] if name == "date" else float(np.mean([row[name] for row in group])) for name in group[0]}
        for group in groups
    ]


# --- the sections --------------------------------------------------------------------------------------------------------


def _sections(found: Findings) -> Iterator[str]:
    yield _backtest(found)
    yield _seen(found)
    for answer in found.answers:
        yield _answer(answer)
    yield _limits(found)


def _backtest(found: Findings) -> str:
    """How near predicted run times are to recorded ones."""
    tested = found.backtest
    columns = (
        _plain("which", "jobs"),
        _count("jobs", "number"),
        _ratio("median", "median"),
        _ratio("geometric_mean", "geometric mean"),
        _part("within", f"within a factor of {tested.factor:g}"),
        _ratio("low", "5 %"),
        _ratio("high", "95 %"),
    )
    table = _table(tested.rows(), columns) if tested.groups else ""
    late = (
        f"Jobs that found no free nodes at their recorded start, and started later: {tested.late:,}." if tested.late else ""
    )
    rule = (
        "Predicted over recorded run times, when every job starts as it was recorded. Recommendations are made if the "
        f"median and the geometric mean are within a factor of {tested.factor:g}, and three quarters of the jobs are."
    )
    said = [f"{text}." for text in (tested.sentence(), tested.caution()) if text]
    words = "".join(f"<p>{escape(text)}</p>" for text in (*said, late) if text)
    heading = "Is the model right? The backtest"
    return _section("backtest", heading, words, table, f'<p class="note">{rule}</p>' if table else "")


def _seen(found: Findings) -> str:
    """What the I/O looks like."""
    seen, rows = found.seen.measures(), found.seen.over_time()
    unit = "link" if found.run.stores == 1 else "I/O resources"
    facts = {
        "jobs": f"{seen['jobs']:,}",
        "nodes": f"{seen['nodes']:,}",
        "time": duration(seen["seconds"]),
        "moved": _bytes(seen["bytes"], found),
        "mean pressure": percent(seen["mean_pressure"]),
        "highest pressure": percent(seen["highest_pressure"]),
        "delayed by I/O": f"{hours(seen['delayed'])} node-hours",
        "jobs delayed by 5 % or more": f"{seen['jobs_delayed']:,}",
    }
    columns = (
        _time("date", "until"),
        _part("pressure", "pressure"),
        _part("bandwidth", "bandwidth used"),
        _part("nodes", "nodes in use"),
        _part("waiting_for_io", "nodes waiting for I/O"),
    )
    parts = [
        _facts(facts),
        f"<p>{escape(_rhythm(seen))}</p>",
        _drawing(
            f"Pressure over time: what the running jobs ask of the {unit}; above the dashed line it is more than all",
            [row["pressure"] for row in rows],
            seen["seconds"],
            percent,
            1.0,
        ),
        _drawing(
            "Contention over time: nodes whose jobs wait for the I/O of others",
            [row["waiting_for_io"] * seen["nodes"] for row in rows],
            seen["seconds"],
            number,
        ),
        _folded("Numbers", _table(_sparse(rows), columns)),
        *_who(found),
    ]
    return _section("seen", "What the I/O of this machine looks like", *parts)


def _bytes(amount: float, found: Findings) -> str:
    """Bytes, or where a bandwidth of 1 says that they are none, seconds of the whole I/O system."""
    return volume(amount) if found.today.workload.platform.bandwidth != 1.0 else f"{duration(amount)} of all bandwidth"


def _rhythm(seen: Mapping[str, Any]) -> str:
    busy = f"The I/O system was busy (pressure of 80 % or more) in {percent(seen['busy_part'])} of the time."
    period = seen["period"]
    every = "has no period" if period is None else f"repeats every {duration(period['seconds'])}"
    sure = "" if period is None else f" (confidence {period['confidence']:.2f})"
    model = " Periods of modelled I/O are those of the model." if seen["modelled"] > 0.0 else ""
    return f"{busy} The bandwidth of the whole machine {every}{sure}.{model}"


def _who(found: Findings) -> Iterator[str]:
    """Who does the I/O: users and applications."""
    for word, rows in (("user", found.seen.users()), ("application", found.seen.applications())):
        if not rows:
            continue
        moved = _Column("moved", lambda row: _bytes(row["bytes"], found), lambda row: row["bytes"])
        columns = [
            _plain(word, word),
            _count("jobs", "jobs"),
            moved,
            _hours("node_hours", "node-hours"),
            _hours("transferring", "in I/O"),
            _hours("delayed", "delayed"),
        ]
        shown = rows[:12]
        if any(row.get("period") for row in shown):
            columns.append(
                _Column("period", lambda row: "–" if not row.get("period") else duration(row["period"]["seconds"]))
            )
        more = f", the first {len(shown)} of {len(rows):,}" if len(rows) > len(shown) else ""
        yield f"<h3>By {word}{more}</h3>"
        yield _table(shown, columns)


_ANSWER_COLUMNS: Final[dict[str, tuple[str, tuple[_Column, ...]]]] = {
    "policies": (
        "Node-hours that jobs lose to the I/O of others under each policy",
        (
            _plain("policy", "policy"),
            _hours("delayed", "lost", bar=True),
            _hours("gain", "saved"),
            _interval("gain_interval"),
            _ratio("mean_slowdown", "mean slowdown"),
            _ratio("max_slowdown", "largest slowdown"),
            _time("mean_wait", "mean wait"),
        ),
    ),
    "heuristics": (
        "Node-hours lost to I/O with each way to say how many I/O resources, and which",
        (
            _plain("heuristic", "heuristic"),
            _hours("lost", "lost", bar=True),
            _interval("lost_interval"),
            _ratio("mean_slowdown", "mean I/O slowdown"),
            _ratio("max_slowdown", "largest"),
        ),
    ),
    "for_whom": (
        "I/O resources by the size of jobs: today, and with the best heuristic",
        (
            _plain("nodes", "nodes of the job"),
            _count("jobs", "jobs"),
            _ratio("now", "today, mean"),
            _Column("best, mean", lambda row: f"{row['chosen']:.2f}", lambda row: row["chosen"]),
            _count("chosen_least", "least"),
            _count("chosen_most", "most"),
        ),
    ),
    "buffers": (
        "Node-hours that jobs lose to the I/O of others with a buffer of each size",
        (
            _Column("size", lambda row: _buffer_size(row)),
            _hours("delayed", "lost", bar=True),
            _hours("gain", "saved"),
            _interval("gain_interval"),
            _ratio("max_slowdown", "largest slowdown"),
        ),
    ),
    "pairs": (
        "Node-hours that two jobs lose beside each other",
        (
            _plain("first", "job"),
            _plain("second", "beside"),
            _time("together", "ran together for"),
            _hours("cost", "lost by that", bar=True),
            _interval("cost_interval"),
            _hours("lost", "together to the end"),
        ),
    ),
    "costs": (
        "Node-hours that each job costs all jobs, itself included: what is lost, less what is lost without it",
        (_plain("job", "job"), _hours("cost", "costs", bar=True)),
    ),
}


def _buffer_size(row: Mapping[str, Any]) -> str:
    if not row["size"]:
        return "none"
    seconds = f"{duration(row['seconds_of_link'])} of bandwidth"
    return seconds if row["size"] == row["seconds_of_link"] else f"{volume(row['size'])}, {seconds}"


def _answer(answer: OperatorAnswer) -> str:
    """The answer to one question, with its numbers."""
    parts = [f"<p>{escape(answer.sentence)}</p>"]
    if answer.gain is not None:
        over = f", 95 % interval over {answer.gain.over}" if answer.gain.over else ""
        parts.append(f"<p>Gain: {escape(answer.gain.text)} node-hours{escape(over)}.</p>")
    for name, rows in answer.tables.items():
        caption, columns = _ANSWER_COLUMNS[name]
        shown = rows[:15]
        more = f" (the first {len(shown)} of {len(rows):,})" if len(rows) > len(shown) else ""
        parts.append(f"<figure><figcaption>{escape(caption + more)}</figcaption>{_table(shown, columns, _mark)}</figure>")
    if answer.assumes:
        parts.append(f"<p class=note>This assumes that {escape('; '.join(answer.assumes))}.</p>")
    if answer.command:
        parts.append(f'<p class="note">The same numbers: <code>{escape(answer.command)}</code></p>')
    return _section(answer.key, answer.question, *parts)


def _mark(row: Mapping[str, Any]) -> str:
    return "now" if row.get("today") else "best" if row.get("chosen") is True else ""


def _limits(found: Findings) -> str:
    """What all of it rests on, what is missing, and what would help."""
    notes = [*found.notes, *found.run.notes]
    return _section(
        "limits",
        "What this rests on",
        _list(found.assumptions()),
        "<h3>What is not modelled</h3>",
        _list(NOT_MODELLED),
        "<h3>Data that would make the answer better</h3>",
        _list(list(found.wanted_data())),
        "<h3>Counted while reading and running</h3>" if notes else "",
        _list(notes) if notes else "",
    )
