"""What a compiled kernel is given: the MDP as arrays, random streams, and one row per setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.tabular.agent import TabularAgent, describe, reward_range
from countless.agents.tabular.kernels.mdp_arrays import MDPArrays, compile_mdp
from countless.agents.tabular.kernels.run_loop import Runs
from countless.core.errors import BadInput, named
from countless.core.seeding import seed_words, stream_key
from countless.envs.mdp import MDP

Returns = NDArray[np.float64]
Trace = NDArray[np.float64]

MOST_MATRIX_ROWS = 10_000


@dataclass(frozen=True)
class BoundKernel:
    """A compiled kernel with everything fixed but which settings and which runs to do.

    `call(settings, returns, first_run, trace)` adds to `returns` (settings, runs); a trace that is
    not empty gets what happened at each step.
    """

    call: Callable[[slice, Returns, int, Trace], None]
    divisible: bool = True  # False: runs that share a random stream must follow one another
    plans: bool = False  # True: a step takes microseconds, not nanoseconds


@dataclass(frozen=True)
class Task:
    """What every kernel needs, whatever the agent."""

    mdp: MDP
    arrays: MDPArrays
    keys: NDArray[np.uint32]  # (settings, 2): each setting's place in the tree of seeds
    seed: int
    steps: int

    @property
    def seed_words(self) -> NDArray[np.uint32]:
        return seed_words(self.seed)

    def runs(self, settings: NDArray[np.float64], chosen: slice, first_run: int) -> Runs:
        """Runs of the chosen settings, from number `first_run` on."""
        return Runs(settings[chosen], self.keys[chosen], self.seed_words, first_run, self.steps)


def make_task(agents: Sequence[TabularAgent], mdp: MDP, steps: int, seed: int) -> Task:
    """The task of running these settings in an MDP."""
    keys = np.array([configuration_key(agent, mdp) for agent in agents], dtype=np.uint32)
    return Task(mdp, compile_mdp(mdp), keys, seed, steps)


def configuration_key(agent: TabularAgent, mdp: MDP) -> tuple[int, int]:
    """What names this agent in this MDP in the tree of seeds."""
    # Switches enter by these words: others would give other random streams.
    words = {True: "on", False: "off", None: "variant"}
    switches = {
        item.name: words[getattr(agent, item.name)]
        for item in fields(agent)
        if "switch" in item.metadata
    }
    content: dict[str, Any] = {"agent": agent.name, "mdp": mdp.fingerprint, **describe(agent)}
    content |= switches
    for name in agent.paired:
        del content[name]
    if content.get("initial_value") == 0.0:
        del content["initial_value"]  # as the published settings start: their streams stay
    return stream_key(content)


def columns(agents: Sequence[TabularAgent], *names: str) -> NDArray[np.float64]:
    """The table of settings: one row per agent, one column per parameter (0 where it has none)."""
    rows = [asdict(agent) for agent in agents]
    return np.array([[float(row.get(name, 0.0)) for name in names] for row in rows])


def reward_scale(mdp: MDP, name: str) -> tuple[float, float]:
    """The range of the rewards, and the largest: Rmax for both where no reward is negative."""
    scale = reward_range(mdp)
    if scale == 0.0:
        raise BadInput(f"{name} needs the largest reward, and {mdp.name} has none but 0")
    return scale, float(mdp.reward.max())


def check_matrix_fits(agent: TabularAgent, mdp: MDP, rows: int) -> None:
    """Refuse an MDP for which a matrix with a row for each state (or pair) would be too large."""
    if rows > MOST_MATRIX_ROWS:
        size, what = ("|S|^2", "states") if rows == mdp.n_states else ("(|S| |A|)^2", "pairs")
        raise BadInput(
            f"{agent.name} keeps a matrix of {size} numbers here: {mdp.name} has {rows:,} "
            f"{what}, the most is {MOST_MATRIX_ROWS:,} (sarsa-sr with {named('norm', 1)} needs "
            "no matrix)"
        )
