"""Compiled inner loops: functions over plain arrays, nothing human. Twins live in tests/oracles."""

from pathlib import Path

from countless.core import kernel_cache, substochastic

TABULAR = Path(__file__).parent.parent
SOURCES = (
    *TABULAR.glob("kernels/*.py"),
    *TABULAR.glob("released/*.py"),
    Path(str(substochastic.__file__)),
)

kernel_cache.drop_stale_kernels(SOURCES)
