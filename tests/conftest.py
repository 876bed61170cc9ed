"""Settings of the test suite."""

import os

# Small networks, and a test process a core: more threads only get in each other's way. Set before
# torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

# No test pulls the plug: to wait for the disk would only take time. (What is synced, and when, has a
# test of its own; processes that tests start do wait.)
os.fsync = lambda descriptor: None

# Kernels compile on first use, so no deadline; the same examples every time where CI says so.
settings.register_profile("countless", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("countless")


def pytest_addoption(parser):
    parser.addoption(
        "--long", action="store_true", help="the long form of the tests of faults and readers"
    )
    parser.addoption(
        "--update-screens", action="store_true", help="store the pages as they look now"
    )
