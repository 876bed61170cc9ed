"""The kernel call of agents that follow a fixed policy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countless.agents.tabular.kernels.fixed_policy import follow_policy
from countless.agents.tabular.task import BoundKernel, Returns, Task, Trace
from countless.envs.mdp import MDP

ANY_SLOT = -1  # a uniformly random action


def fixed_policy_kernel(policies: Sequence[NDArray[np.int64]], task: Task) -> BoundKernel:
    """Follow the policies, one per setting: a slot for each state, or `ANY_SLOT`."""
    words = task.seed_words

    def call(chosen: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        for policy, key, row in zip(policies[chosen], task.keys[chosen], returns, strict=True):
            follow_policy(task.arrays, policy, task.steps, words, key, first_run, row, trace)

    return BoundKernel(call)


def action_slots(mdp: MDP, actions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The slots of actions, one per state: its place among those that the state offers."""
    offers = np.zeros((mdp.n_states, mdp.n_actions), dtype=np.int64)
    offers[mdp.pair_state, mdp.pair_action] = 1
    slots: NDArray[np.int64] = np.cumsum(offers, axis=1)[np.arange(mdp.n_states), actions] - 1
    return slots
