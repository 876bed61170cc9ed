"""Drive the kernels: settings x runs over threads, in chunks, the same bits however it is cut."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.core.errors import BadInput, CountlessError
from countless.core.seeding import seed_words, stream_key
from countless.envs.mdp import MDP
from countless.envs.solve import optimal_q
from countless.tabular.agents import Agent, OptimalAgent, RandomAgent, Sarsa, SarsaSR, describe
from countless.tabular.kernels import fixed, replay, sarsa, twister
from countless.tabular.kernels.model import Model, compile_model

Returns = NDArray[np.float64]
Trace = NDArray[np.float64]
Progress = Callable[[int], None]

STATE, SLOT, REWARD, NORM, VALUE = range(5)  # the last axis of a trace
MOST_LANES = 32
LANE_BUDGET = 256 * 1024  # bytes of tables that a block of lanes may take: inside L2
CHUNK_STEPS = 4_000_000
NO_TRACE = np.empty((0, 0, 5))


def thread_count() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def configuration_key(agent: Agent, mdp: MDP) -> tuple[int, int]:
    """What names this agent in this MDP in the tree of seeds."""
    return stream_key({"agent": agent.name, "mdp": mdp.fingerprint, **describe(agent)})


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
    chunk_steps: int = CHUNK_STEPS,
    progress: Progress | None = None,
) -> Returns:
    """Undiscounted returns (agents, runs) of `steps` steps each.

    All agents must be of one kind and agree in everything but their real-valued parameters, as
    the settings of a sweep do. `progress` is called with the number of steps just done.
    """
    plan = _plan(agents, mdp, steps, seed, rng)
    returns = np.zeros((len(agents), runs))
    pieces = plan.pieces(returns, first_run, chunk_steps)
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
    plan = _plan([agent], mdp, steps, seed, rng)
    trace = np.zeros((runs, steps, 5))
    plan.kernel(slice(0, 1), np.zeros((1, runs)), first_run, trace)
    return trace


def compile_kernels(agents: Sequence[Agent], mdp: MDP, rng: str) -> None:
    """Compile what `simulate` will call, so that a clock started after it times only the work."""
    _plan(agents[:1], mdp, 1, 0, rng).kernel(slice(0, 1), np.zeros((1, 1)), 0, NO_TRACE)


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


Kernel = Callable[[slice, Returns, int, Trace], None]  # settings, returns, first run, trace


@dataclass(frozen=True)
class _Plan:
    """A kernel with everything bound but which settings and which runs."""

    kernel: Kernel
    n_settings: int
    steps: int
    divisible: bool = True  # runs that share a stream must stay together, in order

    def pieces(self, returns: Returns, first_run: int, chunk_steps: int) -> Iterator[Piece]:
        """Chunks of about `chunk_steps` steps: several settings, or some runs of one."""
        runs = returns.shape[1]
        chunk_runs = max(1, min(runs, chunk_steps // self.steps)) if self.divisible else runs
        chunk_settings = max(1, chunk_steps // (self.steps * runs))
        for low in range(0, self.n_settings, chunk_settings):
            settings = slice(low, min(low + chunk_settings, self.n_settings))
            for run in range(0, runs, chunk_runs):
                part = returns[settings, run : run + chunk_runs]
                work = partial(self.kernel, settings, part, first_run + run, NO_TRACE)
                yield part.size * self.steps, work


def _plan(agents: Sequence[Agent], mdp: MDP, steps: int, seed: int, rng: str) -> _Plan:
    model = compile_model(mdp)
    first = agents[0]
    if rng == "authors":
        _check_replayable(first, mdp)
        return _Plan(
            _replay_kernel(_Table(agents), model, seed, steps), len(agents), steps, divisible=False
        )
    keys = np.array([configuration_key(agent, mdp) for agent in agents], dtype=np.uint32)
    if isinstance(first, RandomAgent | OptimalAgent):
        if len(agents) > 1:
            raise BadInput(f"{first.name} takes one setting at a time")
        return _Plan(
            _fixed_kernel(_policy_slots(first, mdp), model, keys[0], seed, steps), 1, steps
        )
    return _Plan(_sarsa_kernel(_Table(agents), model, keys, seed, steps), len(agents), steps)


def _sarsa_kernel(table: _Table, model: Model, keys: Any, seed: int, steps: int) -> Kernel:
    words, lanes = seed_words(seed), _lane_count(model, table.bonus)
    general = model.episodic or model.ragged or table.executed

    def kernel(settings: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        sarsa.sarsa(
            model,
            table.bonus,
            sarsa.GENERAL if general or len(trace) > 0 else sarsa.PLAIN,
            table.p,
            table.settings[settings],
            table.executed,
            table.truncate,
            steps,
            words,
            keys[settings],
            first_run,
            lanes,
            returns,
            trace,
        )

    return kernel


def _replay_kernel(table: _Table, model: Model, seed: int, steps: int) -> Kernel:
    def kernel(settings: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        for setting, row in zip(table.settings[settings], returns, strict=True):
            replay.replay_sarsa(
                model,
                table.bonus != sarsa.NO_BONUS,
                table.p,
                setting,
                table.executed,
                table.truncate,
                steps,
                twister.python_twister(seed),
                twister.numpy_twister(seed),
                row,
                trace,
            )

    return kernel


def _fixed_kernel(
    policy: NDArray[np.int64], model: Model, key: Any, seed: int, steps: int
) -> Kernel:
    words = seed_words(seed)

    def kernel(settings: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        fixed.follow(model, policy, steps, words, key, first_run, returns[0], trace)

    return kernel


def _check_replayable(agent: Agent, mdp: MDP) -> None:
    if not isinstance(agent, Sarsa | SarsaSR):
        raise BadInput(
            f"--rng authors replays the released scripts, which have sarsa and sarsa-sr, "
            f"not {agent.name}"
        )
    if mdp.episode_limit is not None:
        raise BadInput(
            f"--rng authors: the released scripts cannot run {mdp.name}; use an .mdp file"
        )
    slot = np.arange(len(mdp.pair_action)) - mdp.state_offsets[mdp.pair_state]
    for pair in np.flatnonzero(slot != mdp.pair_action)[:1]:
        s = mdp.pair_state[pair]
        raise BadInput(
            f"--rng authors: the released scripts cannot run {mdp.name}: state {s} offers actions "
            f"{', '.join(map(str, mdp.actions(s)))}; they must be 0, 1, ... without gaps"
        )


class _Table:
    """Settings of one kind of learning agent as the kernels take them."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        shapes = {shape_of(agent) for agent in agents}
        if len(shapes) > 1:
            raise BadInput("settings of one call must agree in agent, norm, update and time_limit")
        ((_, self.p, update, time_limit),) = shapes
        self.executed = update == "executed"
        self.truncate = time_limit == "truncation"
        self.bonus = _bonus(agents[0])
        names = ("alpha", "epsilon", "gamma", "eta", "gamma_sr", "beta")
        self.settings = np.array(
            [[getattr(agent, name, 0.0) for name in names] for agent in agents]
        )


def shape_of(agent: Agent) -> tuple[str, float, str, str]:
    """What the settings of one kernel call must have in common."""
    return (
        agent.name,
        getattr(agent, "norm", 1.0),
        getattr(agent, "update", ""),
        getattr(agent, "time_limit", ""),
    )


def _bonus(agent: Agent) -> tuple[int, ...]:
    if isinstance(agent, SarsaSR):
        return sarsa.SR_L1 if agent.norm == 1.0 else sarsa.SR_MATRIX
    return sarsa.NO_BONUS if isinstance(agent, Sarsa) else sarsa.COUNTS


def _policy_slots(agent: RandomAgent | OptimalAgent, mdp: MDP) -> NDArray[np.int64]:
    if isinstance(agent, RandomAgent):
        return np.full(mdp.n_states, -1)
    best = optimal_q(mdp, agent.gamma).argmax(axis=1)
    offers = np.zeros((mdp.n_states, mdp.n_actions), dtype=np.int64)
    offers[mdp.pair_state, mdp.pair_action] = 1
    slots: NDArray[np.int64] = np.cumsum(offers, axis=1)[np.arange(mdp.n_states), best] - 1
    return slots


def _lane_count(model: Model, bonus: tuple[int, ...]) -> int:
    states = len(model.n_slots)
    table = states * (8 * len(model.slots) + 16)
    if bonus == sarsa.SR_MATRIX:
        table += 8 * states * (states + 3)
    return max(1, min(MOST_LANES, LANE_BUDGET // table))
