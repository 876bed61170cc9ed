"""Compiled kernels that no longer match their sources are thrown away before they are used.

Numba's cache looks at the file of the function it loads, not at those inlined into it. So whatever
compiles kernels calls `drop_stale_kernels` first: a digest of all their sources lies beside the cache,
and when it differs the cache goes.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from pathlib import Path

STAMP = "kernels.digest"


def drop_stale_kernels(sources: Iterable[Path]) -> None:
    """Remove the caches beside `sources` unless they were made from these very files."""
    paths = sorted(sources)
    content = b"".join(path.read_bytes() for path in paths)
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    for folder in {path.parent / "__pycache__" for path in paths}:
        # Where the folder cannot be written Numba keeps its cache elsewhere, by the user.
        with contextlib.suppress(OSError):
            stamp = folder / STAMP
            if stamp.is_file() and stamp.read_text() == digest:
                continue
            folder.mkdir(exist_ok=True)
            for pattern in ("*.nbi", "*.nbc"):
                for path in folder.glob(pattern):
                    path.unlink(missing_ok=True)
            stamp.write_text(digest)
