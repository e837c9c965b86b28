"""Settings of all tests."""

import os

from hypothesis import settings

# Machines differ in speed, so no example has a deadline. Under CI the examples are the same in every run: a change is
# judged by what it changes.
settings.register_profile("penstock", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("penstock")
