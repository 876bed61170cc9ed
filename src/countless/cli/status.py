"""countless status [FOLDER] [--verify]."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countless.analysis.tables import Table, counted
from countless.cli.output import console, print_json, print_lines, print_table, print_text
from countless.core.durable import DAMAGED, UNVERIFIED, WHOLE
from countless.core.errors import CountlessError
from countless.runs.described import EPISODIC, read_reached
from countless.runs.groups import differences
from countless.runs.store import FINISHED, STATES, StoredJob, stored_jobs
from countless.runs.verify import verify

ID = 6  # letters of a job's id that are shown: enough to tell jobs apart
NARROW = 70  # columns of a terminal from which on there is room for them
WIDE = 120  # and for settings
MOST_SETTINGS = 3


def command(arguments: argparse.Namespace) -> None:
    folder = Path(arguments.folder)
    if arguments.verify:
        _verify(folder, arguments.json)
        return
    stored = stored_jobs(folder)
    apart = settings_apart(stored)
    jobs = [
        describe(job, folder) | {"settings": told} for job, told in zip(stored, apart, strict=True)
    ]
    counts = Counter(job["state"] for job in jobs)
    if arguments.json:
        print_json({"folder": str(folder), "jobs": jobs, "states": dict(counts)})
        return
    if not jobs:
        print_text(f"{folder} holds no jobs: give the folder that `--out` named (default: results)")
        return
    print_table(job_table(jobs, folder, console().width))


def job_table(jobs: Sequence[Mapping[str, Any]], folder: Path, width: int) -> Table:
    """One row per job; the folder of a job is told by its columns."""
    shows_id = width >= NARROW
    counts = Counter(job["state"] for job in jobs)
    states = ", ".join(f"{counts[state]:,} {state}" for state in STATES if counts[state])
    shows_settings = width >= WIDE and any(job["settings"] for job in jobs)
    rows = tuple(
        (
            *_names(job)[: 4 if shows_id else 3],
            *((_settings(job),) if shows_settings else ()),
            job["state"],
            _done(job),
            short(job["mean_return"]),
        )
        for job in jobs
    )
    told = (*(("id",) if shows_id else ()), *(("settings",) if shows_settings else ()))
    columns = ("agent", "env", "seed", *told, "state", "done", "return")
    ids = (
        f"the first {ID} letters of the id are shown" if shows_id else "there is no room for the id"
    )
    return Table(
        f"{counted(len(jobs), 'job')}: {states}",
        columns,
        rows,
        labels=len(columns) - 2,
        note=f"The folder of a job is {folder}/AGENT-ENV-seed-SEED-ID; {ids}. "
        + (
            "Settings are told where runs of one agent and env differ, less those that most share. "
            if shows_settings
            else ""
        )
        + "With --json whole names and numbers are printed.",
    )


def settings_apart(jobs: Sequence[StoredJob]) -> list[list[str]]:
    """For each job, what tells its settings from those of its agent's other jobs in its environment.

    Of tabular jobs, which may hold many settings each, nothing is told.
    """
    about = [job.about if job.about.get("engine") in EPISODIC else {} for job in jobs]
    configs = [one["identity"]["config"] if one else {} for one in about]
    return differences(configs, [(one.get("agent"), one.get("env")) for one in about])


def _settings(job: Mapping[str, Any]) -> str:
    """Those that there is room for."""
    told: list[str] = job["settings"]
    more = len(told) - MOST_SETTINGS
    return ", ".join([*told[:MOST_SETTINGS], *([f"{more} more"] if more > 0 else [])]) or "-"


def _names(job: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Agent, environment, seed and id: of a job that cannot be read, as its folder is named."""
    name, _, end = job["folder"].rpartition("-seed-")
    seed, _, mark = end.rpartition("-")
    if job["agent"] is None:
        return name or job["folder"], "-", seed or "-", mark[:ID] if name else "-"
    seed = "-" if job["seed"] is None else str(job["seed"])
    return str(job["agent"]), str(job["env"]), seed, mark[:ID]


def short(value: float | None) -> str:
    """A number with at most three digits that count, and at most four after the point.

    >>> short(1_213_544.1), short(-0.00019), short(0.98765), short(-0.00002), short(None)
    ('1,210,000', '-0.0002', '0.988', '0', '-')
    """
    if value is None or math.isnan(value):
        return "-"
    rounded = round(float(f"{value:.3g}"), 4)
    return f"{rounded + 0.0:,.0f}" if abs(rounded) >= 100 or rounded == 0 else f"{rounded:g}"


def _done(job: Mapping[str, Any]) -> str:
    """How far a job is: all of it, or a share."""
    done, of, unit = job["done"], job["of"], job["unit"]
    if done is None or not of or job["state"] == FINISHED:
        return f"{done or 0:,} {unit}"
    return f"{done / of:.0%} of {of:,}"


def _verify(folder: Path, as_json: bool) -> None:
    """Say what is not as it was written; that there is such a thing is a failure."""
    verdicts = verify(folder)
    files = Counter[str]()
    for verdict in verdicts:
        files.update(verdict.files)
    damage = [line for verdict in verdicts for line in verdict.damage]
    if as_json:
        found = [verdict.to_json() for verdict in verdicts]
        states = {state: files[state] for state in (WHOLE, UNVERIFIED, DAMAGED)}
        print_json({"folder": str(folder), "files": states, "jobs": found})
    else:
        for line in damage:
            print_lines(f"damaged: {line}")
        for verdict in verdicts:
            for name in verdict.aside:
                print_lines(f"set aside before: {name}")
        running = sum(verdict.running for verdict in verdicts)
        print_text(
            f"{folder}: {counted(len(verdicts), 'folder')}, {files[WHOLE]:,} files whole, "
            f"{files[UNVERIFIED]:,} without a checksum, {len(damage):,} damaged"
            + (f"; {running:,} running, which were not looked at" if running else "")
        )
    if damage:
        raise CountlessError(
            f"{damage[0]}{f', and {len(damage) - 1:,} more' if len(damage) > 1 else ''}; the command "
            "that made it sets it aside and makes it again"
        )


def describe(job: StoredJob, root: Path) -> dict[str, Any]:
    """A job in one line."""
    assert job.folder is not None
    state = job.state
    done, of, unit = _progress(job)
    returns = np.empty(0)
    if job.records is not None and "return" in job.records.column_names:
        returns = job.records["return"].to_numpy()
    if job.about.get("engine") in EPISODIC:
        returns = returns[-100:]
    return {
        "folder": str(job.folder.relative_to(root)) if job.folder != root else job.folder.name,
        "state": state,
        "agent": job.about.get("agent"),
        "env": job.about.get("env"),
        "seed": job.about.get("seed"),
        "done": done,
        "of": of,
        "unit": unit,
        "mean_return": float(returns.mean()) if len(returns) else None,
        "seconds": job.seconds,
        "command": job.about.get("command"),
        "date": job.about.get("date"),
    }


def _progress(job: StoredJob) -> tuple[int | None, int | None, str]:
    """How much is done, of how much, in which unit."""
    assert job.folder is not None
    budget = job.about.get("budget", {})
    rows = 0 if job.records is None else len(job.records)
    if job.about.get("engine") in EPISODIC:
        reached = job.finished or read_reached(job.folder / "progress.json") or {}
        return int(reached.get("frames", 0)), budget.get("frames"), "frames"
    if job.about.get("engine") == "tabular":
        settings = len(job.about["identity"]["settings"])
        return rows, settings * budget["runs"], "runs"
    return rows, rows if job.finished else None, "rows"
