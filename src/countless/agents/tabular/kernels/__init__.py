"""Compiled inner loops: functions over plain arrays, nothing human. Twins live in tests/oracles."""

from pathlib import Path

from countless.core import stale, substochastic

stale.drop_stale_kernels([*Path(__file__).parent.glob("*.py"), Path(str(substochastic.__file__))])
