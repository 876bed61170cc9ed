"""countless status [FOLDER] [--verify]."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from countless.analysis.tables import Table, counted
from countless.cli.output import print_json, print_table, print_text
from countless.core.durable import DAMAGED, UNVERIFIED, WHOLE
from countless.core.errors import CountlessError
from countless.runs.described import read_reached
from countless.runs.store import FINISHED, STATES, StoredJob, stored_jobs
from countless.runs.verify import verify


def command(arguments: argparse.Namespace) -> None:
    folder = Path(arguments.folder)
    if arguments.verify:
        _verify(folder, arguments.json)
        return
    jobs = [describe(job, folder) for job in stored_jobs(folder)]
    counts = Counter(job["state"] for job in jobs)
    if arguments.json:
        print_json({"folder": str(folder), "jobs": jobs, "states": dict(counts)})
        return
    if not jobs:
        print_text(f"{folder} holds no jobs; `countless run AGENT ENV --out {folder}` makes one")
        return
    columns = ("job", "state", "done", "return")
    rows = tuple((job["folder"], job["state"], _done(job), job["mean_return"]) for job in jobs)
    note = ", ".join(f"{counts[state]:,} {state}" for state in STATES if counts[state])
    print_table(Table(f"Jobs in {folder}", columns, rows, labels=2, note=note))


def _done(job: Mapping[str, Any]) -> str:
    """How far a job is: all of it, or a share."""
    done, of, unit = job["done"], job["of"], job["unit"]
    if done is None or not of or job["state"] == FINISHED:
        return f"{done or 0:,} {unit}"
    return f"{done / of:.0%} of {of:,} {unit}"


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
            print_text(f"damaged: {line}")
        for verdict in verdicts:
            for name in verdict.aside:
                print_text(f"set aside before: {name}")
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
    if job.about.get("engine") in ("dqn", "host"):
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
    if job.about.get("engine") in ("dqn", "host"):
        reached = job.finished or read_reached(job.folder / "progress.json") or {}
        return int(reached.get("frames", 0)), budget.get("frames"), "frames"
    if job.about.get("engine") == "tabular":
        settings = len(job.about["identity"]["settings"])
        return rows, settings * budget["runs"], "runs"
    return rows, rows if job.finished else None, "rows"
