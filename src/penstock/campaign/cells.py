"""What a campaign computes: cells, and tasks of cells that share a workload.

From lists of parameters, seeds and policies to the campaign that crosses them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

from penstock.campaign.own_policies import OwnPolicy, own_policy_text
from penstock.campaign.sources import normal_parameters, source
from penstock.engine.information import INFORMATION, TRUE
from penstock.model import InputError, Workload
from penstock.model.errors import expected, short
from penstock.planning.placement.choice import ChosenPlacement, choose_placement, heuristic_of
from penstock.policies.policy import SHARING, Policy
from penstock.policies.registry import PolicyLike, expand, find, is_built_in
from penstock.workloads.parameters import require_seed

MOST_CELLS: Final = 10_000_000
"""More would not fit into memory."""


BOUND: Final = "bound"
"""Stands in place of a policy for the bounds of `penstock.theory`."""


@dataclass(frozen=True)
class Cell:
    """One policy on the workloads that a source makes of the parameters and the seed.

    Args:
        kind: the kind of the source, as ``penstock generate`` names it, or ``file``.
        parameters: those of the source by name. They are kept as it understands them, defaults included.
        seed: a whole number, 0 or more.
        policy: the name of a policy, or BOUND for upper bounds for any schedule.
        allocation: on I/O resources, how many for each application, by name; by default as `simulate` does.
        placement: likewise, which ones.
        own: the text of a policy that no worker can find by its name, as it was defined in a notebook or a script.
        information: what the policy is told of what lies ahead, as for `penstock.Run`; None for the truth.

    Raises:
        InputError: for a wrong parameter, seed, allocation, placement or information.

    Example:
        >>> Cell("demo", {}, seed=1, policy="fcfs").command()
        'penstock generate demo --seed=1 -o w.json && penstock simulate w.json --policy fcfs'
    """

    kind: str
    parameters: Mapping[str, Any] = field(hash=False)
    seed: int
    policy: str
    allocation: str | None = None
    placement: str | None = None
    own: OwnPolicy | None = None
    information: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "information", _normal_information(self.information))
        object.__setattr__(self, "parameters", normal_parameters(self.kind, self.parameters))
        object.__setattr__(self, "seed", require_seed(self.seed, "seed"))
        if self.placing:
            heuristic_of(self.allocation, self.placement)

    @property
    def placing(self) -> dict[str, str]:
        """The heuristics that are asked for, by their options."""
        given = {"allocation": self.allocation, "placement": self.placement}
        return {name: value for name, value in given.items() if value is not None}

    @cached_property
    def key(self) -> str:
        """The same for the same cell in every campaign: 16 digits."""
        placing = [self.placing] if self.placing else []
        own = [{"policy_text": self.own.digest}] if self.own else []
        told = [{"information": self.information}] if self.information else []
        return digest([self.kind, self.parameters, self.seed, self.policy, *placing, *own, *told])

    def find_policy(self) -> Policy | None:
        """The policy; None for BOUND. Raises InputError where it cannot be found or loaded."""
        if self.policy == BOUND:
            return None
        return self.own.load() if self.own else find(self.policy)

    def command(self, window: int = 0) -> str:
        """The shell command that computes the cell's row of that window by itself.

        A policy of a notebook is a file in the campaign's folder; its command works there.
        """
        kind = source(self.kind)
        make, file = kind.recipe(kind.parse(self.parameters), self.seed, window)
        policy = self.own.argument if self.own else self.policy
        words = ["bound", file] if self.policy == BOUND else ["simulate", file, "--policy", policy]
        given = {**self.placing, **({"information": self.information} if self.information else {})}
        options = [word for name, value in given.items() for word in (f"--{name}", value)]
        compute = shlex.join(["penstock", *words, *options])
        return f"{make} && {compute}" if make else compute


@dataclass(frozen=True)
class Task:
    """The cells of one workload, `cells`: it is made once for all of their policies."""

    cells: tuple[Cell, ...]

    @cached_property
    def key(self) -> str:
        """Names the task's file of rows: 16 digits."""
        return digest([cell.key for cell in self.cells])

    def workloads(self) -> Sequence[Workload]:
        """The workloads, one per window."""
        cell = self.cells[0]
        kind = source(cell.kind)
        return kind.make(kind.parse(cell.parameters), cell.seed)

    def placement(self, workload: Workload) -> ChosenPlacement | None:
        """Which I/O resources each application of the `workload` uses; None on one link."""
        return choose_placement(workload, self.cells[0].allocation, self.cells[0].placement)


@dataclass(frozen=True)
class Campaign:
    """A campaign: what is to be computed.

    Args:
        name: its name.
        cells: what is computed, each cell once; their order is the order of the results.

    Raises:
        InputError: for no or too many cells, a cell that stands twice, and a policy that cannot be found.

    Example:
        >>> campaign = Campaign("demo", [Cell("demo", {}, seed, "fcfs") for seed in (1, 2)])
        >>> len(campaign.tasks), campaign.policies
        (2, ('fcfs',))
    """

    name: str
    cells: tuple[Cell, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", tuple(self.cells))
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError("campaign", f"{short(self.name)} is no name; expected a text")
        if not self.cells:
            raise InputError("cells", "there is none; expected one or more")
        require_size(len(self.cells))
        seen: set[str] = set()
        for index, cell in enumerate(self.cells):
            if cell.key in seen:
                raise InputError(f"cells[{index}]", f"stands twice ({cell.command()}); expected each cell once")
            seen.add(cell.key)
        self._check_policies()

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies, each once."""
        return tuple(dict.fromkeys(cell.policy for cell in self.cells))

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The cells by workload, in the order in which the workloads first appear."""
        groups: dict[str, list[Cell]] = {}
        for cell in self.cells:
            groups.setdefault(canonical([cell.kind, cell.parameters, cell.seed, cell.placing]), []).append(cell)
        return tuple(Task(tuple(cells)) for cells in groups.values())

    def definition(self) -> dict[str, Any]:
        """The campaign as its folder records it.

        The grids are for readers; `digest` tells any two campaigns apart, and `policy_files` an own policy that has changed.
        """
        grids: dict[str, dict[str, Any]] = {}
        for task in self.tasks:
            cell = task.cells[0]
            grid = {
                "workload": cell.kind,
                "parameters": dict(cell.parameters),
                "policies": list(dict.fromkeys(one.policy for one in task.cells)),
                **cell.placing,
                **_told([one.information for one in task.cells]),
            }
            grids.setdefault(canonical(grid), {**grid, "seeds": []})["seeds"].append(cell.seed)
        return {
            "campaign": self.name,
            "cells": len(self.cells),
            "digest": digest([cell.key for cell in self.cells]),
            "policy_files": self._policy_digests(),
            "grids": [{**grid, "seeds": _short_seeds(grid["seeds"])} for grid in grids.values()],
        }

    @property
    def own_policies(self) -> tuple[OwnPolicy, ...]:
        """The policies that are given as texts, each once."""
        return tuple(dict.fromkeys(cell.own for cell in self.cells if cell.own))

    def find_policies(self) -> list[Policy]:
        """The policies as objects, each once and without BOUND."""
        first = {cell.policy: cell for cell in reversed(self.cells)}
        found = (first[name].find_policy() for name in self.policies)
        return [policy for policy in found if policy is not None]

    def _policy_digests(self) -> dict[str, str]:
        """Digests of the files and the texts of users' policies, by the policies' names."""
        own = {policy.name: policy.digest for policy in self.own_policies}
        files = {policy: stamp for policy in self.policies if (stamp := policy_file_digest(policy))}
        return {**files, **own}

    def _check_policies(self) -> None:
        self.find_policies()
        versions = Counter(policy.name for policy in self.own_policies)
        for name, count in versions.items():
            if count > 1:
                raise InputError(f"policy {name}", "has two different texts; expected another name for one of them")


def _normal_information(information: str | None) -> str | None:
    """None for the truth; InputError for what is none of `INFORMATION`."""
    if information is not None and information not in INFORMATION:
        raise InputError("information", f"{short(information)} is unknown; {expected(str(information), INFORMATION)}")
    return None if information == TRUE else information


def _told(given: Sequence[str | None]) -> dict[str, list[str]]:
    """The information of cells, as a folder records it; nothing if all have the truth."""
    found = list(dict.fromkeys(one or TRUE for one in given))
    return {} if found == [TRUE] else {"information": found}


def require_policy(name: str) -> None:
    """Refuse a name that is neither that of a policy nor BOUND."""
    if name != BOUND:
        find(name)


def _short_seeds(seeds: list[int]) -> list[int] | dict[str, int]:
    """Seeds that follow one another as a campaign file writes them."""
    follow = seeds == list(range(seeds[0], seeds[0] + len(seeds)))
    return {"first": seeds[0], "count": len(seeds)} if follow else seeds


def require_size(cells: int) -> None:
    """Refuse a campaign of so many `cells` that it would not fit into memory."""
    if cells > MOST_CELLS:
        raise InputError("cells", f"{cells:,} are too many; expected at most {MOST_CELLS:,}, or several campaigns")


def canonical(document: object) -> str:
    """The one JSON text of the `document`: keys sorted, no spaces."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(document: object) -> str:
    """The first 16 digits of the SHA-256 of the document's canonical JSON."""
    return hashlib.sha256(canonical(document).encode()).hexdigest()[:16]


def policy_file_digest(policy: str) -> str | None:
    """The digest of the file of a `policy` ``./file.py:name``; None for others and where it cannot be read."""
    file = policy.partition(":")[0]
    if not file.endswith(".py"):
        return None
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
    except OSError:
        return None


T = TypeVar("T")


def grid(
    name: str,
    kind: str,
    parameters: Mapping[str, Any],
    seeds: Sequence[int] = (0,),
    policies: Iterable[PolicyLike] | None = None,
    *,
    allocation: str | None = None,
    placement: str | None = None,
    information: str | Sequence[str] = TRUE,
) -> Campaign:
    """The campaign of all combinations of the parameters given as lists, the seeds and the policies.

    Parameters vary slowest, the last one first; policies fastest.

    Args:
        name: the name of the campaign.
        kind: what makes the workloads: a kind of ``penstock generate``, or ``file``.
        parameters: those of the kind by name; a list stands for several values.
        seeds: whole numbers, 0 or more.
        policies: policies or families as for `penstock.compare`; by default those that share the link. The source of a
            function and of a `Policy` of a notebook or a script goes to the workers.
        allocation: on I/O resources, how many for each application, as for `penstock.place`.
        placement: likewise, which ones.
        information: what policies are told of what lies ahead, as for `penstock.Run`; a list stands for several.

    Returns:
        The campaign.

    Raises:
        InputError: for an unknown or wrong name or value, one that stands twice, and too many cells.

    Example:
        >>> campaign = grid("pressure", "synthetic", {"pressure": [0.2, 0.8]}, range(3), ["fcfs", "fair-share"])
        >>> len(campaign.cells)
        12
    """
    chosen = _policies([SHARING] if policies is None else list(policies))
    axes = [_axis(key, value) for key, value in parameters.items()]
    told = _once([_normal_information(one) for one in _listed(information)], "information")
    require_size(math.prod(map(len, axes)) * len(seeds) * len(chosen) * len(told))
    seed_list = _once([require_seed(seed, f"seeds[{index}]") for index, seed in enumerate(seeds)], "seeds")
    cells = []
    for point in itertools.product(*axes):
        values = normal_parameters(kind, dict(zip(parameters, point, strict=True)))
        cells += [
            Cell(kind, values, seed, name, allocation, placement, own, one)
            for seed in seed_list
            for name, own in chosen.items()
            for one in (told if name != BOUND else (None,))
        ]
    return Campaign(name, tuple(cells))


def with_policies(campaign: Campaign, policies: Iterable[PolicyLike]) -> Campaign:
    """The workloads of a campaign under other policies.

    Args:
        campaign: says which workloads.
        policies: policies or families, as for `grid`. Those that the campaign has are left out.

    Raises:
        InputError: for a policy that cannot be found, or if the campaign has all of them.
    """
    chosen = {name: own for name, own in _policies(list(policies)).items() if name not in campaign.policies}
    cells = [
        replace(task.cells[0], policy=name, own=own, information=one)
        for task in campaign.tasks
        for name, own in chosen.items()
        for one in dict.fromkeys(cell.information if name != BOUND else None for cell in task.cells)
    ]
    return Campaign(f"{campaign.name}-{digest(list(chosen))[:6]}", tuple(cells))


def _listed(information: str | Sequence[str]) -> Sequence[str]:
    return [information] if isinstance(information, str) else information


def _axis(name: str, value: Any) -> list[Any]:
    """The values that a parameter takes."""
    return _once(list(value), f"parameters.{name}") if isinstance(value, (list, tuple)) else [value]


def _policies(given: Sequence[object]) -> dict[str, OwnPolicy | None]:
    """The policies by name, in their order, with the texts of those that are given as functions or objects."""
    found: list[tuple[str, OwnPolicy | None]] = []
    for index, one in enumerate(given):
        try:
            found += _members(one)
        except InputError as error:
            raise InputError(f"policies[{index}]", str(error)) from None
    _once([name for name, _ in found], "policies")
    return dict(found)


def _members(given: object) -> list[tuple[str, OwnPolicy | None]]:
    """The policy, or those of the family, that an entry of the list stands for."""
    if isinstance(given, str):
        for name in expand([given]):
            require_policy(name)
        return [(name, None) for name in expand([given])]
    if isinstance(given, Policy) and is_built_in(given):
        return [(given.name, None)]
    if isinstance(given, Policy) or callable(given):
        own = own_policy_text(given)
        return [(own.name, own)]
    raise InputError("", f"{short(given)} is no name; expected one that `penstock policies` lists")


def _once(values: list[T], place: str) -> list[T]:
    """The values if there are some and none stands twice."""
    if not values:
        raise InputError(place, "is empty; expected one or more values")
    seen: set[str] = set()
    for value in values:
        if repr(value) in seen:
            raise InputError(place, f"{short(value)} stands twice; expected each value once")
        seen.add(repr(value))
    return values
