"""A job: an agent, its parameters, an environment, seeds and a budget.

Everything that runs is a list of jobs. A job is plain data; its id is a digest of exactly what decides
its bits, so that the same job finds what it has finished, whichever command asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from countless.core.progress import SilentTask, Task
from countless.core.seeding import digest

if TYPE_CHECKING:
    import pyarrow

Stop = Callable[[], bool]
Scatter = Callable[["Job", Sequence[int]], None]  # the job, and the numbers of its parts


class Stopped(Exception):  # noqa: N818 (nothing went wrong)
    """The work was asked to stop, and what is finished is kept."""


def never() -> bool:
    """For work that nobody asks to stop."""
    return False


@dataclass(frozen=True)
class Execution:
    """How a job is executed; none of it changes what a job is."""

    threads: int | None = None
    task: Task = field(default_factory=SilentTask)
    stop: Stop = never
    own_process: bool = False  # whether the process may be tuned for the job
    scatter: Scatter | None = None  # has parts of a job executed elsewhere, into its folder


@dataclass(frozen=True)
class Outcome:
    """What executing a job gave: its records, and curves where it has some (docs/records.md)."""

    records: pyarrow.Table
    curves: pyarrow.Table | None
    finished: dict[str, Any]  # what `finished.json` says: seconds, steps, frames, features


class Job(Protocol):
    """What the store and the engine need to know of a job."""

    engine: ClassVar[str]

    @property
    def agent(self) -> str: ...

    @property
    def env(self) -> str: ...

    @property
    def seed(self) -> int: ...

    @property
    def label(self) -> str:
        """A few words for a progress bar."""
        ...

    @property
    def units(self) -> int:
        """How much there is to do, for a progress bar."""
        ...

    def identity(self) -> dict[str, Any]:
        """Exactly what decides its bits, as plain data."""
        ...

    def budget(self) -> dict[str, Any]:
        """How far it goes: a budget that may grow is no part of the identity."""
        ...

    def is_met_by(self, finished: Mapping[str, Any]) -> bool:
        """Whether what was finished before goes as far as this job asks for."""
        ...

    def is_whole(self, records: pyarrow.Table, curves: pyarrow.Table | None) -> bool:
        """Whether no record of a finished job is missing."""
        ...

    def select(self, records: pyarrow.Table) -> pyarrow.Table:
        """Of records that go further than the budget, those within it."""
        ...

    def check(self, folder: Path | None) -> None:
        """Raise a `BadInput` for what cannot run, before anything is written."""
        ...

    def execute(self, folder: Path | None, execution: Execution) -> Outcome:
        """Do the work, or what is left of it, keeping it in `folder`."""
        ...


def job_id(job: Job) -> str:
    """The digest of a job's identity."""
    return digest(job.identity())


def as_columns(config: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as values of columns: an infinite norm, a word in JSON, is a number again."""
    return {name: float(v) if v == "inf" else v for name, v in config.items()}


def folder_name(job: Job) -> str:
    """`<agent>-<env>-seed-<seed>-<digest>`: the same for the same job, whoever asks."""
    env = "".join(c if c.isalnum() or c in "-." else "-" for c in job.env.removesuffix(".mdp"))
    return f"{job.agent}-{env.strip('-.')}-seed-{job.seed}-{job_id(job)[:10]}"
