"""The tables of a tabular job: a row per run, and the curves of its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countless.runs.job import as_columns

if TYPE_CHECKING:
    import pyarrow

    from countless.runs.tabular import TabularJob

CURVE_POINTS = 50
EVEN, OCTAVES = "even", "octaves"
PER_OCTAVE = 4
Returns = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """A rectangle of a job: some settings, some runs."""

    index: int
    settings: range
    runs: range

    @property
    def file(self) -> str:
        return f"part-{self.index:05d}.parquet"

    def units(self, steps: int) -> int:
        """Its share of the job's units."""
        return len(self.settings) * len(self.runs) * steps


def curve_marks(steps: int, spacing: str = EVEN) -> NDArray[np.int64]:
    """The steps at which curves are kept: fifty at even distances, or four to each doubling.

    >>> curve_marks(16, OCTAVES).tolist()
    [1, 2, 3, 4, 5, 6, 8, 9, 11, 13, 16]
    """
    if spacing == OCTAVES:
        halvings = np.arange(PER_OCTAVE * int(np.log2(steps)) + 1) / PER_OCTAVE
        return np.unique(np.floor(steps * 2.0**-halvings).astype(np.int64))
    return np.unique(np.linspace(0, steps, CURVE_POINTS + 1)[1:].astype(np.int64))


def record_table(job: TabularJob, part: Part, returns: Returns) -> pyarrow.Table:
    """One row per run: agent, environment, seed and every parameter as columns, and the return."""
    import pyarrow

    rows = returns[part.settings.start : part.settings.stop, part.runs.start : part.runs.stop]
    settings = np.repeat(np.array(part.settings, dtype=np.int64), len(part.runs))
    columns = _columns(job, len(settings))
    columns["setting"] = settings
    configs = [as_columns(job.configs[i]) for i in part.settings]
    for name in job.configs[0]:
        values = pyarrow.array([config[name] for config in configs])
        columns[name] = values.take(pyarrow.array(settings - part.settings.start))
    columns["run"] = np.tile(np.array(part.runs, dtype=np.int64), len(part.settings))
    columns["return"] = rows.ravel()
    return pyarrow.table(columns)


def curve_table(job: TabularJob, runs: range, marks: Any, curves: Returns) -> pyarrow.Table:
    """One row per run and step: the reward collected until then."""
    import pyarrow

    size = len(runs) * len(marks)
    columns = _columns(job, size)
    for name, value in as_columns(job.configs[0]).items():
        columns[name] = pyarrow.repeat(value, size)
    columns["run"] = np.repeat(np.array(runs, dtype=np.int64), len(marks))
    columns["step"] = np.tile(marks, len(runs))
    columns["return"] = curves[runs.start : runs.stop].ravel()
    return pyarrow.table(columns)


def _columns(job: TabularJob, size: int) -> dict[str, Any]:
    """What all rows of a job have in common."""
    import pyarrow

    shared = {"agent": job.agent, "env": job.env, "seed": job.seed, "rng": job.rng}
    shared |= {"steps": job.steps}
    return {name: pyarrow.repeat(value, size) for name, value in shared.items()}
