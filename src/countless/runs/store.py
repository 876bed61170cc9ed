"""The store: a folder of jobs, each a folder whose records describe themselves.

<store>/<agent>-<env>-seed-<seed>-<digest>/
    job.json        what it is: identity, budget, command, versions, machine, date
    records/        Parquet: one row per run (tabular agents) or per episode (deep agents)
    curves/         Parquet: the return collected so far in each run, at fifty steps
    progress.json   how far it has come, and in how many seconds of work
    finished.json   written last: how far it went, and in how many seconds
    lock            held by the process that is executing the job
    owner.json      which process that is
    checkpoint/     deep agents: what the next step depends on
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countless.core.durable import DAMAGED, remove_temporaries, set_aside
from countless.core.errors import BadInput, named
from countless.core.progress import Task
from countless.core.provenance import provenance
from countless.core.records import (
    SCHEMA,
    ensure_folder,
    examine_record,
    read_table,
    write_json,
)
from countless.runs.described import are_curves, are_records, read_about, read_reached
from countless.runs.job import Execution, Job, Outcome, folder_name, job_id
from countless.runs.lock import is_locked, locked

if TYPE_CHECKING:
    import pyarrow

FINISHED, PARTIAL, RUNNING = "finished", "partial", "running"
STATES = (FINISHED, PARTIAL, RUNNING, DAMAGED)


@dataclass(frozen=True)
class StoredJob:
    """A job as its folder tells it, or as a run in memory would have written it."""

    about: Mapping[str, Any]  # job.json
    finished: Mapping[str, Any] | None  # finished.json
    folder: Path | None = None
    outcome: Outcome | None = None  # of a job that was executed just now

    @cached_property
    def records(self) -> pyarrow.Table | None:
        """All records, or None where there is none that can be read."""
        if self.outcome is not None:
            return self.outcome.records
        table = _read_parts(self.folder, "records")
        return table if table is not None and are_records(self.about, table) else None

    @cached_property
    def curves(self) -> pyarrow.Table | None:
        if self.outcome is not None:
            return self.outcome.curves
        table = _read_parts(self.folder, "curves")
        return table if table is not None and are_curves(table) else None

    @property
    def state(self) -> str:
        """finished, partial, running or damaged."""
        if self.folder is None:
            return FINISHED
        if is_locked(self.folder):
            return RUNNING
        if not self.about:
            return DAMAGED
        parts = list((self.folder / "records").glob("*.parquet"))
        curves = list((self.folder / "curves").glob("*.parquet"))
        if (
            any(read_table(path) is None for path in (*parts, *curves))
            or (parts and self.records is None)
            or (curves and self.curves is None)
        ):
            return DAMAGED
        if self.finished is None:
            return DAMAGED if (self.folder / "finished.json").exists() else PARTIAL
        return FINISHED if parts else DAMAGED

    @property
    def seconds(self) -> float:
        """Of all executions together, those of a job that is not finished too."""
        reached = self.finished
        if reached is None and self.folder is not None:
            reached = read_reached(self.folder / "progress.json")
        return float((reached or {}).get("seconds", 0.0))


def record_files(folder: Path) -> Iterator[Path]:
    """The JSON and Parquet files of a job, or of an experiment."""
    for name in ("job.json", "progress.json", "finished.json", "plan.json"):
        if (folder / name).exists():
            yield folder / name
    for kind in ("records", "curves"):
        yield from sorted((folder / kind).glob("*.parquet"))


def is_record(path: Path) -> bool:
    """Whether a file of a job is whole, and of the form that we write."""
    if examine_record(path) == DAMAGED:
        return False
    if path.name == "job.json":
        return bool(read_about(path))
    return path.suffix != ".json" or read_reached(path) is not None


def _clear(folder: Path, task: Task) -> None:
    """Make way for the work: what is half-written goes, and what is damaged is set aside.

    It is then computed again.
    """
    for place in (folder, folder / "records", folder / "curves"):
        remove_temporaries(place)
    for path in record_files(folder):
        if not is_record(path):
            aside = set_aside(path)
            task.warn(f"{path} was damaged; it is set aside as {aside.name} and made again")


def _read_parts(folder: Path | None, kind: str) -> pyarrow.Table | None:
    import pyarrow

    if folder is None:
        return None
    tables = [read_table(path) for path in sorted((folder / kind).glob("*.parquet"))]
    whole = [table for table in tables if table is not None]
    try:
        return pyarrow.concat_tables(whole, promote_options="permissive") if whole else None
    except pyarrow.ArrowException:  # parts that do not belong together
        return None


def read_job(folder: Path) -> StoredJob:
    """The job in a folder."""
    return StoredJob(
        read_about(folder / "job.json"), read_reached(folder / "finished.json"), folder
    )


def stored_jobs(folder: Path) -> list[StoredJob]:
    """Every job below a folder, in the order of their paths."""
    if not folder.is_dir():
        raise BadInput(
            f"there is no folder {folder}; name one that `countless run`, `sweep` or `reproduce` made"
        )
    return [read_job(path.parent) for path in sorted(folder.rglob("job.json"))]


class Store:
    """A folder of jobs; without a folder nothing is kept."""

    def __init__(self, folder: Path | str | None, command: str = "") -> None:
        """`command` is what the jobs made here will say they were made by."""
        if folder is not None and not isinstance(folder, str | Path):
            raise BadInput(f"{named('out')} must be the name of a folder, not {folder!r}")
        self.folder = None if folder is None else Path(folder)
        self.command = command

    def place(self, job: Job) -> Path | None:
        """The folder of a job."""
        return None if self.folder is None else self.folder / folder_name(job)

    def find(self, job: Job) -> StoredJob | None:
        """The job with all its records, if it is finished."""
        place = self.place(job)
        if place is None or not (place / "finished.json").is_file():
            return None
        stored = read_job(place)
        if stored.finished is None or stored.records is None:
            return None
        if stored.about.get("id") != job_id(job) or not job.is_met_by(stored.finished):
            return None
        if not job.is_whole(stored.records, stored.curves):
            return None
        outcome = Outcome(job.select(stored.records), stored.curves, dict(stored.finished))
        about = {**stored.about, "budget": job.budget()}  # which may be less than what was run
        return StoredJob(about, stored.finished, place, outcome)

    def execute(self, job: Job, execution: Execution) -> StoredJob:
        """Do what is missing of a job, and keep it."""
        found = self.find(job)
        if found is not None:
            execution.task.advance(job.units)
            return found
        place = self.place(job)
        job.check(place)
        about = describe_job(job, self.command)
        if place is None:
            outcome = job.execute(None, execution)
            return StoredJob(about, outcome.finished, None, outcome)
        self.check_place(job)
        ensure_folder(place)
        with locked(place):
            _clear(place, execution.task)
            about = _write_about(place / "job.json", about)
            outcome = job.execute(place, execution)
            write_json(place / "finished.json", outcome.finished)
        return StoredJob(about, outcome.finished, place, outcome)

    def check_place(self, job: Job) -> None:
        """See that the job's folder, if there is one, is this job's."""
        place = self.place(job)
        path = None if place is None else place / "job.json"
        if path is None or not path.exists():
            return
        there = read_about(path)  # one that is damaged will be set aside, and written again
        if there and there["id"] != job_id(job):
            raise BadInput(
                f"{path} is of another job; remove the folder {place}, or give another with "
                f"{named('out')}"
            )


def describe_job(job: Job, command: str) -> dict[str, Any]:
    """What `job.json` says."""
    return {
        "schema": SCHEMA,
        "id": job_id(job),
        "engine": job.engine,
        "agent": job.agent,
        "env": job.env,
        "seed": job.seed,
        "budget": job.budget(),
        "identity": job.identity(),
        **provenance(command),
    }


def _write_about(path: Path, about: dict[str, Any]) -> dict[str, Any]:
    """Keep what was said first, unless the job now goes further: then keep both."""
    before = read_about(path)
    if before and before["budget"] == about["budget"]:
        return before
    if before:
        earlier = {name: before[name] for name in ("budget", "command", "date", "versions")}
        about["before"] = [*before.get("before", []), earlier]
    write_json(path, about)
    return about


def about_records(about: Mapping[str, Any]) -> dict[str, Any]:
    """What goes with every Parquet file: enough to know what it is and what made it."""
    names = ("schema", "id", "engine", "agent", "env", "seed", "budget")
    return {name: about[name] for name in (*names, "command", "date", "versions", "commit")}
