"""The Ray engine: executes jobs into a store from the nodes of a cluster.

Peer of `LocalEngine`: the same jobs, ids and bits. Each deep job is a task with a process of its own;
tabular jobs travel many to a task, and one of many parts is spread over tasks; jobs that measure run
in this process. All nodes must see the store's folder under the same name.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from countless.analysis.tables import counted
from countless.core.errors import BadInput, named, names_options
from countless.core.progress import SILENT, Reporter, Task
from countless.core.provenance import versions
from countless.core.records import ensure_folder, read_json
from countless.core.seeding import digest
from countless.runs.engine import on_disk
from countless.runs.job import Execution, Job, Stop, Stopped, job_id, never
from countless.runs.messages import LONG, READERS, TravellingJob, describe
from countless.runs.ray_cluster import Needs, connect, slots
from countless.runs.store import Store, StoredJob
from countless.runs.tabular import PART_STEPS, TabularJob

if TYPE_CHECKING:
    from countless.runs.ray_crew import Batch, Order
    from countless.runs.ray_tasks import Common

MOST_IN_BATCH = 64
SHARES = 4  # of a job, or batches of small jobs, for each task that runs at once


@dataclass(frozen=True)
class RayEngine:
    """A cluster; what is not given of a job's needs is what the job says itself."""

    address: str | None = None
    cpus_per_job: float | None = None
    gpus_per_job: float | None = None
    memory_per_job: float | None = None  # bytes
    threads: int | None = None  # of tabular jobs; a deep job has its own number
    reporter: Reporter = field(default=SILENT)
    stop: Stop = never

    def run(self, jobs: Iterable[Job], store: Store) -> list[StoredJob]:
        """Execute what is missing; what each job gave, in order."""
        jobs = list(jobs)
        if store.folder is None:
            raise BadInput(
                f"{named('engine', 'ray')} needs a folder that all nodes share: give one with "
                f"{named('out')}"
            )
        ensure_folder(store.folder)
        # Nodes have working directories of their own; the recorded command stays as it was given.
        shared = Store(store.folder.absolute(), store.command)
        missing = [job for job in jobs if job.engine in READERS and store.find(job) is None]
        if missing:
            for job in missing:
                store.check_place(job)
            connect(self.address)
            self._send([job for job in missing if not self._is_spread(job, missing)], shared)
        ended = []
        for i, job in enumerate(jobs):
            if self.stop():
                raise Stopped
            count = f" ({i + 1} of {len(jobs)})" if len(jobs) > 1 else ""
            with self.reporter.task(job.label + count, job.units) as task:
                ended.append(on_disk(store.execute(job, self._execution(job, shared, task))))
        return ended

    def _is_spread(self, job: Job, missing: Sequence[Job]) -> bool:
        """Whether its parts go to many tasks: one of few large tabular jobs."""
        if not isinstance(job, TabularJob) or len(job.parts()) == 1:
            return False
        return len(missing) < 2 * slots(self._tabular()[0])

    def _send(self, jobs: Sequence[Any], store: Store) -> None:
        """Have whole jobs executed."""
        from countless.runs.ray_crew import Crew

        if not jobs:
            return
        long = [job for job in jobs if job.engine in LONG]
        short = [job for job in jobs if job.engine not in LONG]
        batches = [*self._long_batches(long, store), *self._short_batches(short, store)]
        units = sum(job.units for job in jobs)
        with self.reporter.task(f"{counted(len(jobs), 'job')} on Ray", units) as task:
            Crew(_common(), task, self.stop).run(batches)

    def _long_batches(self, jobs: Sequence[Any], store: Store) -> list[Batch]:
        from countless.runs.ray_crew import Batch

        memories: dict[str, int] = {}
        batches = []
        for job in jobs:
            # All seeds of a setting take the same; to know it means to make an environment.
            kind = digest({**job.identity(), "seed": None})
            if kind not in memories:
                memories[kind] = int(self.memory_per_job or job.memory())
            cpus = float(job.threads if self.cpus_per_job is None else self.cpus_per_job)
            needs = Needs(cpus, self.gpus_per_job or 0.0, memories[kind])
            batches.append(Batch([_order(job, store, None)], needs, job.threads, fresh=True))
        return batches

    def _short_batches(self, jobs: Sequence[TravellingJob], store: Store) -> list[Batch]:
        """Many to a task: a task costs more than some of them."""
        from countless.runs.ray_crew import Batch

        if not jobs:
            return []
        needs, threads = self._tabular()
        size = min(MOST_IN_BATCH, math.ceil(len(jobs) / (SHARES * slots(needs))))
        batches: list[Batch] = []
        room = 0
        for job in jobs:
            if not batches or len(batches[-1].orders) == size or job.units > room:
                batches.append(Batch([], needs, threads, fresh=False))
                room = PART_STEPS
            batches[-1].orders.append(_order(job, store, threads))
            room -= job.units
        return batches

    def _execution(self, job: Job, store: Store, task: Task) -> Execution:
        """For what is done here: finding what is there, measuring, collecting parts."""

        def scatter(job: Job, parts: Sequence[int]) -> None:
            self._scatter(job, parts, store, task)

        spread = job.engine == TabularJob.engine
        return Execution(self.threads, task, self.stop, scatter=scatter if spread else None)

    def _scatter(self, job: Any, parts: Sequence[int], store: Store, task: Task) -> None:
        """Have parts of a job executed."""
        from countless.runs.ray_crew import Batch, Crew, Order

        connect(self.address)
        needs, threads = self._tabular()
        count = min(len(parts), SHARES * slots(needs))
        place = store.place(job)
        assert place is not None
        whole = job.parts()

        def kept() -> int:
            return len(list((place / "records").glob("*.parquet")))

        batches = []
        for i in range(count):
            numbers = [int(number) for number in np.array_split(parts, count)[i]]
            units = sum(whole[number].units(job.steps) for number in numbers)
            content = {"parts": numbers, "threads": threads}
            order = Order(f"{job.label}, parts {numbers[0]} to {numbers[-1]}", units, content, kept)
            batches.append(Batch([order], needs, threads, fresh=False))
        common = replace(_common(), shared=describe(job, store), shared_id=job_id(job))
        Crew(common, task, self.stop).run(batches)

    def _tabular(self) -> tuple[Needs, int]:
        """What a task of tabular jobs takes, and how many threads it computes with."""
        if self.gpus_per_job:
            raise BadInput(f"tabular agents use no GPU: leave {named('gpus_per_job')} out")
        cpus = self.cpus_per_job or float(self.threads or 1)
        return Needs(cpus, 0.0, int(self.memory_per_job or 0)), self.threads or max(1, int(cpus))


def _order(job: TravellingJob, store: Store, threads: int | None) -> Order:
    from countless.runs.ray_crew import Order

    place = store.place(job)
    assert place is not None
    content = {"message": describe(job, store), "threads": threads, "again": False}
    return Order(job.label, job.units, content, lambda: read_json(place / "progress.json"))


def _common() -> Common:
    from countless.runs.ray_tasks import Common

    return Common(os.getcwd(), names_options(), versions())
