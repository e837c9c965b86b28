"""The advice as a whole: the backtest first, then the machine as it is, then the four questions, and what is not known.

Where the backtest is far off, no question is answered and nothing is recommended. Where it is not possible, the questions
are answered from the phases of the workload alone, which the first sentences say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Protocol

from penstock.advise.answers import (
    BUFFER_PARTS,
    CHANGE,
    DOUBLINGS,
    HOW_MANY,
    POLICIES,
    WHICH_BUFFER,
    WHICH_POLICY,
    WHO_APART,
    WORTH,
    OperatorAnswer,
    Today,
    answered,
    how_many_resources,
    which_apart,
    which_buffer,
    which_policy,
)
from penstock.advise.backtest import FAR, IMPOSSIBLE, TRUST, Backtest, backtest
from penstock.advise.gains import DAY, Clusters
from penstock.advise.seen import IoSeen, held
from penstock.model import InputError, Workload
from penstock.model.application import MODELLED
from penstock.planning.machine_run import MachineRun
from penstock.planning.node_hours import hours
from penstock.planning.operation import DEFAULT_ALLOCATION, DEFAULT_SCHEDULER, DEFAULT_SHARING, MachineSettings, operate
from penstock.planning.schedulers import RECORDED
from penstock.policies import Policy
from penstock.policies.registry import find
from penstock.report.format_units import duration, percent

NOT_MODELLED: Final = (
    "Metadata: opening, creating and listing files takes no time here. Where jobs handle many small files, that can cost "
    "more than reading and writing.",
    "IOPS: small and random requests are as fast as large ones, byte for byte.",
    "Caches of nodes and servers, failures, and what other systems do on the same storage.",
)
"""What no figure contains."""
FEW_DAYS: Final = 7
"""Days from which on a record tells about a usual week."""


class _Watcher(Protocol):
    def begin(self, name: str) -> None: ...
    def at(self, part: float) -> None: ...
    def end(self) -> None: ...


@dataclass(frozen=True)
class AdviceSettings:
    """How the machine is today, and what is tried.

    Args:
        policy: what shares the bandwidth today.
        scheduler: starts the jobs, as for `penstock.machine`; by default ``recorded`` if all jobs have a recorded start,
            else ``easy``.
        allocation: how many I/O resources a job gets today, as for `penstock.machine`.
        placement: which ones.
        policies: what is tried beside the policy of today; by default `penstock.advise.answers.POLICIES`.
        trust: the factor within which the backtest must be, 1 or more.
        seed: for what is random.

    Raises:
        InputError: the factor is below 1.
    """

    policy: Policy | None = None
    scheduler: str | None = None
    allocation: str | int = DEFAULT_ALLOCATION
    placement: str = "least-loaded"
    policies: Sequence[Policy] | None = None
    trust: float = TRUST
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.trust >= 1.0:
            raise InputError("trust", f"{self.trust:g} is no factor; expected 1 or more")

    def operated(self, workload: Workload) -> MachineSettings:
        """How the machine of a `workload` is operated today; the scheduler is not decided here."""
        policy = self.policy or find(DEFAULT_SHARING)
        plain = MachineSettings(policy=policy, seed=self.seed)
        if workload.platform.resources is None:
            return plain
        return replace(plain, allocation=self.allocation, placement=self.placement)

    @property
    def tried(self) -> list[Policy]:
        """The policies that are tried."""
        return list(self.policies) if self.policies is not None else [find(name) for name in POLICIES]


@dataclass(frozen=True, eq=False)
class Findings:
    """All that is found about a machine.

    Attributes:
        title: what the workload is called.
        today: the machine and its run as it is.
        backtest: how near predicted run times are to recorded ones.
        answers: to the four questions; none if the backtest is far off.
        notes: what was counted while the input was read.
        guessed: whether the most that the jobs reached together stands for the bandwidth of the I/O system.
    """

    title: str
    today: Today
    backtest: Backtest
    answers: tuple[OperatorAnswer, ...]
    notes: tuple[str, ...]
    guessed: bool = False

    @property
    def run(self) -> MachineRun:
        """The run of the machine as it is."""
        return self.today.run

    @cached_property
    def seen(self) -> IoSeen:
        """What the I/O looks like."""
        return IoSeen(self.today.workload, self.run)

    @property
    def trusted(self) -> bool:
        """Whether recommendations are made at all."""
        return self.backtest.status != FAR

    @property
    def changes(self) -> list[OperatorAnswer]:
        """The answers that recommend a change, that with the largest gain first."""
        wanted = [one for one in self.answers if one.verdict == CHANGE and one.gain is not None]
        return sorted(wanted, key=lambda one: -one.gain.mean if one.gain is not None else 0.0)

    @property
    def headline(self) -> str:
        """The answer in one line."""
        if not self.trusted:
            return "Nothing can be recommended: the model does not reproduce this machine"
        if not self.changes:
            return "Nothing is to be gained by changing how I/O is shared"
        best = self.changes[0]
        assert best.gain is not None
        part = best.gain.mean / held(self.run)
        return f"Up to {hours(best.gain.mean)} node-hours ({percent(part, 1)}) can be saved: {_action(best)}"

    def summary(self) -> Iterator[str]:
        """A few sentences for those who decide."""
        if not self.trusted:
            yield f"{self.backtest.sentence()}."
            yield "Before anything is changed, the input has to be mended; the list at the end says what data would help."
            return
        yield self._costs()
        changes = self.changes
        if changes:
            for one in changes:
                assert one.gain is not None
                but = f", but {one.harm}" if one.harm else ""
                yield f"{_sentence_case(_action(one))}: saves {hours(one.gain.mean)} node-hours{_interval(one)}{but}."
            if len(changes) > 1:
                yield "The gains do not add up: each is measured alone, beside the machine as it is."
        else:
            yield (f"No change that was tried saves a sure {percent(WORTH, 1)} of the node-hours of jobs. Stay as you are.")
        yield self._trust()
        if self.guessed:
            yield (
                "The bandwidth of the I/O system is not known. The most that the jobs reached together stands for it, which "
                "hides contention."
            )

    def _costs(self) -> str:
        """What the I/O costs."""
        seen = self.seen.measures()
        lost, part = hours(seen["delayed"]), seen["delayed_part"]
        span = f"In {duration(seen['seconds'])}, {seen['jobs']:,} jobs had {hours(seen['held_node_hours'])} node-hours"
        if seen["delayed"] <= WORTH * seen["held_node_hours"]:
            return f"{span} and lost {lost} of them ({percent(part, 2)}) to the I/O of others: hardly anything."
        return (
            f"{span} and lost {lost} of them ({percent(part, 1)}) to the I/O of others, as if "
            f"{seen['nodes_lost']:,.1f} of the {seen['nodes']:,} nodes had stood still."
        )

    def _trust(self) -> str:
        """How far the figures can be trusted."""
        part = self.seen.measures()["modelled"]
        drawn = f" {percent(part)} of the I/O rests on a model and was not measured." if part > 0.0 else ""
        if self.backtest.status == IMPOSSIBLE:
            return f"These figures are not tested against the machine: no run times were recorded.{drawn}"
        one = self.backtest.groups["all jobs"]
        near = f"Predicted run times are {one.geometric_mean:.2f} times the recorded ones (geometric mean)"
        circular = self.backtest.made_from > 0.5 * len(self.backtest.recorded)
        return f"{near}{', but they were partly made from them' if circular else ''}.{drawn}"

    def wanted_data(self) -> Iterator[str]:
        """What data would make the answer better."""
        platform, members = self.today.workload.platform, self.today.workload.applications
        part, days = self.seen.measures()["modelled"], self.run.makespan / DAY
        jobs = sum(one.source in MODELLED for one in members)
        curves = all(one.curve is not None for one in members)
        wanted = (
            (self.backtest.status == IMPOSSIBLE, "Recorded starts and run times of the jobs (recorded), for the backtest."),
            (
                not self.trusted,
                "Bandwidths of jobs alone (penstock import darshan) and of the I/O system (penstock import ior).",
            ),
            (
                part > 0.0,
                f"Darshan logs or Slurm's I/O counters of the {jobs:,} jobs whose I/O is modelled, {percent(part)} of it.",
            ),
            (self.guessed, "The bandwidth of the I/O system: penstock import ior -o FILE, with FILE in the folder."),
            (days < FEW_DAYS, f"A longer record: {duration(self.run.makespan)} say little about a usual week."),
            (platform.resources is None, "The number of I/O nodes or OSTs (--resources N)."),
            (not curves, "The bandwidth of jobs by the number of I/O nodes or OSTs (curve), from runs of the largest ones."),
            (not any(one.user for one in members), "The users of the jobs (user): who does the I/O."),
            (
                any(one.requested is None for one in members),
                "Requested wall times (requested), for batch schedulers.",
            ),
            (platform.bandwidth == 1.0, "The bandwidth of the I/O system: with 1, volumes are seconds of all of it."),
        )
        yield from (text for missing, text in wanted if missing)

    def assumptions(self) -> list[str]:
        """What all answers assume together."""
        return [
            f"Today {self.today.policy.name} shares the bandwidth, and {_how_jobs_start(self.today.scheduler)}.",
            "A job reads and writes the same bytes whatever changes, and does nothing else while it waits for them.",
            "Intervals say how a gain differs between weeks with other jobs like these, not how wrong the model is.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """The findings for JSON: node-hours, seconds and bytes."""
        return {
            "title": self.title,
            "headline": self.headline,
            "summary": list(self.summary()),
            "scheduler": self.today.scheduler,
            "policy": self.today.policy.name,
            "backtest": self.backtest.to_dict(),
            "seen": self.seen.to_dict(),
            "worth": {"part": WORTH, "node_hours": WORTH * held(self.run)},
            "answers": [one.to_dict() for one in self.answers],
            "assumes": self.assumptions(),
            "not_modelled": list(NOT_MODELLED),
            "wanted_data": list(self.wanted_data()),
            "notes": [*self.notes, *self.run.notes],
        }


def _action(answer: OperatorAnswer) -> str:
    """The change that an answer recommends, as a clause."""
    words = {
        "policy": f"share the bandwidth by {answer.short.removeprefix('use ')}",
        "resources": f"place jobs on I/O resources by {answer.short}",
        "buffer": f"use a burst buffer of {answer.short}",
        "apart": f"do not run {answer.short} together",
    }
    return words[answer.key]


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _interval(answer: OperatorAnswer) -> str:
    gain = answer.gain
    if gain is None or gain.interval is None:
        return ""
    return f" (95 %: {hours(gain.interval[0])} to {hours(gain.interval[1])})"


def _how_jobs_start(scheduler: str) -> str:
    return "jobs start as they were recorded" if scheduler == RECORDED else f"{scheduler} starts the jobs"


class _Steps:
    """Tells a watcher about one step after the other."""

    def __init__(self, watcher: _Watcher) -> None:
        self._watcher = watcher
        self._begun = False

    def __call__(self, name: str) -> Callable[[float], None]:
        """The next step begins."""
        self.end()
        self._watcher.begin(name)
        self._begun = True
        return self._watcher.at

    def end(self) -> None:
        """The step is done."""
        if self._begun:
            self._watcher.end()
        self._begun = False


def find_out(
    workload: Workload,
    settings: AdviceSettings,
    watch: Callable[[int], AbstractContextManager[_Watcher]],
    title: str = "workload",
    notes: Sequence[str] = (),
    *,
    guessed: bool = False,
) -> Findings:
    """Answer the operator's questions about a machine.

    Args:
        workload: its jobs, on a platform with a number of nodes; no window.
        settings: how the machine is today, and what is tried.
        watch: makes a watcher of so many steps, which is told how far it is.
        title: what the workload is called.
        notes: what was counted while the input was read.
        guessed: whether the most that the jobs reached together stands for the bandwidth of the I/O system.

    Returns:
        The backtest, the machine as it is, and the answers.

    Raises:
        InputError: the workload cannot be operated.
    """
    tried = settings.tried
    steps = 4 + len(tried) + len(BUFFER_PARTS) + DOUBLINGS + 2
    with watch(steps) as watcher:
        told = _Steps(watcher)
        operated = settings.operated(workload)
        tested, replayed = backtest(workload, operated, factor=settings.trust, progress=told("backtest"))
        scheduler = settings.scheduler or (RECORDED if len(tested.recorded) == tested.jobs else DEFAULT_SCHEDULER)
        today = _today(workload, replace(operated, scheduler=scheduler), replayed, told)
        answers: tuple[OperatorAnswer, ...] = ()
        if tested.status != FAR:
            answers = (
                answered(lambda: which_policy(today, tried, told), "policy", WHICH_POLICY),
                answered(lambda: how_many_resources(today, told), "resources", HOW_MANY),
                answered(lambda: which_buffer(today, told), "buffer", WHICH_BUFFER),
                answered(lambda: which_apart(today, told), "apart", WHO_APART),
            )
        told.end()
    return Findings(title, today, tested, answers, tuple(notes), guessed)


def _today(workload: Workload, operated: MachineSettings, replayed: MachineRun | None, told: _Steps) -> Today:
    """The machine as it is; the run of the backtest, where that is the same."""
    run = replayed
    if run is None or operated.scheduler != RECORDED:
        run = operate(workload, operated, progress=told("today"))
    return Today(workload, operated, run, Clusters.of(run.jobs_run, operated.seed))
