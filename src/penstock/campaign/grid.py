"""From lists of parameters, seeds and policies to the campaign that crosses them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from penstock.campaign.cells import Campaign, Cell, require_policy, require_seed, require_size
from penstock.campaign.sources import normal_parameters
from penstock.model import InputError
from penstock.model.errors import short

T = TypeVar("T")


def grid(
    name: str,
    kind: str,
    parameters: Mapping[str, Any],
    seeds: Sequence[int] = (0,),
    policies: Iterable[str] | None = None,
    *,
    allocation: str | None = None,
    placement: str | None = None,
) -> Campaign:
    """The campaign of all combinations of the parameters given as lists, the seeds and the policies.

    Policies are named as for `penstock compare`, families included; by default those that share the link. `allocation` and
    `placement` name who uses which I/O resources, as for `penstock place`.

    Parameters vary slowest, the last one first; policies fastest.
    """
    from penstock.policies.policy import SHARING

    names = _policies([SHARING] if policies is None else list(policies))
    axes = [_axis(key, value) for key, value in parameters.items()]
    require_size(math.prod(map(len, axes)) * len(seeds) * len(names))
    seed_list = _once([require_seed(seed, f"seeds[{index}]") for index, seed in enumerate(seeds)], "seeds")
    cells = []
    for point in itertools.product(*axes):
        values = normal_parameters(kind, dict(zip(parameters, point, strict=True)))
        cells += [Cell(kind, values, seed, policy, allocation, placement) for seed in seed_list for policy in names]
    return Campaign(name, tuple(cells))


def _axis(name: str, value: Any) -> list[Any]:
    """The values that a parameter takes."""
    return _once(list(value), f"parameters.{name}") if isinstance(value, (list, tuple)) else [value]


def _policies(names: Sequence[object]) -> list[str]:
    from penstock.policies.naming import expand

    texts: list[str] = []
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise InputError(f"policies[{index}]", f"{short(name)} is no name; expected one that `penstock policies` lists")
        try:
            for member in expand([name]):
                require_policy(member)
        except InputError as error:
            raise InputError(f"policies[{index}]", str(error)) from None
        texts += expand([name])
    return _once(texts, "policies")


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
