"""Where jobs are executed: the one place that chooses between this machine and a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Protocol

from countless.core.errors import BadInput, named
from countless.core.parameters import check_choice
from countless.core.progress import Reporter
from countless.runs.engine import LocalEngine
from countless.runs.job import Job, Stop, never
from countless.runs.store import Store, StoredJob

LOCAL, RAY = ENGINES = ("local", "ray")


class Engine(Protocol):
    """Executes jobs into a store, reports progress, and can be asked to stop."""

    def run(self, jobs: Iterable[Job], store: Store) -> list[StoredJob]:
        """Execute what is missing; what each job gave, in order."""
        ...


@dataclass(frozen=True)
class Where:
    """The engine, and what each job may take of a cluster; None: what the job says itself."""

    engine: str | None = None
    address: str | None = None
    cpus_per_job: float | None = None
    gpus_per_job: float | None = None
    memory_per_job: float | None = None  # GB

    def __post_init__(self) -> None:
        if self.engine is not None:
            check_choice("engine", self.engine, ENGINES)
        for item in fields(self)[1:]:
            if not self.on_ray and getattr(self, item.name) is not None:
                raise BadInput(f"{named(item.name)} goes with {named('engine', RAY)}")
        for name in ("cpus_per_job", "memory_per_job"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise BadInput(f"{named(name)} must be above 0, not {value:g}")
        gpus = self.gpus_per_job
        if gpus is not None and not (gpus >= 0 and (gpus <= 1 or float(gpus).is_integer())):
            raise BadInput(
                f"{named('gpus_per_job')} must be a share of one GPU or a whole number, not {gpus:g}"
            )

    @property
    def on_ray(self) -> bool:
        return self.engine == RAY

    @property
    def device(self) -> str | None:
        """Of deep jobs that run on other machines, unless they name one; None: find one here."""
        if not self.on_ray:
            return None
        return "cuda" if self.gpus_per_job else "cpu"


def make_engine(
    where: Where,
    threads: int | None,
    reporter: Reporter,
    stop: Stop = never,
    own_process: bool = False,
) -> Engine:
    """The engine that was asked for; `own_process` says that this process may be tuned for learning."""
    if not where.on_ray:
        return LocalEngine(threads, reporter, stop, own_process)
    from countless.runs.ray_cluster import require_ray

    require_ray()
    from countless.runs.ray_engine import RayEngine

    gigabytes = where.memory_per_job
    return RayEngine(
        where.address,
        where.cpus_per_job,
        where.gpus_per_job,
        None if gigabytes is None else gigabytes * 1e9,
        threads,
        reporter,
        stop,
    )
