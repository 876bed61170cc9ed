"""Drive the kernels: settings x runs over threads, in chunks, the same bits however it is cut."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countless.agents.tabular import TABULAR_AGENTS
from countless.agents.tabular.agent import TabularAgent, kernel_case, resolve
from countless.agents.tabular.task import BoundKernel, Returns, Trace, make_task
from countless.core.cores import usable_cores
from countless.core.errors import BadInput, CountlessError, named
from countless.envs.mdp import MDP

Progress = Callable[[int], None]

STATE, SLOT, REWARD, NORM, VALUE = range(5)  # the last axis of a trace
CHUNK_STEPS = 4_000_000
CHUNK_PLANNED = 2_000_000  # divided by |S|, for agents that plan at every step
CHUNK_TRACED = 250_000  # where every step is written down: 10 MB
NO_TRACE = np.empty((0, 0, 5))


@dataclass(frozen=True)
class Curves:
    """Where `simulate` puts the reward collected so far: after `steps[k]` steps, `values[:, :, k]`."""

    steps: NDArray[np.int64]
    values: Returns  # (agents, runs, len(steps))


def prepare_kernel(
    agents: Sequence[TabularAgent], mdp: MDP, steps: int, seed: int, rng: str
) -> BoundKernel:
    """The kernel that runs these settings; a `BadInput` if they cannot run in this MDP.

    Settings of one kernel must agree in everything but their real-valued parameters.
    """
    agents = [resolve(agent, mdp) for agent in agents]
    if len({kernel_case(agent) for agent in agents}) > 1:
        raise BadInput(
            "settings of one call must agree in agent, norm and all that is not a number"
        )
    kind = type(agents[0])
    if rng != "authors":
        return kind.kernel(agents, make_task(agents, mdp, steps, seed))
    if not kind.replays_released_draws:
        able = [agent.name for agent in TABULAR_AGENTS if agent.replays_released_draws]
        raise BadInput(
            f"{named('rng', 'authors')} replays the released scripts, which have "
            f"{', '.join(able[:-1])} and {able[-1]}, not {kind.name}"
        )
    return kind.released_script_kernel(agents, make_task(agents, mdp, steps, seed))


def plans(agent: TabularAgent, mdp: MDP) -> bool:
    """Whether the agent plans, so that a step takes microseconds and not nanoseconds."""
    return prepare_kernel([agent], mdp, 1, 0, "countless").plans


def simulate(
    agents: Sequence[TabularAgent],
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
    curves: Curves | None = None,
) -> Returns:
    """Undiscounted returns (agents, runs) of `steps` steps each.

    All agents must be of one kind and agree in everything but their real-valued parameters, as
    the settings of a sweep do. `progress` is called with the number of steps just done. `curves`
    is filled with the reward collected so far in each run, at the steps that it names.

    >>> from countless.agents.tabular.sarsa_sr import SarsaSR
    >>> from countless.envs import make_mdp
    >>> settings = [SarsaSR(beta=10.0), SarsaSR(beta=100.0)]
    >>> simulate(settings, make_mdp("riverswim"), runs=3, steps=100, seed=0).shape
    (2, 3)
    """
    kernel = prepare_kernel(agents, mdp, steps, seed, rng)
    returns = np.zeros((len(agents), runs))
    chunk = chunk_steps or (CHUNK_PLANNED // mdp.n_states if kernel.plans else CHUNK_STEPS)
    if curves is not None:
        chunk = min(chunk, CHUNK_TRACED)
    work = _Work(kernel, returns, steps, first_run, chunk, progress or (lambda done: None), curves)
    threads = threads or usable_cores()
    with ThreadPoolExecutor(threads) as pool:
        try:
            _work_off(pool, work.pieces(), 2 * threads)
        except BaseException:
            work.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    if not np.isfinite(returns).all():
        raise CountlessError(
            f"{agents[0].name} in {mdp.name}: the values grew beyond all numbers; "
            "smaller step sizes or a smaller beta would keep them"
        )
    return returns


def trace_runs(
    agent: TabularAgent,
    mdp: MDP,
    *,
    runs: int,
    steps: int,
    seed: int,
    rng: str = "countless",
    first_run: int = 0,
) -> Trace:
    """What happened, step by step: (runs, steps, 5) of state, slot, reward, norm, value.

    For a learning agent the norm is that of the SR after the step's update (the visit count for
    `sarsa-counts`, the norm of the SR's column for `spie`, that of the DR's row for `sarsa-dr`) and
    the value is the updated one. For a planning agent the value is the one it acted on; of those
    only `essr` has a norm, that of the substochastic SR. NaN stands for what an agent does not have.
    """
    trace = np.zeros((runs, steps, 5))
    trace[:, :, NORM:] = np.nan
    kernel = prepare_kernel([agent], mdp, steps, seed, rng)
    kernel.call(slice(0, 1), np.zeros((1, runs)), first_run, trace)
    return trace


def compile_kernels(
    agents: Sequence[TabularAgent], mdp: MDP, rng: str, traced: bool = False
) -> None:
    """Compile what `simulate` will call, so that a clock started after it times only the work."""
    trace = np.zeros((1, 1, 5)) if traced else NO_TRACE
    kernel = prepare_kernel(agents[:1], mdp, 1, 0, rng)
    kernel.call(slice(0, 1), np.zeros((1, 1)), 0, trace)


@dataclass
class _Work:
    """Settings x runs, cut into pieces of well below a second each, so that an interrupt is quick."""

    kernel: BoundKernel
    returns: Returns
    steps: int
    first_run: int
    chunk_steps: int
    progress: Progress
    curves: Curves | None = None

    def __post_init__(self) -> None:
        self.stop = threading.Event()
        self.lock = threading.Lock()

    def pieces(self) -> Iterator[Callable[[], None]]:
        """Several settings, or some runs of one; runs that share a stream follow one another."""
        n_settings, runs = self.returns.shape
        chunk_runs = max(1, min(runs, self.chunk_steps // self.steps))
        chunk_settings = max(1, self.chunk_steps // (self.steps * runs))
        for low in range(0, n_settings, chunk_settings):
            settings = slice(low, min(low + chunk_settings, n_settings))
            cuts = [slice(run, min(run + chunk_runs, runs)) for run in range(0, runs, chunk_runs)]
            if self.kernel.divisible:
                yield from (self._piece(settings, [cut]) for cut in cuts)
            else:
                yield self._piece(settings, cuts)

    def _piece(self, settings: slice, cuts: list[slice]) -> Callable[[], None]:
        def work() -> None:
            for cut in cuts:
                if self.stop.is_set():
                    return
                part = self.returns[settings, cut]
                if self.curves is None:
                    self.kernel.call(settings, part, self.first_run + cut.start, NO_TRACE)
                else:
                    self._trace(settings, cut, self.curves)
                with self.lock:
                    self.progress(part.size * self.steps)

        return work

    def _trace(self, settings: slice, cut: slice, curves: Curves) -> None:
        """One setting at a time: a trace has no axis for settings."""
        trace = np.zeros((cut.stop - cut.start, self.steps, 5))
        for i in range(settings.start, settings.stop):
            one, first = slice(i, i + 1), self.first_run + cut.start
            self.kernel.call(one, self.returns[one, cut], first, trace)
            reward_so_far = trace[:, :, REWARD].cumsum(axis=1)
            curves.values[i, cut] = reward_so_far[:, curves.steps - 1]


def _work_off(pool: ThreadPoolExecutor, pieces: Iterator[Callable[[], None]], ahead: int) -> None:
    """Keep the pool busy with `ahead` pieces at a time; the first error ends it."""
    under_way: set[Future[None]] = set()
    for piece in pieces:
        under_way.add(pool.submit(piece))
        if len(under_way) >= ahead:
            under_way = _collect(under_way)
    while under_way:
        under_way = _collect(under_way)


def _collect(under_way: set[Future[None]]) -> set[Future[None]]:
    done, left = wait(under_way, return_when=FIRST_COMPLETED)
    for future in done:
        future.result()
    return left
