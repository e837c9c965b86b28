"""Settings of all tests."""

import os

from hypothesis import settings

# Machines differ in speed, so no example has a deadline. The examples are the same in every run, so that a change is judged
# by what it changes; PENSTOCK_HUNT=1 draws new ones.
settings.register_profile("penstock", deadline=None, derandomize="PENSTOCK_HUNT" not in os.environ)
settings.load_profile("penstock")
