"""What a deep run will take, said before it starts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countless.analysis.tables import counted
from countless.cli.wrapping import filled
from countless.core.records import read_json
from countless.runs.store import Store

if TYPE_CHECKING:
    from countless.runs.dqn import DqnJob

LONG = 20_000  # frames from which on the time is worth measuring, which takes a second or two
INDENT = "  "
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
    runs = counted(len(left), "run")
    title = f"{job.agent} in {job.env}: {job.frames:,} frames per run, {runs} to do"
    lines = [filled(title), *what_it_takes(left, out)]
    if job.frames >= LONG:
        lines.append(filled(_time(job, store), INDENT))
    print("\n".join(lines), file=sys.stderr, flush=True)


def announce_experiment(name: str, scale: str, jobs: Sequence[Any], store: Store) -> None:
    """The same of the jobs of a deep experiment, as far as they are known before it starts."""
    left = [job for job in jobs if store.find(job) is None]
    if not left or store.folder is None:
        return
    title = f"{name} at --scale {scale}: {counted(len(left), 'job')} of {len(jobs):,} to do"
    runs = [job for job in left if job.engine != "measurement"]
    estimate = "`--estimate` says how long this takes."
    if scale == "paper":
        estimate += " --scale smoke takes minutes, and --scale laptop takes hours."
    lines = [filled(title)]
    if runs:
        frames = sorted({job.frames for job in runs})
        most = "up to " if len(frames) > 1 else ""
        lines.append(filled(f"{most}{frames[-1]:,} frames per run", INDENT))
        lines += what_it_takes(runs, store.folder)
    else:
        lines.append(f"{INDENT}kept in {store.folder}")
    lines.append(filled(estimate, INDENT))
    print("\n".join(lines), file=sys.stderr, flush=True)


def what_it_takes(jobs: Sequence[Any], out: Path) -> list[str]:
    """The device, the memory of a run, and where it is kept, in lines."""
    agents, envs, sizes = set[str](), set[str](), set[str]()
    most = 0.0
    for job in jobs:  # each agent once, and each environment
        if job.agent not in agents or job.env not in envs:
            agents.add(job.agent)
            envs.add(job.env)
            memory = job.memory() / 1e9
            sizes.add(f"{memory:.1f}")
            most = max(most, memory)
    devices = {job.device.name if job.engine == "dqn" else "cpu" for job in jobs}
    up_to = "up to " if len(sizes) > 1 else ""
    saved = [job.save_every for job in jobs if job.engine == "dqn"]
    every = f", saved every {min(saved) / 60:.0f} minutes" if saved else ""
    threads = counted(max(job.threads for job in jobs), "thread")
    words = (
        f"on {' and '.join(sorted(devices))}, {threads} and {up_to}{most:.1f} GB of memory per run"
    )
    return [filled(words, INDENT), f"{INDENT}kept in {out}{every}"]


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
    words = (
        f"about {duration(seconds)} per run: {1 / step:,.0f} steps per second, measured just now"
    )
    if job.device.torch.type != "cpu":  # which is asked for work, and not waited for
        words += "; it may take longer, since the device was not waited for"
    return words


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
