"""The limits of a site, which hold whatever a client says: for turns, rounds, claims and overruns.

Every default means "no limit", so that a core with default limits does what the engine does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

BY_APPLICATION: Final = "application"
BY_USER: Final = "user"
SHARED_BY: Final = (BY_APPLICATION, BY_USER)
"""What counts as one for the policy."""


@dataclass(frozen=True)
class Limits:
    """The limits of a site, times in seconds.

    Example:
        >>> Limits(longest_turn=600.0, longest_round=60.0).watch(lease=10.0)
        70.0
    """

    longest_turn: float = math.inf
    """How long an operation may have bandwidth while others wait; then it goes behind the others."""
    longest_round: float = math.inf
    """The longest time that a round counts. A pause must take effect within a lease plus the time of a round."""
    least_reached: float = 0.0
    """Part of what it is granted that an operation must reach while others wait; below that its turn ends early."""
    max_elapsed_claim: float = math.inf
    """Seconds before its registration that a client may claim to have run."""
    max_nodes: float = math.inf
    """The nodes of the machine; a claim of more is cut to it."""
    share_by: str = BY_APPLICATION
    """Whether each application counts as one for the policy, or each user with all of the user's applications."""
    planned_uid: int | None = None
    """The only user whose clients may have the names of the workload; None for whoever is first."""
    lowered_after: int = 0
    """Overruns after which the cap of a client is lowered for a time; 0 for never."""
    barred_after: int = 0
    """Overruns after which a client is barred for a time; 0 for never."""
    penalty: float = 60.0
    """How long a lower cap or a bar lasts. After so long without an overrun, earlier ones no longer count."""

    @property
    def by_user(self) -> bool:
        """Whether each user counts as one."""
        return self.share_by == BY_USER

    def watch(self, lease: float) -> float:
        """Seconds of a turn in which an operation must reach `least_reached` of its grants: a lease and a longest round."""
        return min(self.longest_turn, lease + self.longest_round)


NO_LIMITS: Final = Limits()
