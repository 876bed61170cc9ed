"""Settings of the test suite."""

import os

from hypothesis import settings

# Kernels compile on first use, so no deadline; the same examples every time where CI says so.
settings.register_profile("countless", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("countless")
