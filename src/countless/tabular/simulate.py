"""Drive the kernels: settings x runs over threads, in chunks, the same bits however it is cut."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial

import numpy as np

from countless.core.errors import CountlessError
from countless.envs.mdp import MDP
from countless.tabular.agents import Agent
from countless.tabular.bind import Bound, Returns, Trace, bind

Progress = Callable[[int], None]

STATE, SLOT, REWARD, NORM, VALUE = range(5)  # the last axis of a trace
CHUNK_STEPS = 4_000_000
CHUNK_PLANNED = 200_000  # for agents that plan at every step
NO_TRACE = np.empty((0, 0, 5))


def thread_count() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def simulate(
    agents: Sequence[Agent],
    mdp: MDP,
    *,
    runs: int,
    steps: int,
    seed: int,
    rng: str = "countless",
    first_run: int = 0,
    threads: int | None = None,
    chunk_steps: int | None = None,
    progress: Progress | None = None,
) -> Returns:
    """Undiscounted returns (agents, runs) of `steps` steps each.

    All agents must be of one kind and agree in everything but their real-valued parameters, as
    the settings of a sweep do. `progress` is called with the number of steps just done.
    """
    bound = bind(agents, mdp, steps, seed, rng)
    returns = np.zeros((len(agents), runs))
    size = chunk_steps or (CHUNK_PLANNED if bound.plans else CHUNK_STEPS)
    pieces = _pieces(bound, returns, steps, first_run, size)
    with ThreadPoolExecutor(threads or thread_count()) as pool:
        try:
            _work_off(pool, pieces, 2 * (threads or thread_count()), progress)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    if not np.isfinite(returns).all():
        raise CountlessError(f"{mdp.name}: a return is not finite; the values diverged")
    return returns


def trace_runs(
    agent: Agent,
    mdp: MDP,
    *,
    runs: int,
    steps: int,
    seed: int,
    rng: str = "countless",
    first_run: int = 0,
) -> Trace:
    """What happened, step by step: (runs, steps, 5) of state, slot, reward, norm, updated value.

    The norm is that of the SR after the step's update, or the visit count for `sarsa-counts`.
    """
    trace = np.zeros((runs, steps, 5))
    bind([agent], mdp, steps, seed, rng).kernel(slice(0, 1), np.zeros((1, runs)), first_run, trace)
    return trace


def compile_kernels(agents: Sequence[Agent], mdp: MDP, rng: str) -> None:
    """Compile what `simulate` will call, so that a clock started after it times only the work."""
    bind(agents[:1], mdp, 1, 0, rng).kernel(slice(0, 1), np.zeros((1, 1)), 0, NO_TRACE)


Piece = tuple[int, Callable[[], None]]


def _work_off(
    pool: ThreadPoolExecutor, pieces: Iterator[Piece], ahead: int, progress: Progress | None
) -> None:
    """Keep the pool busy with `ahead` pieces at a time, reporting each as it ends."""
    under_way: dict[Future[None], int] = {}
    for size, work in pieces:
        under_way[pool.submit(work)] = size
        if len(under_way) >= ahead:
            _collect(under_way, progress)
    while under_way:
        _collect(under_way, progress)


def _collect(under_way: dict[Future[None], int], progress: Progress | None) -> None:
    done, _ = wait(under_way, return_when=FIRST_COMPLETED)
    for future in done:
        size = under_way.pop(future)
        future.result()
        if progress is not None:
            progress(size)


def _pieces(
    bound: Bound, returns: Returns, steps: int, first_run: int, chunk_steps: int
) -> Iterator[Piece]:
    """Chunks of about `chunk_steps` steps: several settings, or some runs of one."""
    n_settings, runs = returns.shape
    chunk_runs = max(1, min(runs, chunk_steps // steps)) if bound.divisible else runs
    chunk_settings = max(1, chunk_steps // (steps * runs))
    for low in range(0, n_settings, chunk_settings):
        settings = slice(low, min(low + chunk_settings, n_settings))
        for run in range(0, runs, chunk_runs):
            part = returns[settings, run : run + chunk_runs]
            work = partial(bound.kernel, settings, part, first_run + run, NO_TRACE)
            yield part.size * steps, work
