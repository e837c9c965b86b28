"""An application that is coordinated loads nothing heavy."""

import subprocess
import sys

PROGRAM = """
import sys
before = set(sys.modules)
import penstock.live.client
penstock.live.client.AsyncJob
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded - sys.stdlib_module_names))
"""


def test_only_msgspec_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    assert set(done.stdout.split()) <= {"penstock", "msgspec", "typing_extensions"}
