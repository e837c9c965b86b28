"""Every tolerance of the package: its value, its unit and the reason for it.

A double keeps 53 bits, so that one operation is exact to 1.1e-16 of its result. Dates and volumes are sums of many such
operations; their errors grow with the number of terms, and each tolerance lies well above the errors of the sums it
compares and well below any difference that a user can mean.

A name that ends in `_S` is in seconds and one that ends in `_BYTES` in bytes. Every other tolerance has no unit: it is a
part of the quantity that its sentence names. This module imports nothing, so that the client of running applications can
use it without numpy.
"""

from __future__ import annotations

from typing import Final

# Dates and durations.

TWO_ROUNDINGS: Final = 4e-16
"""Part of a double: two units in the last place, the error of a difference of two rounded numbers."""
DATES_KNOWN_TO: Final = 1e-14
"""Part of the largest date of a run: a date is a sum of up to some hundred terms; dates no further apart are one event."""
TIME_GRAIN: Final = 1e9
"""Steps per second: policies compare times in whole nanoseconds, so that the last bit of a sum decides no order."""
SAME_TIME_S: Final = 1e-9
"""Seconds: durations below it are rounding and dates no further apart are one, because no policy compares times finer."""
SHORTEST_ELAPSED_S: Final = 1e-9
"""Seconds: the shortest time since a release that a policy divides by, so that no yield is infinite."""
PLAN_DATE_S: Final = 1e-6
"""Seconds: dates of a buffer plan no further apart are one event, or the linear program has intervals of no length."""
SHORTEST_ROUND_S: Final = 1e-6
"""Seconds: no round of I/O is taken to be faster, so that no rate of rounds is infinite where the clock shows no time."""
WAIT_OVER: Final = 1e-9
"""Part of the wait of a store: a step of time this near to the whole wait has reached its end."""
DUE_DATE_LATE: Final = 1e-9
"""Part of the largest date, or of a second if that is more: bounds count later completions as late. The errors of a long
window stay below it, and a bound that is too generous by so little is still a bound."""
OPTIMUM_LATE: Final = 1e-12
"""Part of the largest date, or of a second if that is more: the exact solver has few terms and can be this strict."""
ORDER_SAME_DATE: Final = 1e-13
"""Part of the largest date, or of a second if that is more: dates of the search over priorities no further apart are one."""

# Volumes.

COMPLETE: Final = 1e-12
"""Part of an operation's volume: a transfer with no more left is complete; the rest is the rounding of rate times time."""
ROUND_END: Final = 1e-9
"""Part of a round: a transfer this near to the end of a round is between two rounds."""
ROUNDS_KNOWN_TO: Final = 1e-15
"""Part of an operation: how much of it is done is known to this, and in rounds to this times the number of rounds."""
READ_MISSING: Final = 1e-10
"""Part of a read: if the buffer lacks no more than this, that is rounding, and no transfer is made for it."""
LEAST_LEFT: Final = 1e-9
"""Part of an operation's volume: a live operation that is not released shows a policy at least this much left."""
FIRST_GUESS_S: Final = 1.0
"""s: how long an operation is taken to last alone while nothing is known of any operation."""
LEAST_VOLUME_BYTES: Final = 1e-9
"""Bytes: an operation of less volume would leave a remainder that a double cannot hold."""
INVARIANT: Final = 1e-9
"""Part of the volume, content or date checked: a larger error breaks a law; the sums of the longest runs stay below it."""

# Rates and loads.

RATE_SLACK: Final = 1e-9
"""Part of a cap or of the bandwidth: a policy's rates may exceed it by this, which the sums of a policy can add up to."""
SAME_AMOUNT: Final = 1e-12
"""Part of a bandwidth, load, capacity or grant: amounts that differ by no more are equal, and less than this is none."""
LEAST_CAP: Final = 1e-12
"""Part of the bandwidth: with a lower cap, a transfer would take too long for a double to hold its end date precisely."""
BUFFER_INFLOW: Final = 1e-6
"""Part of the buffer's bandwidth: inflow may exceed it by this when a plan runs, as dates move by PLAN_DATE_S."""

# Yields and other values that decide between candidates.

YIELD_GRAIN: Final = 1e12
"""Steps per unit of yield: orders compare yields in whole steps, so that the last bit of a division decides nothing."""
SAME_YIELD: Final = 1e-12
"""Yield: two yields no further apart are equal; one step of YIELD_GRAIN."""
IMPROVEMENT: Final = 1e-12
"""Part of the best value so far: a candidate must be better by more, so that rounding never breaks a tie."""
CONSTANT_YIELD: Final = 1e-13
"""Part of its terms: a yield whose derivative is smaller does not depend on the horizon."""
NO_LOSS: Final = 1e-9
"""Part of the time since release: an application that has lost less counts as having lost this, so that no key is 0."""
SAME_KEY: Final = 1e-10
"""Part of a key: `balance` compares keys that are nearer once more, by exact logarithms; powers are good to 1e-14 or so."""

# Searches: where they end.

YIELD_PRECISION: Final = 1e-9
"""Yield: bisection for the highest lowest yield ends here; due dates are known no better (DUE_DATE_LATE)."""
EFFICIENCY_PRECISION: Final = 1e-9
"""Part of the range from the longest chain alone to all one by one: bisection for the shortest makespan ends here."""
STRETCH_PRECISION: Final = 1e-9
"""Part of a stretch, and of the buffer beside it: bisection ends here; a stretch is reached if it is exceeded by no more."""
PARTITION_PRECISION: Final = 1e-12
"""Part of the value: bisection for the value of a partition of bandwidth ends here, near the last digit of a double."""
DT_PRECISION: Final = 1e-9
"""Part of the range of dt, or of the longer operation: precision of where outcomes change; shorter overlaps count as 0."""

# Buffer plans and their linear programs. A program is in units of its largest operation.

LP_TOLERANCE: Final = 1e-9
"""Units: HiGHS lets a row or a reduced cost be off by this, two digits below its default of 1e-7."""
PLAN_ROUNDING: Final = 1e-9
"""Part of the largest operation: contents and backlogs below it are what LP_TOLERANCE leaves, and count as none."""
PLAN_SLACK: Final = 1e-8
"""Part of the buffer, of a share or of the largest operation: the program that makes the shares small may pass S by this,
or rounding leaves it no solution; so shares may add up to this much more, and checks and runs of a plan allow it."""
LP_ROOM: Final = 1e-6
"""Units: how much larger than the smallest size a buffer is when plans of random cost are drawn, so that some exist."""

SAME_RATIO: Final = 1e-12
"""Part of a ratio of run times: one that is a factor off, but for rounding, is within that factor."""

# Display.

NOISE_OF_RUN: Final = 1e-12
"""Part of a run's length: shorter durations print as 0 s. One date is known to DATES_KNOWN_TO; the errors of a long chain
of operations add up, and in a run of months they pass a nanosecond."""
SHORTEST_AXIS_S: Final = 1e-9
"""Seconds: a time axis is at least this long, because matplotlib warns of limits that are equal."""
LOWEST_AXIS: Final = 1e-9
"""In the unit of the axis: a drawing of nothing is at least this high, because heights are parts of it."""
SAME_SHARE: Final = 1e-9
"""Part of the bandwidth: a bar still fits into a gap of a drawing if it is larger by no more than this."""
LAST_EDGE: Final = 1e-12
"""In the unit of the axis: the last bin ends this far above the largest value, which would otherwise fall outside."""
LAST_WEIGHT_EDGE: Final = 1e-9
"""I/O weight: the same for the bins of I/O weight."""

# Claims of the papers: when a measured value is the printed one.

CLAIM_SAME: Final = 1e-9
"""Part of the value: two results that a theorem or a law makes equal may differ by this, the rounding of whole runs."""
CLAIM_CLOSE: Final = 1e-6
"""Part of the value: results of a linear program or of a bisection may differ by this from the exact ones."""
CLAIM_LIMIT: Final = 1e-5
"""Difference: an instance with ε = 1e-6 is this near to the limit for ε → 0."""
