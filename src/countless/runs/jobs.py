"""Several deep runs at once: a process each, with threads of its own."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countless.agents.dqn.device import tune_process
from countless.core.errors import BadInput, CountlessError
from countless.core.memory import available_memory
from countless.envs.games import make_game
from countless.runs.deep import (
    DeepJob,
    DeepResult,
    Status,
    Stopped,
    memory_needed,
    no_stop,
    run_deep,
)
from countless.runs.deep_folder import check_folder

SIGNALS = {signal.SIGINT, signal.SIGTERM}


@dataclass(frozen=True)
class _Failed:
    """How a run ended that did not reach its frames."""

    message: str
    bad_input: bool = False
    stopped: bool = False


def run_jobs(
    jobs: list[DeepJob],
    out: Path,
    *,
    threads: int = 1,
    report: Callable[[Status], None] = lambda status: None,
    stop: Callable[[], bool] = no_stop,
) -> list[DeepResult]:
    """Run jobs, as many at once as there are cores; the same bits as one after the other."""
    if threads < 1:
        raise BadInput(f"threads must be a whole number from 1, not {threads}")
    if len(jobs) == 1:
        tune_process(threads)
        return [run_deep(jobs[0], out, report=report, stop=stop)]
    for job in jobs:
        check_folder(job.folder(out), job.identity())  # before hours go into one of them
    at_once = max(1, min(len(jobs), (os.cpu_count() or 1) // threads))
    _check_memory_of(jobs, at_once)
    context = multiprocessing.get_context("spawn")
    messages: Any = context.Queue()
    asked = context.Event()
    waiting = list(enumerate(jobs))
    running: dict[int, Any] = {}
    ended: dict[int, DeepResult | _Failed] = {}
    while waiting or running:
        while waiting and len(running) < at_once and not asked.is_set():
            i, job = waiting.pop(0)
            process = context.Process(
                target=_child, args=(i, job, out, threads, messages, asked), daemon=True
            )
            _start(process)
            running[i] = process
        if asked.is_set():
            waiting.clear()
        if stop():
            asked.set()
        _listen(messages, running, ended, report)
    return _collect(ended, asked.is_set())


def _start(process: Any) -> None:
    """Start a child that lets signals wait until it knows what to do with them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check_memory_of(jobs: list[DeepJob], at_once: int) -> None:
    """The largest jobs that may run together must fit into memory together."""
    sizes: dict[tuple[str, int], float] = {}
    for job in jobs:
        key = (job.env, job.config.replay)
        if key not in sizes:
            sizes[key] = memory_needed(make_game(job.env, 0), job.config)
    needed = sum(
        sorted((sizes[job.env, job.config.replay] for job in jobs), reverse=True)[:at_once]
    )
    there = available_memory()
    if needed > there:
        raise BadInput(
            f"{at_once} runs at once need {needed / 1e9:.1f} GB of memory, {there / 1e9:.1f} GB are "
            "free; give fewer seeds at a time, more --threads each, or a smaller --replay"
        )


def _listen(
    messages: Any,
    running: dict[int, Any],
    ended: dict[int, DeepResult | _Failed],
    report: Callable[[Status], None],
) -> None:
    """Take one message, or notice a process that died without one."""
    dead = {i: process.exitcode for i, process in running.items() if process.exitcode is not None}
    try:
        i, message = messages.get(timeout=0.2)
    except queue.Empty:
        for i, code in dead.items():
            ended[i] = _Failed(f"the process of a run died (exit code {code})")
            del running[i]
        return
    if isinstance(message, Status):
        report(message)
    else:
        ended[i] = message
        running.pop(i).join()


def _collect(ended: dict[int, DeepResult | _Failed], asked: bool) -> list[DeepResult]:
    failures = [end for end in ended.values() if isinstance(end, _Failed)]
    for failure in failures:
        if not failure.stopped:
            raise (BadInput if failure.bad_input else CountlessError)(failure.message)
    if failures or asked:
        raise Stopped
    return [end for _, end in sorted(ended.items()) if isinstance(end, DeepResult)]


def _child(i: int, job: DeepJob, out: Path, threads: int, messages: Any, asked: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent asks
    parent = os.getppid()
    told: list[int] = []  # where all processes of a job get SIGTERM, not the parent alone
    signal.signal(signal.SIGTERM, lambda signum, frame: told.append(signum))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    tune_process(threads)
    try:
        result = run_deep(
            job,
            out,
            report=lambda status: messages.put((i, status)),
            stop=lambda: bool(told) or asked.is_set() or os.getppid() != parent,
        )
        messages.put((i, result))
    except Stopped:
        messages.put((i, _Failed("", stopped=True)))
    except CountlessError as error:
        where = f"{job.agent} in {job.env}, seed {job.seed}: {error}"
        messages.put((i, _Failed(where, bad_input=isinstance(error, BadInput))))
    except Exception as error:
        where = f"{job.agent} in {job.env}, seed {job.seed}: {type(error).__name__}: {error}"
        messages.put((i, _Failed(where)))
