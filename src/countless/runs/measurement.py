"""Jobs that are no runs of an agent: a table computed from parameters, kept like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from countless.core.records import ensure_folder, read_json, write_table
from countless.runs.job import Execution, Job, Outcome
from countless.runs.stopwatch import Stopwatch
from countless.runs.store import about_records

if TYPE_CHECKING:
    import pyarrow

Columns = Mapping[str, Any]


@dataclass(frozen=True)
class MeasurementJob:
    """`compute` gets the execution and gives columns; all but it decides the bits."""

    engine: ClassVar[str] = "measurement"
    agent: str  # what is measured, or of which agent
    env: str
    seed: int
    units: int
    parameters: Mapping[str, Any]
    compute: Callable[[Execution], Columns] = field(repr=False)
    bits: int = 1  # the version number of what decides the bits
    of: Job | None = field(default=None, repr=False)  # what runs while it measures, if a job does

    @property
    def label(self) -> str:
        return f"{self.agent} in {self.env}" if self.env else self.agent

    def identity(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "bits": self.bits,
            "agent": self.agent,
            "env": self.env,
            "seed": self.seed,
            "parameters": dict(self.parameters),
        }

    def budget(self) -> dict[str, Any]:
        return {}

    def is_met_by(self, finished: Mapping[str, Any]) -> bool:
        return True

    def is_whole(self, records: pyarrow.Table, curves: pyarrow.Table | None) -> bool:
        return True  # one file, which is there or not

    def select(self, records: pyarrow.Table) -> pyarrow.Table:
        return records

    def check(self, folder: Path | None) -> None:
        pass

    def execute(self, folder: Path | None, execution: Execution) -> Outcome:
        import pyarrow

        watch = Stopwatch(folder)
        columns = dict(self.compute(execution))
        size = len(next(iter(columns.values())))
        shared = {"agent": self.agent, "env": self.env, "seed": self.seed, **self.parameters}
        table = pyarrow.table(
            {name: pyarrow.repeat(value, size) for name, value in shared.items()} | columns
        )
        if folder is not None:
            about = about_records(read_json(folder / "job.json") or {})
            write_table(ensure_folder(folder / "records") / "table.parquet", table, about)
        return Outcome(table, None, {"rows": size, "seconds": watch.total})
