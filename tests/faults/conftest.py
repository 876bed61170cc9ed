"""Settings of the tests of faults; `make test-faults` runs their long form."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")


@pytest.fixture
def long_form(request):
    return request.config.getoption("--long")


@pytest.fixture
def tmp_path():
    """In memory where that can be: thousands of writes need not wait for a disk, and a process that
    is killed loses nothing of what it wrote there either."""
    writable = MEMORY.is_dir() and os.access(MEMORY, os.W_OK)
    path = Path(tempfile.mkdtemp(prefix="countless-", dir=MEMORY if writable else None))
    yield path
    shutil.rmtree(path)
