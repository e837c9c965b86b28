"""What a link loses when several transfers share it: k of them have d(k)·B in all (001 §I.A.4; 003 §II)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.model.errors import InputError, short
from penstock.model.points import as_count, by_count, document


@dataclass(frozen=True)
class Degradation:
    """The part of the bandwidth that is left, above 0 and at most 1, at measured numbers of concurrent transfers, ascending.

    One transfer has all of it. Between two measured numbers it is linear, beyond the last one constant.
    """

    counts: tuple[int, ...]
    parts: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.parts):
            raise InputError("", f"{len(self.counts)} counts for {len(self.parts)} parts; expected one for each")
        if any(later <= earlier for earlier, later in zip((1, *self.counts), self.counts, strict=False)):
            raise InputError("", f"the counts {short(list(self.counts))} do not ascend from 2 on; expected each count once")
        for count, part in zip(self.counts, self.parts, strict=True):
            if not isinstance(part, int | float) or isinstance(part, bool) or not 0.0 < part <= 1.0:
                raise InputError(str(count), f"{part!r} is no part of the bandwidth; expected a number above 0, at most 1")
        object.__setattr__(self, "parts", tuple(float(part) for part in self.parts))

    @classmethod
    def of(cls, points: object) -> Degradation:
        """From a mapping of counts to parts: ``Degradation.of({4: 0.84})`` where 4 transfers lose 16 %."""
        if isinstance(points, Degradation):
            return points
        refusal = 'is no degradation; expected {"2": part, "4": part, …}'
        return cls(*by_count(points, refusal, lambda key: as_count(key, "transfers")))

    def document(self) -> dict[str, float]:
        """The degradation as a file has it."""
        return document(self.counts, self.parts)

    def upto(self, transfers: int) -> NDArray[np.float64]:
        """d(1), …, d(k): entry k − 1 is the part that is left for k transfers together."""
        return np.interp(np.arange(1, transfers + 1), (1, *self.counts), (1.0, *self.parts))
