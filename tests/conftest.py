"""Fixtures, and a guard against stale compiled kernels.

Numba's cache looks at the file of the function it calls, not at those that were inlined into it:
after an edit of one kernel file the others must be compiled anew.
"""

import hashlib
import os
from pathlib import Path

from hypothesis import settings

import countless.tabular.kernels as kernels

# Kernels compile on first use, so no deadline; the same examples every time where CI says so.
settings.register_profile("countless", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("countless")


def pytest_configure(config):
    if hasattr(config, "workerinput"):
        return
    folder = Path(kernels.__file__).parent
    sources = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    digest = hashlib.blake2b(sources).hexdigest()
    cache = folder / "__pycache__"
    stamp = cache / "kernels.digest"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    cache.mkdir(exist_ok=True)
    for pattern in ("*.nbi", "*.nbc"):
        for path in cache.glob(pattern):
            path.unlink()
    stamp.write_text(digest)
