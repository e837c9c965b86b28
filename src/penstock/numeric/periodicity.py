"""Find the dominant period of the I/O of a job, with a confidence, from the dates and volumes of its operations.

The search has four steps.

1. *Bins.* The search puts the bytes into bins of time, and lowers the largest bins, so that one large transfer does not hide
   the rest.
2. *A first lag.* The search computes the autocorrelation ρ at several scales. At each scale bins are so wide that periods
   of 16 to 32 bins are looked for. It smooths the bytes over about an eighth of a period first, so that phases that come
   a little early or late still match. A peak of ρ counts if ρ is much lower before it and if it is significant (Fisher's
   transform of ρ, with Bartlett's number of independent bins). Of peaks of similar height (`AS_HIGH`) the search takes the
   one at the shortest lag. Without a peak it takes the strongest significant line of the spectrum: phases that follow a
   clock, but are each early or late, have such a line.
3. *The period.* The lag may be a multiple of the period, because several periods together look more regular than one. So the
   search divides the lag by the smallest number from 1 to 8 at whose frequency the spectrum has about its most power. If the
   spectrum has a sharp line there, the line gives the period. Else the peaks of ρ at one to four times the lag give it.
4. *The confidence.* It is the mean of three numbers from 0 to 1: ρ at the period; ρ at twice the period, which shows whether
   the pattern continues; and how much of the power around the frequency of the period lies at this frequency. It is about 1
   for equal phases at equal distances. The search reports no period if the operations span fewer than `FEWEST` periods, or
   if the confidence is below `LEAST_CONFIDENCE`.

The idea of using spectrum and autocorrelation together is that of FTIO (Tarraf et al., IPDPS 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

FEWEST: Final = 4
"""The least number of periods that the operations must span."""
MOST_BINS: Final = 1 << 13
SIGNIFICANT: Final = 4.0
"""The least height of a peak of the autocorrelation, in standard deviations."""
LEAST_PEAK: Final = 0.3
LEAST_CONFIDENCE: Final = 0.25
AS_HIGH: Final = 0.75
"""A peak counts as similar to the highest one if it has at least this part of its height."""
LINE: Final = 16.0
"""A line of the spectrum must have this many times the mean power around it. Noise does so at one frequency in e^16."""
SHORTEST: Final = 16
"""At each scale, the shortest period to look for has this many bins, and the longest twice as many."""
SHARP: Final = 0.5
"""A line is sharp if at least this part of the power around it lies within one Fourier frequency of it."""
MOST: Final = 1e100
"""The search needs dates and bytes below this, so that sums of squares do not overflow."""


@dataclass(frozen=True)
class Period:
    """A period that was found.

    Attributes:
        seconds: its length.
        confidence: from 0 to 1.
        cycles: how many periods the bins in use span.
    """

    seconds: float
    confidence: float
    cycles: float


def dominant_period(starts: ArrayLike, volumes: ArrayLike, ends: ArrayLike | None = None) -> Period | None:
    """Find the dominant period of operations or phases; None if there is none. It takes less than 1 ms for 64 phases.

    Args:
        starts: the dates in seconds at which they start, in any order.
        volumes: the bytes of each.
        ends: the dates in seconds at which they end; by default the starts.

    Example:
        >>> starts = 100.0 * np.arange(12) + np.array([0, 5, -4, 3, 0, -5, 2, 4, -3, 1, 0, 5])
        >>> found = dominant_period(starts, np.full(12, 1e9), starts + 20.0)
        >>> round(found.seconds), found.confidence > 0.7
        (100, True)
    """
    begins, sizes = np.asarray(starts, np.float64), np.asarray(volumes, np.float64)
    finishes = begins if ends is None else np.maximum(np.asarray(ends, np.float64), begins)
    if len(begins) < FEWEST:
        return None
    first, last = float(begins.min()), float(finishes.max())
    count = int(min(MOST_BINS, max(256, 32 * len(begins))))
    if not last > first:
        return None
    width = (last - first) / count
    return period_of_bins(binned(begins - first, finishes - first, sizes, width, count), width)


def period_of_latest(operations: Floats) -> tuple[Period | None, int]:
    """Find the dominant period of the latest operations of a running application, and the operations that begin in a period.

    Without a period the number of operations is 1.

    Args:
        operations: one row for each, in the order of their ends: the date at which it was posted and the date at which it
            ended, in seconds, and its bytes.

    Example:
        >>> posted = np.add.outer(40.0 * np.arange(9), [0.0, 2.0, 4.0]).ravel()
        >>> period, count = period_of_latest(np.column_stack((posted, posted + 1.0, np.full(27, 5e9))))
        >>> round(period.seconds), count
        (40, 3)
    """
    starts, ends, volumes = operations.T
    period = dominant_period(starts, volumes, ends) if np.all(np.abs(operations) < MOST) else None
    span = float(starts[-1] - starts[0]) if period is not None else 0.0
    if period is None or not span > 0.0:
        return period, 1
    return period, min(max(1, round(period.seconds * (len(starts) - 1) / span)), len(starts))


def binned(starts: Floats, ends: Floats, volumes: Floats, width: float, count: int) -> Floats:
    """Compute the bytes in each of `count` bins of `width` seconds, of which the first begins at date 0.

    Entry k of `volumes` is spread evenly from entry k of `starts` to entry k of `ends`.
    """
    total = np.zeros(count)
    first = np.clip((starts / width).astype(np.int64), 0, count - 1)
    last = np.clip((ends / width).astype(np.int64), 0, count - 1)
    short = first == last
    total += np.bincount(first[short], volumes[short], count)
    if short.all():
        return total
    starts, ends, volumes, first, last = (each[~short] for each in (starts, ends, volumes, first, last))
    rates = volumes / (ends - starts)
    steps = np.bincount(first + 1, rates, count + 1) - np.bincount(last, rates, count + 1)
    total += np.cumsum(steps)[:count] * width  # the bins between the first and the last
    total += np.bincount(first, rates * ((first + 1) * width - starts), count)
    return np.asarray(total + np.bincount(last, rates * (ends - last * width), count))


def period_of_bins(volumes: Floats, width: float) -> Period | None:
    """Find the dominant period of bytes in bins of time; None if there is none.

    Args:
        volumes: bytes in each bin.
        width: seconds of a bin.
    """
    used = np.flatnonzero(volumes > 0.0)
    if len(used) < FEWEST:
        return None
    values = _without_outliers(volumes[used[0] : used[-1] + 1])
    peaks = _peaks(values)
    highest = max((height for _, height in peaks), default=0.0)
    rough = min((lag for lag, height in peaks if height >= AS_HIGH * highest), default=None) or _line(values)
    if rough is None:
        return None
    rough = _strongest_part(values, rough)
    step = max(int(rough / 64.0), 1)
    fine = _added_up(values, step)
    correlation = _autocorrelation(_smoothed(fine, rough / step / 8.0))
    lag = _refined(fine, correlation, rough / step)
    kept_up = _at(correlation, 2.0 * lag)
    confidence = float(np.mean([_at(correlation, lag), kept_up, _share(fine, lag)]))
    if confidence < LEAST_CONFIDENCE:
        return None
    return Period(lag * step * width, min(confidence, 1.0), len(fine) / lag)


def _without_outliers(volumes: Floats) -> Floats:
    """Lower the largest bins, so that one large transfer, such as one at the start, does not hide the rest."""
    ascending = np.sort(volumes)
    half = ascending[np.searchsorted(np.cumsum(ascending), ascending.sum() / 2.0)]
    return np.asarray(np.minimum(volumes, 1.5 * half))


def _peaks(values: Floats) -> list[tuple[float, float]]:
    """The best significant peak at each scale that has one: its lag in bins, and its height."""
    found = []
    step = 1
    while len(values) // step >= SHORTEST * FEWEST:
        peak = _peak(_smoothed(_added_up(values, step), SHORTEST / 6.0))
        if peak is not None:
            found.append((peak[0] * step, peak[1]))
        step *= 2
    return found


def _peak(values: Floats) -> tuple[float, float] | None:
    """The best significant peak of the autocorrelation at lags of one octave, with its height."""
    correlation = _autocorrelation(values)
    best = None
    for lag in range(SHORTEST, min(2 * SHORTEST, len(values) // FEWEST + 1) + 1):
        height = float(correlation[lag])
        if height < correlation[lag - 1] or height <= correlation[lag + 1] or (best is not None and height < best[1]):
            continue
        independent = (len(values) - lag) / (1.0 + 2.0 * np.sum(correlation[1 : lag // 2 + 1] ** 2))
        significant = np.arctanh(min(height, 0.999)) * np.sqrt(max(independent - 3.0, 0.0)) >= SIGNIFICANT
        if height >= LEAST_PEAK and significant and height - correlation[1:lag].min() >= LEAST_PEAK:
            best = (_vertex(correlation, lag), height)
    return best


def _strongest_part(values: Floats, lag: float) -> float:
    """Divide the `lag` by the smallest number from 1 to 8 at whose frequency the spectrum has about its most power.

    Where phases come early or late, several periods together look more regular than one period.
    """
    power = np.abs(np.fft.rfft(values - values.mean())) ** 2
    frequency = len(values) / lag
    parts = [part for part in range(1, 9) if part * frequency * 1.25 < len(power)]
    sums = [power[int(np.ceil((part - 0.25) * frequency)) : int((part + 0.25) * frequency) + 1].sum() for part in parts]
    strong = [part for part, power_there in zip(parts, sums, strict=True) if power_there >= max(sums) / 1.5]
    return lag / strong[0] if strong else lag


def _line(values: Floats) -> float | None:
    """The lag of the strongest significant line of the spectrum, in bins; None if there is none.

    Phases that follow a clock, but are each early or late, have such a line although their autocorrelation is low.
    """
    power = np.abs(np.fft.rfft(values - values.mean())) ** 2
    best: float | None = None
    strongest = LINE
    for at in np.flatnonzero(power[: len(values) // SHORTEST] >= power.mean() * LINE):
        low, high = int(at * 0.6), int(at * 1.4) + 2
        if at < 4 * FEWEST or high > len(power):
            continue
        around = (power[low:high].sum() - power[at - 1 : at + 2].sum()) / (high - low - 3)
        if power[at] > strongest * around:
            best, strongest = float(len(values) / at), float(power[at] / around)
    return best


def _added_up(values: Floats, step: int) -> Floats:
    """The values in bins `step` times as wide; values at the end that do not fill a bin are left out."""
    count = len(values) // step
    return np.asarray(values[: count * step].reshape(count, step).sum(axis=1))


def _autocorrelation(values: Floats) -> Floats:
    """ρ at all lags up to three quarters of the bins; at each lag it is a mean over the pairs of bins with this distance."""
    centred = values - values.mean()
    size = 1 << (2 * len(values) - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    products = np.fft.irfft(spectrum * spectrum.conj(), size)[: max(len(values) * 3 // 4, 2)]
    if products[0] <= 0.0:
        return np.zeros(len(products))
    means = products / (len(values) - np.arange(len(products)))
    return np.asarray(means / means[0])


def _vertex(values: Floats, at: int) -> float:
    """The position of the highest point of the parabola through the peak `at` and its two neighbours."""
    left, middle, right = values[at - 1 : at + 2]
    bend = left - 2.0 * middle + right
    return float(at + (0.5 * (left - right) / bend if bend < 0.0 else 0.0))


def _smoothed(values: Floats, width: float) -> Floats:
    """The moving mean of the values over about `width` bins."""
    half = int(width / 2.0)
    if half == 0:
        return values
    size = 2 * half + 1
    summed = np.concatenate(([0.0], np.cumsum(np.pad(values, half, mode="edge"))))
    return np.asarray((summed[size:] - summed[:-size]) / size)


def _refined(values: Floats, correlation: Floats, lag: float) -> float:
    """The period near a lag, in bins: from the spectrum if its line is sharp, else from peaks at multiples of the lag."""
    size = 8 * (1 << (len(values) - 1).bit_length())
    power = np.abs(np.fft.rfft(values - values.mean(), size)) ** 2
    around = np.arange(max(int(size / lag * 0.85), 1), min(int(size / lag * 1.15) + 2, len(power) - 1))
    if len(around) < 3:
        return lag
    at = int(around[np.argmax(power[around])])
    band = power[max(int(size / lag * 0.5), 1) : int(size / lag * 1.5) + 1].sum()
    reach = size // len(values)
    if power[max(at - reach, 1) : at + reach + 1].sum() >= SHARP * band:
        return size / _vertex(power, at)
    times = 1
    while (times + 0.25) * lag < len(correlation) - 2 and times <= 4:
        low, high = int((times - 0.2) * lag), int((times + 0.2) * lag) + 2
        top = low + int(np.argmax(correlation[low:high]))
        if correlation[top] < 0.5 * LEAST_PEAK or not low < top < high - 1:
            break
        lag = _vertex(correlation, top) / times
        times += 1
    return lag


def _at(correlation: Floats, lag: float) -> float:
    """The largest ρ within 5 % of a lag, from 0 to 1."""
    near = correlation[max(int(lag * 0.95), 1) : int(lag * 1.05) + 2]
    return float(np.clip(near.max(initial=0.0), 0.0, 1.0))


def _share(values: Floats, lag: float) -> float:
    """How much of the power around the frequency of the `lag` lies at this frequency: 0 if spread evenly, 1 if all of it.

    "Around" is from half of the frequency to one and a half of it.
    """
    power = np.abs(np.fft.rfft(values - values.mean())) ** 2
    frequency = len(values) / lag
    around = power[max(int(np.ceil(frequency * 0.5)), 1) : int(frequency * 1.5) + 1]
    reach = max(frequency * 0.125, 1.0)
    low, high = max(int(np.ceil(frequency - reach)), 1), int(frequency + reach) + 1
    even = (high - low) / max(len(around), 1)
    if not around.sum() or even >= 1.0:
        return 0.0
    return float(np.clip((power[low:high].sum() / around.sum() - even) / (1.0 - even), 0.0, 1.0))
