"""For processes of a test, with this folder on PYTHONPATH: a wall clock that is off by what a shared file says.

The file holds one double, the seconds; whoever writes another number steps the clock of all processes at once.
"""

import mmap
import os
import struct
import time

if "PENSTOCK_TEST_CLOCK" in os.environ:
    with open(os.environ["PENSTOCK_TEST_CLOCK"], "r+b") as _file:
        _off = mmap.mmap(_file.fileno(), 8)
    _right = time.time
    time.time = lambda: _right() + struct.unpack("d", _off[:8])[0]
