"""countless run with a deep agent."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from countless.analysis.tables import Table, number
from countless.cli.options import given_parameters
from countless.cli.show import PLAIN_EVERY, print_json, print_table
from countless.cli.stopping import Patience
from countless.core.errors import BadInput
from countless.core.parameters import settings_label
from countless.runs.deep import DeepJob, DeepResult, Status, Stopped, make_job
from countless.runs.deep_folder import LAST
from countless.runs.jobs import run_jobs

OUT, SCALE = Path("results/deep"), "paper"
WIDE = 130  # columns that a bar and all words take


def command(arguments: argparse.Namespace) -> None:
    for option in ("runs", "steps"):
        if getattr(arguments, option) is not None:
            raise BadInput(f"{arguments.agent} is a deep agent: give --frames and --seeds")
    if arguments.rng != "countless":
        raise BadInput(f"{arguments.agent} is a deep agent: --rng authors is for tabular agents")
    jobs = jobs_of(arguments)
    out = arguments.out or OUT / (arguments.scale or SCALE)
    results = run_patiently(jobs, out, 1 if arguments.threads is None else arguments.threads)
    if arguments.json:
        print_json({"runs": [result.to_json() for result in results]})
    else:
        print_table(result_table(results))


def jobs_of(arguments: argparse.Namespace) -> list[DeepJob]:
    """A job a seed."""
    parameters = given_parameters(arguments)
    # In a folder of the user's choice a run of other settings is an error, in ours it has its own.
    label = settings_label(arguments.agent, settings=parameters) if arguments.out is None else ""
    variant = parameters.pop("variant", "paper")
    if arguments.seeds is not None and arguments.seed is not None:
        raise BadInput("give --seed or --seeds, not both")
    seeds = arguments.seeds if arguments.seeds is not None else [arguments.seed or 0]
    if len(set(seeds)) < len(seeds):
        raise BadInput(f"--seeds names a seed twice: {' '.join(map(str, seeds))}")
    return [
        make_job(
            arguments.agent,
            arguments.env,
            seed=seed,
            frames=arguments.frames,
            scale=arguments.scale or SCALE,
            variant=variant,
            device=arguments.device or "auto",
            precision=arguments.precision or "float32",
            compile=arguments.compile,
            parameters=parameters,
            label=label,
        )
        for seed in seeds
    ]


def run_patiently(jobs: list[DeepJob], out: Path, threads: int) -> list[DeepResult]:
    """Run with a progress bar; asked to stop, write checkpoints first."""
    with Patience() as patience, progress(jobs) as report:
        try:
            return run_jobs(jobs, out, threads=threads, report=report, stop=patience.asked)
        except Stopped:
            pass
    print(
        f"countless: checkpoints are in {out}; the same command goes on from there",
        file=sys.stderr,
    )
    raise patience.reason()


def result_table(results: list[DeepResult]) -> Table:
    """One row a seed."""
    rows = []
    for result in results:
        last = result.scores[-LAST:]
        rows.append(
            (
                str(result.job.seed),
                f"{len(result.scores):,}",
                number(float(np.mean(last))) if last else "no episode ended",
                number(float(np.std(last, ddof=1))) if len(last) > 1 else "-",
                _speed(result),
            )
        )
    job = results[0].job
    title = f"{job.agent} in {job.env}: {job.frames:,} frames, variant {job.config.variant}"
    columns = ("seed", "episodes", f"mean of last {LAST}", "SD", "steps/s")
    notes = [str(result.folder) for result in results]
    if not all(result.scores for result in results):
        notes.append("An episode that began in the warm-up is not counted: give more --frames.")
    for result in results:
        if result.features is not None and result.features.collapsed:
            notes.append(f"Seed {result.job.seed}: {result.features.warning()}.")
    return Table(title, columns, tuple(rows), note="\n".join(notes))


def _speed(result: DeepResult) -> str:
    if result.seconds == 0.0:
        return "done before"
    return f"{result.steps_per_second:.0f}" if result.steps_per_second else "-"


def _words(status: Status, warmup: int, narrow: bool = False) -> str:
    """How a run stands, in fewer letters where there is little room."""
    if status.frames == 0:
        return f"warm-up {100 * status.warm // warmup}%"
    score = "-" if status.mean_score is None else number(status.mean_score)
    bonus = "" if status.bonus is None else f", bonus {status.bonus:.2g}"
    speed, epsilon = f"{status.frames_per_second:,.0f}", f"ε {status.epsilon:.2f}"
    if narrow:
        frames = f"{status.frames / 1e6:.3g}M" if status.frames >= 1e6 else f"{status.frames:,}"
        if score.startswith(("0.", "-0.")):
            score = f"{status.mean_score:.3g}"
        words = f"{frames} frames, {speed}/s, {status.episodes} ep., mean {score}, {epsilon}{bonus}"
        return words.replace(", ", " ")
    return (
        f"{status.frames:,} frames, {speed}/s, {status.episodes} episodes, last {LAST}: {score}, "
        f"{epsilon}{bonus}"
    )


@contextmanager
def progress(jobs: list[DeepJob]) -> Iterator[Callable[[Status], None]]:
    """A bar a seed on stderr; lines now and then where it is no terminal."""
    warmup = jobs[0].config.warmup
    if not sys.stderr.isatty():
        yield _lines(jobs, warmup)
        return
    console = Console(stderr=True)
    narrow = console.width < WIDE
    bar = () if narrow else (BarColumn(bar_width=20),)
    bars = Progress(
        TextColumn("seed {task.fields[seed]}"),
        *bar,
        TextColumn("{task.percentage:3.0f}%"),
        TextColumn("{task.description}"),
        *(() if narrow else (TimeElapsedColumn(), TextColumn("left"))),
        TimeRemainingColumn(compact=narrow),
        console=console,
        transient=True,
    )
    tasks = {job.seed: bars.add_task("starting", total=job.frames, seed=job.seed) for job in jobs}
    with bars:
        yield lambda status: bars.update(
            tasks[status.job.seed],
            completed=min(status.frames, jobs[0].frames),
            description=_words(status, warmup, narrow),
        )


def _lines(jobs: list[DeepJob], warmup: int) -> Callable[[Status], None]:
    last = {job.seed: time.monotonic() for job in jobs}

    def report(status: Status) -> None:
        if time.monotonic() - last[status.job.seed] > PLAIN_EVERY:
            last[status.job.seed] = time.monotonic()
            words = _words(status, warmup)
            print(f"{jobs[0].agent} seed {status.job.seed}: {words}", file=sys.stderr, flush=True)

    return report
