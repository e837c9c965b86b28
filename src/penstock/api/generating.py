"""`penstock.generate`: make a workload of one of the kinds that ``penstock generate`` lists."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, overload

from penstock.model import InputError, Workload
from penstock.model.errors import expected, short
from penstock.workloads.generators import GENERATORS, Generator
from penstock.workloads.parameters import parameters_of, parse, require_seed


@overload
def generate(
    kind: Literal["apex"], *, seed: int = ..., say: Callable[[str], None] | None = ..., **parameters: Any
) -> tuple[Workload, ...]: ...
@overload
def generate(kind: str, *, seed: int = ..., say: Callable[[str], None] | None = ..., **parameters: Any) -> Workload: ...
def generate(
    kind: str, *, seed: int = 1, say: Callable[[str], None] | None = None, **parameters: Any
) -> Workload | tuple[Workload, ...]:
    """Make a workload of a kind: what ``penstock generate KIND`` writes to a file.

    Args:
        kind: ``demo``, ``synthetic``, ``apex``, ``bicolored``, ``jacobi``, ``packs``, ``uniform``, ``mira``,
            ``distributed``, ``lanl`` or ``swf``.
        seed: the same seed gives the same workload; 0 or more. ``jacobi`` draws nothing, so the seed has no effect there.
        say: called with each line that the generator reports about the workload, such as its I/O load.
        **parameters: those of the kind, by the words of the command's options with ``_`` for ``-``:
            ``generate("mira", load=0.4, bandwidth="240 GB/s")``. Times are in seconds and bandwidths in bytes/s, or texts
            with a unit. `penstock.workloads` lists them; the trace of ``swf`` is its parameter ``path``.

    Returns:
        The workload; for ``apex`` a tuple of workloads, the longest window first.

    Raises:
        InputError: for an unknown kind or parameter, one that is missing, and a value that is out of range.

    Example:
        >>> import penstock
        >>> workload = penstock.generate("synthetic", pressure=0.8, applications=12, horizon="2 h", seed=3)
        >>> len(workload.applications)
        12
        >>> penstock.generate("synthetic", presure=0.8)
        Traceback (most recent call last):
        ...
        penstock.model.errors.InputError: presure: unknown; expected one of pressure, ...; did you mean pressure?
    """
    if not isinstance(kind, str) or kind not in GENERATORS:
        raise InputError("kind", f"{short(kind)} is unknown; {expected(str(kind), GENERATORS)}")
    generator = GENERATORS[kind]
    made = generator.make(parsed(generator, parameters), require_seed(seed, "seed"))
    if say is not None:
        for line in made.notes:  # computed here, only for a caller who reads them
            say(line)
    return made.workloads if generator.several else made.workloads[0]


def parsed(generator: Generator, given: Mapping[str, Any]) -> Any:
    """The generator's parameters. Each may be given by any word of its option, and the name of a file as a path."""
    words = {
        word.replace("-", "_"): each.name
        for each in parameters_of(generator.parameters)
        for word in (each.name, *each.aliases)
    }
    values: dict[str, Any] = {}
    for word, value in given.items():
        name = words.get(word, word)  # an unknown one is refused below, with the known ones
        if name in values:
            raise InputError(word, f"{name} is given twice; expected it once")
        values[name] = os.fspath(value) if isinstance(value, os.PathLike) else value
    return parse(generator.parameters, values)
