"""Jobs as plain data, for processes that execute them elsewhere: workers here, nodes of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from countless.core.errors import names_options
from countless.runs.job import Job
from countless.runs.store import Store

# The modules of the jobs that can travel, by engine: `read_job` makes one of its message.
READERS = {
    "tabular": "countless.runs.tabular",
    "dqn": "countless.runs.dqn",
    "host": "countless.runs.hosts",
}
# Jobs that are executed in a process of their own when there are several of them.
LONG = ("dqn", "host")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class TravellingJob(Job, Protocol):
    """What a job needs beyond the rest to be executed elsewhere."""

    def to_message(self) -> dict[str, Any]:
        """As plain data."""
        ...


class LongJob(TravellingJob, Protocol):
    """What a job needs to run in a process of its own."""

    @property
    def threads(self) -> int: ...

    def memory(self) -> float:
        """Bytes that it takes."""
        ...


def describe(job: TravellingJob, store: Store) -> dict[str, Any]:
    """A job, and the store that it belongs to."""
    return {
        "engine": job.engine,
        "job": job.to_message(),
        "store": str(store.folder),
        "command": store.command,
        "names_options": names_options(),
    }


def read(message: Mapping[str, Any]) -> tuple[TravellingJob, Store]:
    """The job and the store in a message."""
    reader = import_module(READERS[message["engine"]])
    return reader.read_job(message["job"]), Store(Path(message["store"]), message["command"])


def thread_variables(threads: int) -> dict[str, str]:
    """The environment of a process whose libraries compute with that many threads.

    It must be set before NumPy is imported there: its own threads would take the other jobs' cores.
    """
    return dict.fromkeys(THREAD_VARIABLES, str(threads))
