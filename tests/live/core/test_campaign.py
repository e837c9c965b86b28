"""A short campaign of random events; ``python -m tests.live.core.campaign`` runs long ones."""

from __future__ import annotations

import pytest

from tests.live.core.campaign import B, Campaign


@pytest.mark.parametrize("seed", range(8))
def test_every_law_holds(seed):
    campaign = Campaign(seed)
    campaign.run(1500)
    assert 0.0 < campaign.highest <= B * (1 + 1e-9)
    assert campaign.counts["grants"] > 100
