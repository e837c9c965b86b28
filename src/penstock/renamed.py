"""Names of version 0.1 that have moved. They work until 0.3, with a warning that says what to use instead.

`MODULES` maps old modules to new ones and `NAMES` old names in old modules to new names. docs/renamed.md shows both tables.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

MODULES: Final = {
    "campaign.compute": "campaign.workers",
    "campaign.files": "campaign.campaign_files",
    "campaign.grid": "campaign.cells",
    "campaign.identity": "campaign.store",
    "campaign.local": "campaign.workers",
    "campaign.progress": "campaign.workers",
    "campaign.run": "campaign.workers",
    "campaign.slurm": "campaign.cluster",
    "campaign.slurm_settings": "campaign.cluster",
    "campaign.summary": "campaign.rows",
    "campaign.worker": "campaign.workers",
    "cli.asking": "cli.ctl",
    "cli.progress": "cli.output",
    "cli.usage": "cli.used_fields",
    "client.address": "live.client.environment",
    "client.asynchronous": "live.client.asynchronous",
    "client.control": "live.client.link",
    "client.doubt": "live.client.outstanding",
    "client.errors": "live.client.errors",
    "client.files": "live.client.job",
    "client.gate": "live.client.transfer",
    "client.identity": "live.client.environment",
    "client.job": "live.client.job",
    "client.link": "live.client.link",
    "client.member": "live.client.member",
    "client.operation": "live.client.transfer",
    "client.outbox": "live.client.session",
    "client.pacing": "live.client.transfer",
    "client.protocol": "live.protocol",
    "client.session": "live.client.session",
    "coordinator": "live",
    "coordinator.active": "live.core.pending",
    "coordinator.application": "live.core.clients",
    "coordinator.clock": "live.server.journal",
    "coordinator.columns": "live.core.pending",
    "coordinator.control": "live.server.control",
    "coordinator.core": "live.core.core",
    "coordinator.expected": "live.core.deciding",
    "coordinator.explaining": "live.core.explaining",
    "coordinator.granting": "live.core.grants",
    "coordinator.http": "live.server.http",
    "coordinator.instructions": "live.core.events",
    "coordinator.journal": "live.server.journal",
    "coordinator.leases": "live.core.grants",
    "coordinator.limits": "live.server.peer",
    "coordinator.listening": "live.server.listening",
    "coordinator.metrics": "live.server.http",
    "coordinator.notify": "live.server.listening",
    "coordinator.peer": "live.server.peer",
    "coordinator.recording": "live.core.recording",
    "coordinator.roster": "live.core.clients",
    "coordinator.server": "live.server.server",
    "coordinator.settings": "live.server.settings",
    "engine.asking": "engine.rates",
    "engine.books": "engine.chain",
    "engine.buffering": "engine.machine",
    "engine.buffers": "engine.buffer_rates",
    "engine.dedicated": "engine.setup",
    "engine.fill": "engine.trace",
    "engine.laws": "engine.faults",
    "engine.orders": "engine.kept_orders",
    "engine.replay": "engine.scenarios",
    "engine.rounds": "engine.transfers",
    "engine.slots": "engine.transfers",
    "engine.steady": "engine.scenarios",
    "engine.stores": "engine.transfers",
    "engine.traffic": "engine.buffer_result",
    "model.curve": "model.platform",
    "model.degradation": "model.platform",
    "model.phases": "model.application",
    "model.points": "model.platform",
    "model.units": "model.parse_units",
    "model.usage": "model.files",
    "mpi.file": "live.mpi.file",
    "mpi.hints": "live.mpi.job_hints",
    "mpi.jobs": "live.mpi.job_hints",
    "mpi.library": "live.mpi.job_hints",
    "mpi.part": "live.mpi.ranks",
    "mpi.ranks": "live.mpi.ranks",
    "mpi.rounds": "live.mpi.ranks",
    "papers.beyond.campaigns": "papers.beyond",
    "papers.beyond.means": "papers.beyond",
    "papers.buffers.rows": "papers.buffers.experiments",
    "papers.buffers.theorem_claims": "papers.buffers.claims",
    "papers.calciom.crowds": "papers.calciom.claims",
    "papers.calciom.scenarios": "papers.calciom.experiments",
    "papers.calciom.stores": "papers.calciom.live",
    "papers.claims": "papers.verdicts",
    "papers.dash.batch_claims": "papers.dash.claims",
    "papers.dash.batch_experiments": "papers.dash.experiments",
    "papers.dash.batch_figures": "papers.dash.figures",
    "papers.dash.chain_campaigns": "papers.dash.experiments",
    "papers.dash.chain_claims": "papers.dash.claims",
    "papers.dash.chain_figures": "papers.dash.figures",
    "papers.dash.theory_claims": "papers.dash.claims",
    "papers.distributed.rows": "papers.distributed.experiments",
    "papers.results": "papers.reproducing",
    "papers.revisiting.apex_claims": "papers.revisiting.claims",
    "papers.revisiting.campaigns": "papers.revisiting.experiments",
    "papers.revisiting.synthetic_claims": "papers.revisiting.claims",
    "papers.revisiting.table2": "papers.revisiting.experiments",
    "planning.buffers": "buffers",
    "planning.buffers.advice": "buffers.advice",
    "planning.buffers.assembly": "buffers.solve",
    "planning.buffers.backlog": "buffers.lower_bounds",
    "planning.buffers.bound": "buffers.lower_bounds",
    "planning.buffers.busy": "buffers.periods",
    "planning.buffers.checking": "buffers.check",
    "planning.buffers.contents": "buffers.sizing",
    "planning.buffers.demand": "buffers.timeline",
    "planning.buffers.directives": "buffers.plan",
    "planning.buffers.dominant": "buffers.theorems",
    "planning.buffers.dynamic": "buffers.program",
    "planning.buffers.flow": "buffers.timeline",
    "planning.buffers.hardness": "buffers.theorems",
    "planning.buffers.obstacles": "buffers.sizing",
    "planning.buffers.plan": "buffers.plan",
    "planning.buffers.ranges": "numeric.arrays",
    "planning.buffers.replay": "buffers.plan",
    "planning.buffers.search": "buffers.advice",
    "planning.buffers.single": "buffers.theorems",
    "planning.buffers.sizing": "buffers.sizing",
    "planning.buffers.solver": "buffers.solve",
    "planning.buffers.static": "buffers.program",
    "planning.buffers.strands": "buffers.periods",
    "planning.buffers.transfers": "buffers.program",
    "planning.lpt": "planning.packs",
    "planning.machine": "planning.jobs",
    "planning.outcome": "planning.schedule",
    "planning.placement.characteristics": "planning.placement.allocation",
    "planning.placement.mckp": "planning.placement.allocation",
    "planning.placement.oracle": "planning.placement.heuristics",
    "planning.placement.placed": "planning.placement.choice",
    "planning.placement.placing": "planning.placement.heuristics",
    "planning.placement.running": "api.runs",
    "planning.placement.site": "planning.placement.planner",
    "planning.placement.tcpu": "planning.placement.allocation",
    "planning.progress": "planning.jobs",
    "planning.reservations": "planning.list_scheduling",
    "planning.world": "planning.jobs",
    "policies.compiled": "numeric.compiled",
    "policies.guard": "policies.policy",
    "policies.merging": "numeric.inlining",
    "policies.naming": "policies.registry",
    "policies.nominal": "policies.order",
    "policies.plan": "policies.order",
    "policies.roughly": "policies.balance",
    "policies.static": "policies.static_orders",
    "policies.steps": "numeric.compiled",
    "report.deltas": "report.plot",
    "report.filling": "report.plot",
    "report.findings": "report.figures",
    "report.occupancy": "report.plot",
    "report.payload": "report.html",
    "report.units": "report.format_units",
    "testbed.commands": "testbed.system",
    "testbed.kernel": "testbed.system",
    "testbed.live": "testbed.live_runs",
    "testbed.state": "testbed.system",
    "theory.bicolored": "theory.chains",
    "theory.concurrency": "theory.interference",
    "theory.delta": "theory.interference",
    "theory.demand": "theory.link_demand",
    "theory.due_dates": "theory.link_demand",
    "theory.efficiency": "theory.bounds",
    "theory.min_yield": "theory.bounds",
    "theory.orders": "theory.priority_orders",
    "theory.round_robin": "theory.chains",
    "workloads.apex_classes": "workloads.apex",
    "workloads.batch": "workloads.batches",
    "workloads.curve_classes": "workloads.curves",
    "workloads.curve_families": "workloads.curves",
    "workloads.demo": "workloads.synthetic",
    "workloads.jacobi": "workloads.bicolored",
    "workloads.laws": "workloads.parameters",
    "workloads.load": "model.workload",
    "workloads.mira": "workloads.batches",
    "workloads.profiles": "workloads.curves",
    "workloads.swf_jobs": "workloads.swf",
    "workloads.swf_stream": "workloads.swf",
    "workloads.uniform": "workloads.batches",
}
"""Old module to new module, both without `penstock.`."""
NAMES: Final[dict[str, dict[str, str]]] = {
    "campaign.slurm_settings": {"Settings": "SlurmSettings"},
    "cli.asking": {"asked": "query_coordinator"},
    "client.address": {"find": "find_address", "parse": "parse_address"},
    "client.control": {"ask": "ask_coordinator"},
    "client.doubt": {"Doubt": "OutageTimer"},
    "client.files": {"read": "read_from", "writer": "writer_to"},
    "client.member": {"State": "Membership"},
    "coordinator.active": {"Active": "PendingOperations"},
    "coordinator.application": {"Application": "Client", "Lower": "Reduction", "Operation": "PendingOperation"},
    "coordinator.expected": {"Expected": "PlannedOrder"},
    "coordinator.instructions": {"Forget": "ForgetInstruction", "Grant": "GrantInstruction"},
    "coordinator.journal": {"Entry": "JournalEntry"},
    "coordinator.recording": {"Passage": "CompletedOperation"},
    "coordinator.roster": {"Roster": "Registry"},
    "coordinator.settings": {"Settings": "ServerSettings"},
    "engine.books": {
        "compiled_end_operation": "compiled_book_operation",
        "compiled_end_work": "compiled_book_work",
        "end_operation": "book_operation",
        "end_work": "book_work",
    },
    "engine.fill": {"joined": "joined_fill"},
    "mpi.part": {"Part": "BufferPart"},
    "papers.beyond.campaigns": {"Scale": "BeyondScale"},
    "papers.buffers.rows": {"Rows": "BufferRows"},
    "papers.buffers.theorem_claims": {"EQUAL": "numeric.tolerances.CLAIM_CLOSE"},
    "papers.calciom.scenarios": {"Scale": "CalciomScale"},
    "papers.calciom.stores": {"ROUNDS": "BED_ROUNDS", "SECONDS": "BED_SECONDS"},
    "papers.claims": {"Check": "ClaimCheck"},
    "papers.dash.batch_experiments": {"Scale": "DashScale", "Trial": "BatchTrial"},
    "papers.dash.batch_figures": {"FIGURES": "BATCH_FIGURES"},
    "papers.dash.chain_figures": {"FIGURES": "CHAIN_FIGURES"},
    "papers.dash.theory_claims": {
        "CLOSE": "numeric.tolerances.CLAIM_SAME",
        "figure_v_3": "papers.dash.figures.figure_v_3",
    },
    "papers.revisiting.campaigns": {"Scale": "RevisitingScale"},
    "papers.revisiting.table2": {
        "Entry": "RatioEntry",
        "claim": "papers.revisiting.claims.r12",
        "draw": "papers.revisiting.figures.figure_table_2",
        "measure": "competitive_ratios",
    },
    "planning.buffers.checking": {"Check": "PlanCheck", "check": "check_plan"},
    "planning.buffers.demand": {"Demand": "FullSpeedTimeline", "demand": "full_speed_timeline"},
    "planning.buffers.plan": {"Plan": "BufferPlan"},
    "planning.buffers.replay": {"replay": "execute_plan"},
    "planning.buffers.search": {"Found": "BufferTrial", "Strategy": "BufferStrategy"},
    "planning.buffers.solver": {"solve": "solve_program"},
    "planning.buffers.strands": {"Parts": "StrandParts", "Steps": "StrandSteps"},
    "planning.placement.placed": {"Placed": "ChosenPlacement", "placed": "choose_placement"},
    "planning.placement.placing": {
        "PLACINGS": "PLACEMENT_RULES",
        "Placing": "PlacementRule",
        "find_placing": "find_placement_rule",
    },
    "planning.placement.running": {"Given": "PlacementLike"},
    "policies.compiled": {
        "helper": "inlined",
        "merged": "inlinable",
        "part": "inlined_kernel",
        "unowned": "without_refcount",
    },
    "policies.merging": {
        "MergedCompiler": "InlinedCompiler",
        "MergedLibrary": "InlinedLibrary",
        "MergedLowering": "InlinedLowering",
    },
    "policies.plan": {"Plan": "ServiceOrder"},
    "testbed.state": {
        "State": "BedRecord",
        "forget": "forget_record",
        "path_of": "path_of_record",
        "read": "read_record",
        "read_all": "read_records",
        "write": "write_record",
    },
    "theory.bicolored": {"Schedule": "ChainSchedule"},
    "theory.demand": {"Demand": "LinkDemand", "demand": "link_demand", "demands": "link_demands"},
    "theory.efficiency": {"PRECISION": "EFFICIENCY_PRECISION"},
    "theory.min_yield": {"PRECISION": "YIELD_PRECISION"},
    "theory.orders": {"Chains": "PriorityChains"},
    "workloads.apex_classes": {"Machine": "ApexMachine"},
    "workloads.curve_families": {"Measured": "MeasuredCurves"},
    "workloads.swf_jobs": {"Jobs": "SwfJobs"},
}
"""Old names to new names, by old module. A new name with dots is in another module than the rest of the old one."""


def new_place(module: str, name: str) -> str:
    """The module and name, without ``penstock.``, under which a `name` of the old `module` is found now."""
    now: str = NAMES.get(module, {}).get(name, name)
    return now if "." in now else f"{MODULES[module]}.{now}"


class OldModule(ModuleType):
    """Stands for a module of 0.1: every name is looked up in the module that has it now.

    Args:
        old: The old name, without ``penstock.``.
    """

    def __init__(self, old: str) -> None:
        super().__init__(f"penstock.{old}", f"Now `penstock.{MODULES[old]}`.")
        self.__path__: list[str] = []
        self._old = old

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        module, _, now = new_place(self._old, name).rpartition(".")
        return getattr(import_module(f"penstock.{module}"), now)


class OldModules(MetaPathFinder, Loader):
    """Finds the modules of 0.1 by their old names, after everything else has failed to."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        """The specification of the old module `fullname`, if there was one of this name.

        `path` and `target` are not used.
        """
        package, _, old = fullname.partition(".")
        return ModuleSpec(fullname, self, is_package=True) if package == "penstock" and old in MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A stand-in for the old module that `spec` names, and the warning."""
        old = spec.name.removeprefix("penstock.")
        warnings.warn(
            f"{spec.name} is now penstock.{MODULES[old]}; the old name goes with 0.3", DeprecationWarning, stacklevel=2
        )
        return OldModule(old)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute: `module` looks its names up."""


def old_names(module: str, **names: str) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that finds the old names of classes and functions under their new ones, with a warning."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        text = f"{module}.{name} is now {module}.{names[name]}; the old name goes with 0.3"
        warnings.warn(text, DeprecationWarning, stacklevel=3)
        return getattr(sys.modules[module], names[name])

    return find


def install() -> None:
    """Let old names be found; once."""
    if not any(isinstance(finder, OldModules) for finder in sys.meta_path):
        sys.meta_path.append(OldModules())
