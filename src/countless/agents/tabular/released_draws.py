"""rng="authors": the random draws of the released scripts, for the agents that these contain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from countless.agents.tabular.agent import TabularAgent
from countless.agents.tabular.released import sarsa
from countless.agents.tabular.released.twister import ReleasedDraws, released_draws
from countless.agents.tabular.sarsa_family import COLUMNS
from countless.agents.tabular.task import (
    BoundKernel,
    Returns,
    Task,
    Trace,
    check_matrix_fits,
    columns,
)
from countless.core.errors import BadInput, named
from countless.envs.mdp import MDP

# Takes which setting, then steps, the draws, returns and trace.
Player = Callable[[int, tuple[Any, ...]], None]


def released_kernel(task: Task, play: Player) -> BoundKernel:
    """Runs of a released script, one after the other: all of them share its two generators."""
    check_script_runs(task.mdp)
    if task.seed >= 2**32:
        raise BadInput(
            f"{named('rng', 'authors')} takes seeds up to {2**32 - 1:,}, not {task.seed:,}"
        )
    draws: dict[int, ReleasedDraws] = {}

    def call(chosen: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        for i in range(chosen.start, chosen.stop):
            if first_run == 0:
                draws[i] = released_draws(task.seed)
            play(i, (task.steps, draws[i], returns[i - chosen.start], trace))

    return BoundKernel(call, divisible=False)


def released_sarsa_kernel(
    agents: Sequence[TabularAgent],
    task: Task,
    *,
    bonus: sarsa.Bonus | None = None,
    update: str,
    time_limit: str,
) -> BoundKernel:
    """The released Sarsa scripts, with or without a bonus."""
    settings = columns(agents, *COLUMNS)
    chosen = bonus or sarsa.no_bonus()
    check_matrix_fits(agents[0], task.mdp, chosen.rows)
    options = sarsa.Options(executed=update == "executed", truncate=time_limit == "truncation")

    def play(i: int, rest: tuple[Any, ...]) -> None:
        sarsa.released_sarsa(task.arrays, chosen, options, settings[i], *rest)

    return released_kernel(task, play)


def check_script_runs(mdp: MDP) -> None:
    """Refuse an MDP that the released scripts cannot run."""
    cannot = f"{named('rng', 'authors')}: the released scripts cannot run {mdp.name}"
    if mdp.episode_limit is not None:
        raise BadInput(f"{cannot}; use an .mdp file")
    slot = np.arange(len(mdp.pair_action)) - mdp.state_offsets[mdp.pair_state]
    for pair in np.flatnonzero(slot != mdp.pair_action)[:1]:
        s = mdp.pair_state[pair]
        raise BadInput(
            f"{cannot}: state {s} offers actions {', '.join(map(str, mdp.actions(s)))}; they must "
            "be 0, 1, ... without gaps"
        )
