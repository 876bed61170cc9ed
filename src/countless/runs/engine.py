"""The local engine: executes jobs into a store on this machine.

Jobs of tabular agents use all cores by themselves and run one after the other. A single long job (of a
deep agent, of a host) runs in this process; several run in worker processes, as many at once as there
are cores. The bits are the same either way.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from countless.core.cores import usable_cores
from countless.core.progress import SILENT, Reporter, Task
from countless.runs.job import Execution, Job, Stop, Stopped, never
from countless.runs.messages import LONG, LongJob
from countless.runs.store import Store, StoredJob
from countless.runs.workers import Workers


@dataclass(frozen=True)
class LocalEngine:
    """This machine."""

    threads: int | None = None  # of tabular jobs; a deep job has its own number
    reporter: Reporter = field(default=SILENT)
    stop: Stop = never
    own_process: bool = False  # the process is ours alone, and may be tuned for learning

    def run(self, jobs: Iterable[Job], store: Store) -> list[StoredJob]:
        """Execute what is missing; what each job gave, in order."""
        jobs = list(jobs)
        long = [job for job in jobs if job.engine in LONG and store.find(job) is None]
        if len(long) > 1:
            self._run_workers(long, store)
        ended = []
        for i, job in enumerate(jobs):
            if self.stop():
                raise Stopped
            count = f" ({i + 1} of {len(jobs)})" if len(jobs) > 1 else ""
            with self.reporter.task(job.label + count, job.units) as task:
                ended.append(on_disk(store.execute(job, self._execution(task))))
        return ended

    def _execution(self, task: Task) -> Execution:
        return Execution(self.threads, task, self.stop, self.own_process)

    def _run_workers(self, jobs: list[Job], store: Store) -> None:
        from countless.runs.dqn_resources import check_memory_together

        long: list[LongJob] = jobs  # type: ignore[assignment]
        at_once = max(1, min(len(long), usable_cores() // max(job.threads for job in long)))
        for job in long:  # before hours go into one of them
            job.check(store.place(job))
            store.check_place(job)
        check_memory_together([job.memory() for job in long], at_once)
        with ExitStack() as tasks:
            Workers(long, store, at_once, self.reporter, tasks).run(self.stop)


def on_disk(stored: StoredJob) -> StoredJob:
    """A job without its tables in memory, where they can be read again: there may be thousands.

    The records of a deep job are few, and may be only a part of those on disk.
    """
    kept = stored.folder is not None and stored.about["engine"] == "tabular"
    return replace(stored, outcome=None) if kept else stored
