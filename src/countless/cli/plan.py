"""What a deep run will take, said before it starts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from countless.analysis.tables import counted
from countless.core.records import read_json
from countless.runs.store import Store

if TYPE_CHECKING:
    from countless.runs.dqn import DqnJob

LONG = 200_000  # frames from which on the time is worth measuring
UNITS = (("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0))


def announce(jobs: Sequence[DqnJob], out: Path) -> None:
    """Where, how much, how long, and where it is kept: on stderr, for the jobs that are not done."""
    store = Store(out)
    left = [job for job in jobs if store.find(job) is None]
    if not left:
        return
    for job in left:  # what cannot run is told first, and alone
        job.check(store.place(job))
        store.check_place(job)
    job = left[0]
    lines = [
        f"{job.agent} in {job.env}: {job.frames:,} frames per run, {counted(len(left), 'run')} to do",
        f"  on {job.device.name}, {counted(job.threads, 'thread')} and {job.memory() / 1e9:.1f} GB of "
        f"memory per run; kept in {out}, saved every {job.save_every / 60:.0f} minutes",
    ]
    if job.frames >= LONG and job.device.name == "cpu":
        lines.append(f"  {_time(job, store)}")
    print("\n".join(lines), file=sys.stderr, flush=True)


def _time(job: DqnJob, store: Store) -> str:
    """Measured part by part, without running the agent."""
    from countless.agents.dqn.cost import measure_cost
    from countless.agents.dqn.device import torch_threads
    from countless.runs.dqn import make_envs

    with torch_threads(job.threads):
        step = measure_cost(make_envs(job, 1)[0], job.config, job.device).step
    place = store.place(job)
    done = 0 if place is None else (read_json(place / "progress.json") or {}).get("frames", 0)
    seconds = (job.frames - done) / job.frames_per_step * step
    return f"about {duration(seconds)} per run: {1 / step:,.0f} steps per second, measured just now"


def duration(seconds: float) -> str:
    """A time in the unit that people would use.

    >>> duration(2_600_000), duration(5_400), duration(3)
    ('30 days', '1.5 hours', 'a minute')
    """
    for unit, size in UNITS:
        if seconds >= size * (1 if unit == "minute" else 1.25):
            amount = seconds / size
            return f"{amount:.0f} {unit}s" if amount >= 10 else f"{amount:.1f} {unit}s"
    return "a minute"
