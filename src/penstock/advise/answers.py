"""The operator's four questions; each answer compares runs of the whole machine with the run of the machine as it is today.

Which policy should share the bandwidth? How many I/O nodes or OSTs, and for whom? Does a burst buffer pay, and how large?
Which jobs should not run together? An answer has a gain in node-hours compared with today, a sentence, its assumptions, and
tables with the numbers. It recommends a change if the gain is at least `WORTH` of the node-hours for which jobs have nodes,
and if the whole interval of the gain is above 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from penstock.advise.gains import Clusters, Gain, best_of
from penstock.advise.seen import held
from penstock.buffers.lower_bounds import largest_backlog
from penstock.buffers.timeline import full_speed_timeline
from penstock.engine import Buffering
from penstock.model import InputError, Phases, Workload
from penstock.model.application import READ, WRITE
from penstock.numeric.arrays import Floats
from penstock.planning.machine_run import MachineRun
from penstock.planning.node_hours import HOUR, hours
from penstock.planning.operation import MachineSettings, at_full_speed, operate
from penstock.planning.placement.allocation import Information
from penstock.planning.placement.heuristics import MCKP, Heuristic, stream_heuristics
from penstock.planning.placement.stream import RULES, StreamProposal, lost_to_io, plan_stream
from penstock.planning.together import JobsTogether, PairLoss, jobs_together
from penstock.policies import Policy
from penstock.policies.policy import STATIC
from penstock.policies.registry import find
from penstock.report.format_units import duration, percent, volume

WORTH: Final = 0.001
"""Part of the node-hours of jobs that a change must save to be recommended."""
POLICIES: Final = ("best-effort", "due-yield", "closing-yield", "greedy-yield", "set-10", "interrupting", "fcfs")
"""Policies that are compared with today's, unless the user names others."""
MUCH_WORSE: Final = 2.0
"""If a recommended policy multiplies the largest slowdown of a job by more than this, the first screen says so."""
BUFFER_PARTS: Final = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Sizes of the buffer to try, as parts of the largest backlog of writes on one link with all jobs at full speed."""
DOUBLINGS: Final = 3
"""At most this many further sizes are tried, each twice the one before, while the last size still saved enough."""
ENOUGH: Final = 0.9
"""The answer recommends the smallest buffer that has at least this part of the largest gain."""
_DIGITS: Final = 6
"""Decimals of node-hours: a loss that rounds to 0 with this many counts as none."""
MOST_TOGETHER: Final = 10
"""Jobs whose pairs are compared: those that occupy the I/O system most."""
STARTS: Final = 5
"""Random starts of each pair."""
NODE_BUCKETS: Final = (1, 2, 5, 17, 65, 257, 1025)
"""The table of allocations groups jobs by size; these are the smallest numbers of nodes of its groups."""
CHANGE, STAY, OPEN = "change", "stay", "open"

Table = list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Today:
    """The machine as it is today: its jobs, its settings, and the run with these settings."""

    workload: Workload
    operated: MachineSettings
    run: MachineRun
    clusters: Clusters

    @property
    def scheduler(self) -> str:
        """What starts the jobs."""
        return self.run.scheduler

    @property
    def policy(self) -> Policy:
        """What shares the bandwidth."""
        policy = self.operated.policy
        return find(policy) if isinstance(policy, str) else policy

    @property
    def worth(self) -> float:
        """Node-hours that a change must save."""
        return WORTH * held(self.run)

    def lost(self, run: MachineRun) -> Floats:
        """Node-hours that each job loses to the I/O of others in a run."""
        return run.jobs_run.nodes * run.jobs_run.delayed / HOUR

    def gain(self, run: MachineRun) -> Gain:
        """Node-hours that a run of the same jobs saves compared with today's run."""
        return self.clusters.gain(self.lost(self.run) - self.lost(run))

    def row(self, run: MachineRun) -> dict[str, Any]:
        """The row of a run in a table: node-hours lost and saved, the mean wait, and slowdowns."""
        gain = self.gain(run)
        return {
            "delayed": run.delayed,
            "gain": gain.mean,
            "gain_interval": None if gain.interval is None else list(gain.interval),
            "mean_wait": run.mean_wait,
            "mean_slowdown": run.mean_slowdown,
            "max_slowdown": run.max_slowdown,
        }

    def settings(self, **changed: Any) -> MachineSettings:
        """The settings of today's run, with some of them changed."""
        return replace(self.operated, **changed)


@dataclass(frozen=True, eq=False)
class OperatorAnswer:
    """The answer to one question.

    Attributes:
        key: policy, resources, buffer or apart.
        question: in words.
        verdict: `CHANGE`, `STAY`, or `OPEN` where the question cannot be answered.
        short: the answer in a few words.
        sentence: the answer in one or two sentences.
        gain: node-hours saved compared with today; None where the question cannot be answered.
        assumes: the assumptions, one in each entry.
        tables: the numbers, by name.
        command: the command that gives the same numbers.
        harm: a clause that says which jobs the change slows down; empty if there is no such harm.
    """

    key: str
    question: str
    verdict: str
    short: str
    sentence: str
    gain: Gain | None = None
    assumes: tuple[str, ...] = ()
    tables: dict[str, Table] = field(default_factory=dict)
    command: str = ""
    harm: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The answer for JSON."""
        return {
            "key": self.key,
            "question": self.question,
            "verdict": self.verdict,
            "short": self.short,
            "sentence": self.sentence,
            "gain": None if self.gain is None else self.gain.to_dict(),
            "assumes": list(self.assumes),
            "tables": self.tables,
            "command": self.command,
            "harm": self.harm,
        }


Told = Callable[[str], Callable[[float], None]]
"""Reports progress: call it with the name of a step, then call its result with the part of the step that is done."""


def _pays(gain: Gain, today: Today) -> bool:
    return gain.sure and gain.mean >= today.worth


def _starts(today: Today) -> str:
    if today.scheduler == "recorded":
        return "jobs start as they were recorded"
    return f"the batch scheduler works as {today.scheduler} does"


# --- which policy --------------------------------------------------------------------------------------------------------

WHICH_POLICY: Final = "Which policy should share the bandwidth?"


def which_policy(today: Today, policies: Sequence[Policy], told: Told) -> OperatorAnswer:
    """Run the same jobs under each of the `policies`.

    Args:
        today: the machine and its run.
        policies: those to try. Static orders are skipped, because they need a fixed set of jobs; so is today's policy.
        told: called with the name of the policy that runs next.
    """
    tried = [one for one in policies if one.family != STATIC and one.name != today.policy.name]
    runs = [operate(today.workload, today.settings(policy=one), progress=told(one.name)) for one in tried]
    table = [{"policy": today.policy.name, "today": True, **today.row(today.run)}]
    table += [{"policy": run.policy, "today": False, **today.row(run)} for run in runs]
    table.sort(key=lambda row: row["delayed"])
    gains = [today.gain(run) for run in runs]
    best = best_of(gains)
    command = f"penstock machine FILE --scheduler {today.scheduler} --policy NAME"
    assumes = (
        _starts(today),
        "all jobs announce their I/O and keep to what the policy grants",
        f"the best of {len(runs)} policies was chosen on the same jobs that it is measured on",
    )
    common: dict[str, Any] = {"assumes": assumes, "tables": {"policies": table}, "command": command}
    if best is None or not _pays(gains[best], today):
        gain = gains[best] if best is not None and gains[best].mean > 0.0 else Gain(0.0)
        sentence = (
            f"Stay with {today.policy.name}: it loses {hours(today.run.delayed)} node-hours, and no policy that was tried "
            f"saves a sure {percent(WORTH, 1)} of the node-hours of jobs."
        )
        return OperatorAnswer("policy", WHICH_POLICY, STAY, f"stay with {today.policy.name}", sentence, gain, **common)
    run = runs[best]
    sentence = (
        f"{run.policy} loses {hours(run.delayed)} node-hours where {today.policy.name} loses {hours(today.run.delayed)}. "
        f"The job that is slowed down most takes {run.max_slowdown:.2f} times its time alone instead of "
        f"{today.run.max_slowdown:.2f}."
    )
    worse = run.max_slowdown > MUCH_WORSE * today.run.max_slowdown
    harm = f"one job then takes {run.max_slowdown:.1f} times its time alone ({today.run.max_slowdown:.1f} today)"
    common["harm"] = harm if worse else ""
    return OperatorAnswer("policy", WHICH_POLICY, CHANGE, f"use {run.policy}", sentence, gains[best], **common)


# --- how many resources --------------------------------------------------------------------------------------------------

HOW_MANY: Final = "How many I/O nodes or OSTs, and for whom?"


def how_many_resources(today: Today, told: Told) -> OperatorAnswer:
    """Run the same jobs with each heuristic that chooses how many I/O resources a job gets, and which.

    Args:
        today: the machine and its run.
        told: called with the name of the step, and then with the part that is done.
    """
    if today.workload.platform.resources is None:
        sentence = (
            "The workload describes the I/O system as one link. This can be answered with the number of I/O nodes or OSTs "
            "(--resources N), at best with each job's bandwidth by their number (curve)."
        )
        return OperatorAnswer("resources", HOW_MANY, OPEN, "not known", sentence)
    plan = plan_stream(
        today.workload,
        _tried(today.workload),
        level=Information.CURVES,
        policy=today.policy,
        scheduler=today.scheduler,
        seed=today.operated.seed,
        progress=told("I/O nodes and OSTs"),
    )
    chosen = plan.chosen
    now, then = (lost_to_io(run, chosen.best_seconds) for run in (today.run, chosen.run))
    saved = today.clusters.gain(now - then)
    gain = saved if saved.mean > 0.0 else Gain(0.0)
    table = [_heuristic_row(one, chosen, today) for one in sorted(plan.proposals, key=lambda one: one.lost.mean)]
    curves = "the curves of the jobs hold" if not plan.stand_in else "each I/O resource carries an equal part of B"
    common: dict[str, Any] = {
        "gain": gain,
        "assumes": (_starts(today), "jobs keep their I/O resources to their ends", curves),
        "tables": {"heuristics": table, "for_whom": _for_whom(chosen, today)},
        "command": f"penstock place FILE --knows curves --policy {today.policy.name} --scheduler {today.scheduler}",
    }
    usual = f"{today.operated.allocation}, {today.operated.placement}"
    lost = f"{hours(float(then.sum()))} node-hours to I/O where those of today ({usual}) lose {hours(float(now.sum()))}"
    sentence = f"The numbers and places of {chosen.name} lose {lost}."
    if not _pays(gain, today):
        return OperatorAnswer("resources", HOW_MANY, STAY, "as today", sentence, **common)
    return OperatorAnswer("resources", HOW_MANY, CHANGE, chosen.name, sentence, **common)


def _span(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _tried(workload: Workload) -> list[Heuristic]:
    """The heuristics to try. mckp takes long, so it is tried only where every job has a curve of its own."""
    curves = all(one.curve is not None for one in workload.applications)
    return [one for one in stream_heuristics() if curves or one.allocation != MCKP]


def _heuristic_row(one: StreamProposal, chosen: StreamProposal, today: Today) -> dict[str, Any]:
    usual = (today.operated.allocation, today.operated.placement)
    return {
        "heuristic": one.name,
        "chosen": one is chosen,
        "today": (one.heuristic.allocation, RULES[one.heuristic.placement]) == usual,
        "lost": one.lost.mean,
        "lost_interval": one.lost.to_dict()["interval"],
        "mean_slowdown": one.mean_slowdown,
        "max_slowdown": one.max_slowdown,
        "most_load": one.most_load,
    }


def _for_whom(chosen: StreamProposal, today: Today) -> Table:
    """How many resources jobs of each size get today, and how many the chosen heuristic gives them."""
    nodes, now = chosen.run.jobs_run.nodes, np.array([len(used) for used in today.run.jobs_run.resources or ()])
    bucket = np.searchsorted(NODE_BUCKETS, nodes, "right") - 1
    rows = []
    for number in np.unique(bucket).tolist():
        mine = bucket == number
        rows.append(
            {
                "nodes": _span(int(nodes[mine].min()), int(nodes[mine].max())),
                "jobs": int(mine.sum()),
                "now": float(now[mine].mean()),
                "chosen": float(chosen.counts[mine].mean()),
                "chosen_least": int(chosen.counts[mine].min()),
                "chosen_most": int(chosen.counts[mine].max()),
            }
        )
    return rows


# --- a burst buffer ------------------------------------------------------------------------------------------------------

WHICH_BUFFER: Final = "Does a burst buffer pay, and how large?"


def which_buffer(today: Today, told: Told) -> OperatorAnswer:
    """Run the same jobs with buffers of several sizes, each one pool.

    The sizes are parts of the largest backlog of writes on one link, if all jobs run at full speed from the same starts
    (`largest_backlog`). `io` phases count as writes, and where no writes pile up, so do reads. On one link a larger buffer
    saves nothing more for writes. With several I/O resources the backlog of a shared resource may be larger. So the
    function then doubles the size up to `DOUBLINGS` times, while this saves more.

    Args:
        today: the machine and its run.
        told: called with the size that runs next.
    """
    now = today.workload.platform.buffer
    own = now.size if now is not None else None
    largest = _largest_backlog(today)
    sizes = sorted({*(part * largest for part in BUFFER_PARTS if largest > 0.0), *((own,) if own else ())})
    none = [operate(today.workload, today.settings(buffer=False), progress=told("no buffer"))] if own else []

    def run(size: float) -> MachineRun:
        settings = today.settings(buffer=Buffering(pool=size))
        return operate(today.workload, settings, progress=told(f"buffer of {volume(size)}"))

    runs = [run(size) for size in sizes]
    for _ in range(DOUBLINGS if runs else 0):
        saved = runs[-2].delayed - runs[-1].delayed if len(runs) > 1 else math.inf
        if runs[-1].delayed < today.worth or saved < today.worth:
            break
        sizes.append(2.0 * sizes[-1])
        runs.append(run(sizes[-1]))
    gains = [today.gain(run) for run in runs]
    table = [
        {"size": size, "seconds_of_link": size / today.workload.platform.bandwidth, "today": size == own, **today.row(run)}
        for size, run in zip([0.0] * (len(none) or 1) + sizes, [*(none or [today.run]), *runs], strict=True)
    ]
    assumes = (
        _starts(today),
        "all I/O of all jobs can go by way of the buffer, which is filled at the speed of the jobs",
        "the buffer is one pool for all jobs",
    )
    common: dict[str, Any] = {
        "assumes": assumes,
        "tables": {"buffers": table},
        "command": f"penstock machine FILE --scheduler {today.scheduler} --policy {today.policy.name} --buffer SIZE",
    }
    best = best_of(gains)
    if best is None or not _pays(gains[best], today):
        gain = gains[best] if best is not None and gains[best].mean > 0.0 else Gain(0.0)
        most = f"even {_size(sizes[best], today)} saves {hours(gain.mean)} node-hours" if sizes and best is not None else ""
        why = most or "jobs never ask for more than the I/O system carries"
        sentence = f"A {'larger ' if own else ''}burst buffer does not pay: {why}."
        return OperatorAnswer("buffer", WHICH_BUFFER, STAY, "does not pay", sentence, gain, **common)
    enough = next(k for k, gain in enumerate(gains) if gain.mean >= ENOUGH * gains[best].mean)
    size, gain = sizes[enough], gains[enough]
    half = max((k for k in range(len(sizes)) if sizes[k] <= 0.5 * size), default=None)
    also = f" {_size(sizes[half], today)} save {hours(gains[half].mean)} node-hours." if half is not None else ""
    nothing_left = round(runs[best].delayed, _DIGITS) <= 0.0
    beyond = f"More than {_size(sizes[best], today)} {'never pile up' if nothing_left else 'save hardly more'}."
    sentence = (
        f"A buffer of {_size(size, today)} saves {percent(gain.mean / today.run.delayed)} of what jobs lose to the I/O of "
        f"others. {beyond}{also}"
    )
    return OperatorAnswer("buffer", WHICH_BUFFER, CHANGE, _size(size, today), sentence, gain, **common)


def _largest_backlog(today: Today) -> float:
    """Bytes that pile up before one link, at most, if all jobs run at full speed: of writes, else of reads.

    What reads would lack at that moment, a buffer must have fetched before.
    """
    jobs = at_full_speed(_on_one_link(today), today.scheduler)
    of_writes = largest_backlog(full_speed_timeline(jobs)).size
    if of_writes > 0.0:
        return of_writes
    as_writes = tuple(
        replace(one, phases=Phases(np.where(one.phases.kinds == READ, WRITE, one.phases.kinds), one.phases.amounts))
        for one in jobs.applications
    )
    return largest_backlog(full_speed_timeline(replace(jobs, applications=as_writes))).size


def _on_one_link(today: Today) -> Workload:
    """The jobs on one link with all the bandwidth, without a buffer."""
    return replace(today.workload, platform=replace(today.workload.platform, resources=None, buffer=None))


def _size(size: float, today: Today) -> str:
    """A size in bytes; if the bandwidth is 1, volumes have no unit, and the size is a time at full bandwidth."""
    bandwidth = today.workload.platform.bandwidth
    return volume(size) if bandwidth != 1.0 else f"{duration(size)} of full bandwidth"


# --- which jobs together -------------------------------------------------------------------------------------------------

WHO_APART: Final = "Which jobs should not run together?"


def which_apart(today: Today, told: Told) -> OperatorAnswer:
    """Find the pair of jobs that ran together and delay each other most, and the node-hours that each job costs all jobs.

    Args:
        today: the machine and its run.
        told: called with the name of the step, and then with the part that is done.
    """
    busy = int(np.count_nonzero(today.run.jobs_run.volume > 0.0))
    if busy < 2:
        sentence = f"{'One job does' if busy else 'No job does'} I/O, so no two can meet."
        return OperatorAnswer("apart", WHO_APART, STAY, "none", sentence, Gain(0.0))
    found = jobs_together(
        _on_one_link(today),
        today.policy,
        most=min(MOST_TOGETHER, len(today.workload.applications)),
        starts=STARTS,
        scheduler=today.scheduler,
        seed=today.operated.seed,
        progress=told("jobs together"),
    )
    pairs = sorted((_pair_row(one, found, today) for one in found.pairs), key=lambda row: (-row["cost"], -row["lost"]))
    costs: Table = [{"job": found.names[job], "cost": cost} for job, cost in found.left_out]
    common: dict[str, Any] = {
        "assumes": (
            "two jobs lose as much in the time for which they ran together as in the same time alone on the machine, where "
            "the second starts anywhere in an iteration of the first",
            f"of all jobs, the {len(costs)} that occupy the I/O system most are looked at, on one link",
        ),
        "tables": {"pairs": pairs, "costs": costs},
        "command": f"penstock pack FILE --together {len(costs)}",
    }
    worst = pairs[0]
    if not worst["cost"] > 0.0:
        sentence = f"Of the {len(costs)} jobs with most I/O, no two ran together and delayed each other."
        return OperatorAnswer("apart", WHO_APART, STAY, "none", sentence, Gain(0.0), **common)
    gain = Gain(worst["cost"], worst["cost_interval"], f"{STARTS} random starts of the second job")
    both = f"{worst['first']} and {worst['second']}"
    dear = max(costs, key=lambda row: row["cost"])
    also = f"The job that costs all most is {dear['job']}: {hours(dear['cost'])} node-hours, its own loss included."
    lost = f"ran together for {duration(worst['together'])} and lost about {hours(gain.mean)} node-hours by that"
    if not _pays(gain, today):
        sentence = f"No pair is worth a rule. The worst, {both}, {lost}. {also}"
        return OperatorAnswer("apart", WHO_APART, STAY, "none", sentence, gain, **common)
    return OperatorAnswer("apart", WHO_APART, CHANGE, both, f"{both} {lost}. {also}", gain, **common)


def _overlap(pair: PairLoss, today: Today) -> float:
    """Seconds for which both jobs ran."""
    start, end = today.run.jobs_run.start, today.run.jobs_run.end
    both = [pair.first, pair.second]
    return max(0.0, float(end[both].min() - start[both].max()))


def _pair_row(pair: PairLoss, found: JobsTogether, today: Today) -> dict[str, Any]:
    """The row of a pair of jobs: node-hours lost alone on the machine, and the part for the time they ran together."""
    jobs, both = today.run.jobs_run, [pair.first, pair.second]
    shortest, together = float(jobs.held[both].min()), _overlap(pair, today)
    part = together / shortest if shortest > 0.0 else 0.0
    interval = pair.lost.to_dict()["interval"]
    return {
        "first": found.names[pair.first],
        "second": found.names[pair.second],
        "users": [jobs.users[pair.first], jobs.users[pair.second]],
        "lost": pair.lost.mean,
        "lost_interval": interval,
        "together": together,
        "cost": part * pair.lost.mean,
        "cost_interval": None if interval is None else [part * end for end in interval],
    }


def answered(ask: Callable[[], OperatorAnswer], key: str, question: str) -> OperatorAnswer:
    """Call `ask`; if it refuses the workload, return an open answer that gives the reason.

    Args:
        ask: finds the answer.
        key: of the answer if there is none, as in `OperatorAnswer`.
        question: likewise.
    """
    try:
        return ask()
    except InputError as error:
        return OperatorAnswer(key, question, OPEN, "not known", f"This cannot be answered: {error}.")
