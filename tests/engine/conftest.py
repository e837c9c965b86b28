"""What all tests of the engine share."""

from collections.abc import Iterator

import pytest

from penstock.engine import run


@pytest.fixture(autouse=True, scope="module")
def orders_are_kept() -> Iterator[None]:
    """Keep orders of few applications, too, as only they can be compared with a slow twin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "KEPT_FROM", 0)
        yield
