"""Where an operation can be paused: at the end of a round (003 §III.C).

An operation of `volume` bytes in `rounds` equal rounds can be paused where k·volume/rounds bytes have moved. Engine and
policies both count so; 0 rounds are infinitely many.
"""

from __future__ import annotations

import numpy as np

from penstock.numeric.compiled import step
from penstock.numeric.tolerances import ROUND_END, ROUNDS_KNOWN_TO
from penstock.policies.view import View


@step
def inside_round(remaining: float, volume: float, rounds: float) -> bool:
    """Whether an operation with so much left is inside a round."""
    done = _rounds_done(remaining, volume, rounds)
    return bool(abs(done - np.rint(done)) > _nearly(rounds))


@step
def left_after_round(remaining: float, volume: float, rounds: float) -> float:
    """What is left of an operation when its present round is over; one that is over to the last bits is the present one."""
    done = np.ceil(_rounds_done(remaining, volume, rounds) - _nearly(rounds))
    return float(volume * (1.0 - done / rounds))


@step
def left_when_paused(view: View, i: int) -> float:
    """Bytes left of the operation when it pauses, if it is told to now: all that remain, unless it is inside a round."""
    remaining = view.remaining[i]
    if view.rate[i] <= 0.0 or view.rounds[i] <= 0.0 or not inside_round(remaining, view.volume[i], view.rounds[i]):
        return float(remaining)
    return left_after_round(remaining, view.volume[i], view.rounds[i])


@step
def _rounds_done(remaining: float, volume: float, rounds: float) -> float:
    return float((1.0 - remaining / volume) * rounds)


@step
def _nearly(rounds: float) -> float:
    """The part of a round within which a transfer counts as between two rounds."""
    return float(ROUND_END + ROUNDS_KNOWN_TO * rounds)
