"""Settings of the test suite."""

import os

# Small networks, and a test process a core: more threads only get in each other's way. Set before
# torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings

# Kernels compile on first use, so no deadline; the same examples every time where CI says so.
settings.register_profile("countless", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("countless")
