"""From agents to kernels: everything bound but which settings and which runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.tabular.agents import Agent, describe
from countless.agents.tabular.kernels import (
    e3,
    essr,
    essr_model,
    essr_released_planner,
    fixed_policy,
    optimism,
    psrl,
    sarsa,
    ssr_bonus,
)
from countless.agents.tabular.kernels.mdp_arrays import MDPArrays, compile_mdp
from countless.agents.tabular.kernels.planning import MOST_PASSES
from countless.agents.tabular.kernels.run_loop import Runs, run_all
from countless.agents.tabular.model_based import E3, Essr, Mbie, MbieEb, Psrl, RMax, Ucrl2
from countless.agents.tabular.model_free import (
    OptimalAgent,
    RandomAgent,
    Sarsa,
    SarsaCounts,
    SarsaSR,
    Spie,
)
from countless.agents.tabular.released import essr as released_essr
from countless.agents.tabular.released import sarsa as released_sarsa
from countless.agents.tabular.released.twister import ReleasedDraws, released_draws
from countless.core.errors import BadInput, CountlessError
from countless.core.seeding import seed_words, stream_key
from countless.envs.mdp import MDP
from countless.envs.solve import optimal_q

Returns = NDArray[np.float64]
Trace = NDArray[np.float64]
Kernel = Callable[[slice, Returns, int, Trace], None]  # settings, returns, first run, trace

MOST_LANES = 32
LANE_BUDGET = 256 * 1024  # bytes of tables that a block of lanes may take: inside L2
MOST_PLANNED_STATES = 5000
MOST_MATRIX_STATES = 10_000


@dataclass(frozen=True)
class Bound:
    """A kernel ready to run."""

    kernel: Kernel
    divisible: bool = True  # runs that share a stream must follow one another
    plans: bool = False  # a step takes microseconds, not nanoseconds


@dataclass(frozen=True)
class _Task:
    """What every kernel needs."""

    mdp: MDP
    arrays: MDPArrays
    keys: NDArray[np.uint32]
    seed: int
    steps: int

    def runs(self, settings: NDArray[np.float64], chosen: slice, first_run: int) -> Runs:
        """Runs of the chosen settings, from number `first_run` on."""
        words = seed_words(self.seed)
        return Runs(settings[chosen], self.keys[chosen], words, first_run, self.steps)


def configuration_key(agent: Agent, mdp: MDP) -> tuple[int, int]:
    """What names this agent in this MDP in the tree of seeds."""
    return stream_key({"agent": agent.name, "mdp": mdp.fingerprint, **describe(agent)})


def shape_of(agent: Agent) -> tuple[Any, ...]:
    """What the settings of one kernel call must have in common: all but the real numbers."""
    shared = {k: v for k, v in asdict(agent).items() if isinstance(v, str) or k == "norm"}
    return (agent.name, *shared.items())


def bind(agents: Sequence[Agent], mdp: MDP, steps: int, seed: int, rng: str) -> Bound:
    """The kernel of these settings, which must agree in all but their real-valued parameters."""
    if len({shape_of(agent) for agent in agents}) > 1:
        raise BadInput(
            "settings of one call must agree in agent, norm and all that is not a number"
        )
    first = agents[0]
    keys = np.array([configuration_key(agent, mdp) for agent in agents], dtype=np.uint32)
    task = _Task(mdp, compile_mdp(mdp), keys, seed, steps)
    if rng == "authors":
        return _replayed(agents, task)
    if isinstance(first, RandomAgent | OptimalAgent):
        return _unlearned(agents, task)
    if isinstance(first, Sarsa | SarsaSR | SarsaCounts | Spie):
        return _sarsa(agents, task)
    return _planned(agents, task)


def _columns(agents: Sequence[Agent], *names: str) -> NDArray[np.float64]:
    """A table of settings: one row per agent, one column per parameter (0 where it has none)."""
    return np.array([[float(getattr(agent, name, 0.0)) for name in names] for agent in agents])


SARSA_COLUMNS = ("alpha", "epsilon", "gamma", "eta", "gamma_sr", "beta")


def _sarsa(agents: Sequence[Agent], task: _Task) -> Bound:
    first, arrays = agents[0], task.arrays
    bonus = _bonus(first)
    matrix = isinstance(bonus, sarsa.SRNorm | sarsa.Spie)
    if matrix:
        _check_matrix(first, task.mdp)
    options = sarsa.Options(
        executed=getattr(first, "update", "") == "executed",
        truncate=getattr(first, "time_limit", "") == "truncation",
        matrix=matrix,
        lanes=_lane_count(arrays, matrix),
    )
    general = arrays.episodic or arrays.ragged or options.executed
    settings = _columns(agents, *SARSA_COLUMNS)

    def kernel(chosen: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        case = sarsa.GENERAL if general or len(trace) > 0 else sarsa.PLAIN
        runs = task.runs(settings, chosen, first_run)
        sarsa.sarsa(arrays, bonus, case, options, runs, returns, trace)

    return Bound(kernel)


def _check_matrix(agent: Agent, mdp: MDP) -> None:
    if mdp.n_states > MOST_MATRIX_STATES:
        raise BadInput(
            f"{agent.name} keeps a matrix of |S|^2 numbers here: {mdp.name} has {mdp.n_states:,} "
            f"states, the most is {MOST_MATRIX_STATES:,} (sarsa-sr with --norm 1 needs no matrix)"
        )


def _replayed(agents: Sequence[Agent], task: _Task) -> Bound:
    first = agents[0]
    _check_replayable(first, task.mdp)
    if isinstance(first, SarsaSR | Essr):
        _check_matrix(first, task.mdp)
    if task.seed >= 2**32:
        raise BadInput(f"--rng authors takes seeds up to {2**32 - 1:,}, not {task.seed:,}")
    play = (
        _replayed_essr(agents, task) if isinstance(first, Essr) else _replayed_sarsa(agents, task)
    )
    draws: dict[int, ReleasedDraws] = {}

    def kernel(chosen: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        for i in range(chosen.start, chosen.stop):
            if first_run == 0:
                draws[i] = released_draws(task.seed)
            play(i, (task.steps, draws[i], returns[i - chosen.start], trace))

    return Bound(kernel, divisible=False)


def _replayed_sarsa(agents: Sequence[Agent], task: _Task) -> Callable[[int, Any], None]:
    first, settings = agents[0], _columns(agents, *SARSA_COLUMNS)
    options = released_sarsa.Options(
        bonus=isinstance(first, SarsaSR),
        p=getattr(first, "norm", 1.0),
        executed=getattr(first, "update", "") == "executed",
        truncate=getattr(first, "time_limit", "") == "truncation",
    )

    def play(i: int, rest: Any) -> None:
        released_sarsa.released_sarsa(task.arrays, options, settings[i], *rest)

    return play


def _replayed_essr(agents: Sequence[Agent], task: _Task) -> Callable[[int, Any], None]:
    planning, settings = _planner(agents, np.ones(2))

    def play(i: int, rest: Any) -> None:
        if not released_essr.released_essr(task.arrays, planning.shared, settings[i], *rest):
            raise _not_converged(agents[0], task.mdp)

    return play


def _unlearned(agents: Sequence[Agent], task: _Task) -> Bound:
    policies = [_policy_slots(agent, task.mdp) for agent in agents]
    words = seed_words(task.seed)

    def kernel(chosen: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        for policy, key, row in zip(policies[chosen], task.keys[chosen], returns, strict=True):
            fixed_policy.follow_policy(
                task.arrays, policy, task.steps, words, key, first_run, row, trace
            )

    return Bound(kernel)


def _planned(agents: Sequence[Agent], task: _Task) -> Bound:
    """Kernels that plan share a signature; they say False when planning did not converge."""
    first, mdp = agents[0], task.mdp
    if mdp.n_states > MOST_PLANNED_STATES:
        raise BadInput(
            f"{first.name} plans with a matrix of |S|^2 numbers: {mdp.name} has {mdp.n_states:,} "
            f"states, the most is {MOST_PLANNED_STATES:,}"
        )
    scale = reward_scale(mdp, first.name)
    if isinstance(first, Essr) and first.plans_as_released:
        _check_released(mdp)
    options, settings = _planner(agents, scale)

    def kernel(chosen: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        runs = task.runs(settings, chosen, first_run)
        converged = run_all(task.arrays, options, runs, returns, trace)
        if not converged:
            raise _not_converged(first, mdp)

    return Bound(kernel, plans=True)


def _not_converged(agent: Agent, mdp: MDP) -> CountlessError:
    if isinstance(agent, Essr) and agent.plans_as_released:
        return CountlessError(
            f"essr in {mdp.name}: the released planner finds no policy that it calls stable; "
            "--planner exact would"
        )
    return CountlessError(
        f"{agent.name} in {mdp.name}: planning did not converge within {MOST_PASSES:,} passes; "
        "the model's values may be too close to tell apart"
    )


def _check_released(mdp: MDP) -> None:
    if mdp.n_actions > mdp.n_states:
        raise BadInput(
            f"essr: the released planner looks actions up among the states: {mdp.name} has "
            f"{mdp.n_actions} actions and {mdp.n_states} states; --planner exact takes it"
        )


def _planner(
    agents: Sequence[Agent], scale: NDArray[np.float64]
) -> tuple[Any, NDArray[np.float64]]:
    """The options of a planning agent, whose class chooses its kernel, and its settings."""
    first = agents[0]
    spread, largest = float(scale[0]), float(scale[1])
    if isinstance(first, Essr):
        sources = {"ssr": ssr_bonus.SSR, "counts": ssr_bonus.COUNTS, "off": ssr_bonus.NOTHING}
        shared = essr_model.Options(
            sources[first.bonus], first.bonus_on_entered, first.explores_ends, spread
        )
        columns = _columns(agents, "gamma", "beta", "epsilon", "has_pseudo_counts")
        if first.plans_as_released:
            return essr_released_planner.ReleasedPlanning(shared), columns
        return essr.ExactPlanning(shared), columns
    if isinstance(first, E3):
        columns = _columns(agents, "gamma", "m", "threshold", "horizon")
        if first.escape == "discounted":
            columns[:, e3.HORIZON] = 0.0
        return e3.Options(spread), columns
    if isinstance(first, Psrl):
        return psrl.Options(spread, largest), _columns(agents, "gamma", "a")
    kinds: dict[type[Any], Any] = {
        RMax: optimism.RMax,
        Mbie: optimism.Mbie,
        MbieEb: optimism.Mbie,
        Ucrl2: optimism.Ucrl2,
    }
    width = "c" if isinstance(first, MbieEb) else "a"
    columns = _columns(agents, "gamma", "m", width, "b", "delta")
    return kinds[type(first)](spread, largest), columns


def reward_scale(mdp: MDP, name: str) -> NDArray[np.float64]:
    """How large rewards are, and the largest: Rmax for both where no reward is negative."""
    low, high = float(mdp.reward.min()), float(mdp.reward.max())
    if low == high == 0.0:
        raise BadInput(f"{name} needs the largest reward, and {mdp.name} has none but 0")
    return np.array([max(high, 0.0) - min(low, 0.0), high])


def _check_replayable(agent: Agent, mdp: MDP) -> None:
    if not isinstance(agent, Sarsa | SarsaSR | Essr):
        raise BadInput(
            f"--rng authors replays the released scripts, which have sarsa, sarsa-sr and essr, "
            f"not {agent.name}"
        )
    if isinstance(agent, Essr):
        _check_replayable_essr(agent, mdp)
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


def _check_replayable_essr(agent: Essr, mdp: MDP) -> None:
    if not (agent.plans_as_released and agent.explores_ends):
        raise BadInput(
            "--rng authors replays essr with --planner released and --explore ends only, "
            "as --variant authors has them"
        )
    if mdp.terminated.any() or len(set(np.diff(mdp.state_offsets))) > 1:
        raise BadInput(
            f"--rng authors: the released essr cannot run {mdp.name}; it needs all actions in all "
            "states and no terminal state"
        )
    _check_released(mdp)


def _bonus(agent: Agent) -> Any:
    if isinstance(agent, SarsaSR):
        return sarsa.SRNormL1() if agent.norm == 1.0 else sarsa.SRNorm(agent.norm)
    if isinstance(agent, Spie):
        return sarsa.Spie()
    return sarsa.VisitCounts() if isinstance(agent, SarsaCounts) else sarsa.NoBonus()


def _policy_slots(agent: Agent, mdp: MDP) -> NDArray[np.int64]:
    if not isinstance(agent, OptimalAgent):
        return np.full(mdp.n_states, -1)
    best = optimal_q(mdp, agent.gamma).argmax(axis=1)
    offers = np.zeros((mdp.n_states, mdp.n_actions), dtype=np.int64)
    offers[mdp.pair_state, mdp.pair_action] = 1
    slots: NDArray[np.int64] = np.cumsum(offers, axis=1)[np.arange(mdp.n_states), best] - 1
    return slots


def _lane_count(arrays: MDPArrays, matrix: bool) -> int:
    states = len(arrays.n_slots)
    table = states * (8 * len(arrays.slots) + 16)
    if matrix:
        table += 8 * states * (states + 3)
    return max(1, min(MOST_LANES, LANE_BUDGET // table))
