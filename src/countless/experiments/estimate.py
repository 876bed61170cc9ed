"""What an experiment would cost: jobs, steps, hours, memory and disk, from speeds measured here.

The speed of each kind of job is measured on this machine for seconds; that of a deep agent on a GPU is
computed from its floating-point operations and two stated assumptions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from countless.agents.tabular.agent import kernel_case
from countless.analysis.tables import Cell, Table, counted
from countless.core.cores import usable_cores
from countless.core.errors import BadInput, CountlessError
from countless.core.progress import Reporter
from countless.core.provenance import machine
from countless.core.seeding import digest
from countless.experiments.experiment import Experiment, Plan, Records
from countless.runs.groups import differences
from countless.runs.job import Execution, Job
from countless.runs.measurement import MeasurementJob
from countless.runs.store import Store
from countless.runs.tabular import TabularJob

HOUR = 3600.0
PROBE_SECONDS = 0.3  # of a tabular agent


@dataclass(frozen=True)
class Speed:
    """Seconds of a step on one core here, and on a GPU where that is known."""

    core: float
    gpu: float | None = None


@dataclass(frozen=True)
class Line:
    """The jobs that are missing of one agent with one kind of settings.

    Attributes:
        steps: of all these jobs together; a deep agent's, each of several frames.
        core_hours, gpu_hours: of all of them, on a core of this machine or on a GPU; None: not known.
        memory, disk: GB that each takes while it runs.
    """

    agent: str
    settings: str  # what tells them from the other jobs of the agent
    env: str  # where the speed was measured
    jobs: int
    steps: int
    frames: int
    core_hours: float | None
    gpu_hours: float | None
    longest_gpu_hours: float | None
    memory: float | None
    disk: float | None


@dataclass(frozen=True)
class Estimate:
    """The cost of what is missing of an experiment."""

    experiment: Experiment
    lines: tuple[Line, ...]
    finished: int
    whole: bool  # whether all jobs are known before any has run
    gpus: int

    @property
    def core_hours(self) -> float:
        return sum(line.core_hours or 0.0 for line in self.lines)

    @property
    def gpu_hours(self) -> float:
        return sum(line.gpu_hours or 0.0 for line in self.lines)

    @property
    def hours_on_gpus(self) -> float:
        """With one run at a time on each; no run is shorter than itself."""
        longest = max((line.longest_gpu_hours or 0.0 for line in self.lines), default=0.0)
        return max(self.gpu_hours / self.gpus, longest)

    def words(self) -> str:
        """The totals, and what they are computed from."""
        cores = usable_cores()
        jobs = sum(line.jobs for line in self.lines)
        parts = [
            f"{counted(jobs, 'job')} to run, {self.finished:,} finished already.",
            f"On this machine ({machine()}): {duration(self.core_hours / cores)} on its {cores} cores, "
            "measured just now for seconds of each line.",
        ]
        if self.gpu_hours:
            parts.append(_gpu_words(self))
        disk = sum((line.disk or 0.0) * line.jobs for line in self.lines)
        if disk:
            most = max(line.memory or 0.0 for line in self.lines)
            parts.append(
                f"{disk:,.0f} GB of disk in all, {most:.1f} GB of memory for the largest run."
            )
        unknown = [line.agent for line in self.lines if line.core_hours is None]
        if unknown:
            parts.append(f"Not timed: {', '.join(dict.fromkeys(unknown))}.")
        if not self.whole:
            parts.append("Further jobs depend on the results of these, and are not counted.")
        return " ".join(parts)

    def to_json(self) -> dict[str, Any]:
        from countless.agents.dqn.cost import ASSUMED_FLOPS, ASSUMED_OVERHEAD

        return {
            "name": self.experiment.name,
            "jobs": sum(line.jobs for line in self.lines),
            "finished": self.finished,
            "whole": self.whole,
            "steps": sum(line.steps for line in self.lines),
            "frames": sum(line.frames for line in self.lines),
            "core_hours": self.core_hours,
            "gpu_hours": self.gpu_hours,
            "gpus": self.gpus,
            "hours_on_gpus": self.hours_on_gpus,
            "lines": [asdict(line) for line in self.lines],
            "computed_from": {
                "machine": machine(),
                "cores": usable_cores(),
                "assumed_gpu_flops": ASSUMED_FLOPS,
                "assumed_gpu_overhead_seconds_per_step": ASSUMED_OVERHEAD,
            },
            "words": self.words(),
        }

    def table(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (
                line.agent, line.settings or None, line.env, line.jobs, line.frames or line.steps,
                None if line.core_hours is None else duration(line.core_hours),
                line.gpu_hours, line.memory, line.disk,
            )
            for line in self.lines
        ]  # fmt: skip
        columns = (
            "agent", "settings", "measured in", "jobs", "frames or steps", "on one core", "GPU-hours",
            "GB of memory each", "GB of disk each",
        )  # fmt: skip
        formats = dict.fromkeys(columns[6:], ",.1f")
        title = f"What is missing of {self.experiment.name}, and what it costs"
        return Table(title, columns, tuple(rows), labels=3, note=self.words(), formats=formats)


def duration(hours: float) -> str:
    """In the unit that people would choose.

    >>> duration(1 / 36_000), duration(0.2), duration(30), duration(24_000)
    ('0.1 seconds', '12.0 minutes', '30.0 hours', '1,000.0 days')
    """
    for most, unit, factor in (
        (1 / 60, "seconds", 3600.0),
        (1.0, "minutes", 60.0),
        (48.0, "hours", 1.0),
    ):
        if hours < most:
            return f"{factor * hours:,.1f} {unit}"
    return f"{hours / 24:,.1f} days"


def _gpu_words(estimate: Estimate) -> str:
    from countless.agents.dqn.cost import ASSUMED_FLOPS, ASSUMED_OVERHEAD

    return (
        f"On GPUs: {estimate.gpu_hours:,.1f} GPU-hours, {duration(estimate.hours_on_gpus)} on "
        f"{estimate.gpus} of them with one run at a time on each; "
        "not measured, but assumed to be the operations of an update at "
        f"{ASSUMED_FLOPS / 1e12:g} TFLOP/s and {1000 * ASSUMED_OVERHEAD:g} ms beside each step."
    )


def estimate(
    experiment: Experiment, plan: Plan, store: Store, reporter: Reporter, gpus: int
) -> Estimate:
    """Measure each kind of job that is missing; nothing is written."""
    jobs, whole = _known_jobs(experiment, plan, store)
    missing = [job for job in jobs if store.find(job) is None]
    kinds: dict[str, list[Job]] = {}
    for job in missing:
        kinds.setdefault(_kind(_run_of(job)), []).append(job)
    lines = []
    with reporter.task(f"measuring {experiment.name}", len(kinds)) as task:
        for alike, settings in zip(kinds.values(), _told_apart(kinds.values()), strict=True):
            lines.append(_line(alike, settings))
            task.advance(1)
    return Estimate(experiment, tuple(lines), len(jobs) - len(missing), whole, gpus)


def _known_jobs(experiment: Experiment, plan: Plan, store: Store) -> tuple[list[Job], bool]:
    """The jobs that can be listed now, each once, and whether these are all."""
    jobs: list[Job] = []
    try:
        for listed in experiment.jobs(plan, Records(store)):
            jobs += listed
    except BadInput:
        raise
    except CountlessError:  # a later list needs results that are not there
        return jobs, False
    return jobs, True


def _run_of(job: Job) -> Job:
    """What takes the time: the job itself, or the run that it measures."""
    return (job.of if isinstance(job, MeasurementJob) else None) or job


def _kind(job: Job) -> str:
    """What jobs of the same speed have in common."""
    if isinstance(job, TabularJob):
        return digest({"case": repr(kernel_case(job.settings[0])), "mdp": job.mdp.fingerprint})
    identity = {**job.identity(), "seed": None}
    return digest(identity | {"env": None} if job.engine == "dqn" else identity)


def _told_apart(kinds: Iterable[Sequence[Job]]) -> list[str]:
    """The parameters that tell the kinds of jobs of one agent apart."""
    runs = [_run_of(jobs[0]) for jobs in kinds]
    configs = [dict(run.identity().get("config", {})) for run in runs]
    return [", ".join(words) for words in differences(configs, [run.agent for run in runs])]


def _line(jobs: Sequence[Job], settings: str) -> Line:
    runs: list[Any] = [_run_of(job) for job in jobs]
    first = runs[0]
    measure: Callable[[Any], Speed] | None = {
        "tabular": _tabular_speed, "dqn": _deep_speed, "host": _host_speed,
    }.get(first.engine)  # fmt: skip
    if measure is None:
        return Line(first.label, settings, first.env, len(jobs), 0, 0, None, None, None, None, None)
    speed = measure(first)
    deep = first.engine == "dqn"
    steps = [run.units // run.frames_per_step if deep else run.units for run in runs]
    gpu = None if speed.gpu is None else speed.gpu / HOUR
    return Line(
        first.agent,
        settings,
        first.env,
        len(jobs),
        sum(steps),
        0 if first.engine == "tabular" else sum(run.frames for run in runs),
        sum(steps) * speed.core / HOUR,
        None if gpu is None else sum(steps) * gpu,
        None if gpu is None else max(steps) * gpu,
        None if first.engine == "tabular" else first.memory() / 1e9,
        first.disk() / 1e9 if jobs[0].engine == "dqn" else None,  # a measurement is kept whole
    )


def _tabular_speed(job: TabularJob) -> Speed:
    """Runs of its first setting in one thread, more of them until they take a while."""
    runs = 1
    while True:
        probe = replace(job, settings=job.settings[:1], runs=runs)
        seconds = probe.execute(None, Execution(threads=1)).finished["simulated_seconds"]
        if seconds > PROBE_SECONDS or runs >= 10_000:
            return Speed(seconds / probe.units)
        runs *= 10 if seconds < PROBE_SECONDS / 10 else 3


def _deep_speed(job: Any) -> Speed:
    from countless.agents.dqn.cost import measure_cost
    from countless.agents.dqn.device import make_device, torch_threads
    from countless.runs.dqn import make_envs

    with torch_threads(1):
        cost = measure_cost(make_envs(job, 1)[0], job.config, make_device("cpu"))
    return Speed(cost.step, cost.assumed_step)


def _host_speed(job: Any) -> Speed:
    """A short run of the host, after a shorter one that imports and compiles what it needs."""
    config, steps = job.config.probe()
    probe = replace(job, config=config, frames=steps)
    replace(probe, frames=1).execute(None, Execution())
    began = time.perf_counter()
    probe.execute(None, Execution())
    return Speed((time.perf_counter() - began) / probe.frames)
