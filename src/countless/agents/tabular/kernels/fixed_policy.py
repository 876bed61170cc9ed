"""Follow a policy that does not learn: the random and the optimal agent."""

from __future__ import annotations

import numpy as np
from numba import njit

from countless.agents.tabular.kernels.sarsa import BELOW_ONE, TWO_53
from countless.agents.tabular.kernels.step import start_state
from countless.agents.tabular.kernels.streams import draw, open_streams

U64 = np.uint64


@njit(error_model="numpy", nogil=True, cache=True)
def follow_policy(mdp, policy, steps, seed, key, first_run, returns, trace):
    """Returns of runs under `policy`: a slot for each state, or -1 for a uniform choice.

    Each step takes two draws: action, transition. A restart takes one more.
    """
    width, depth = len(mdp.slots), len(mdp.outcomes)
    a, b = np.empty(1, dtype=np.uint64), np.empty(1, dtype=np.uint64)
    c, w = np.empty(1, dtype=np.uint64), np.empty(1, dtype=np.uint64)
    tracing = trace.shape[0] > 0
    for run in range(len(returns)):
        open_streams(seed, key, first_run + run, a, b, c, w)
        s = start_state(mdp, draw(a, b, c, w, 0))
        age = 0
        total = 0.0
        for t in range(steps):
            u = draw(a, b, c, w, 0)
            slot = policy[s]
            if slot < 0:
                slot = np.int64(u * (mdp.n_slots[s] / TWO_53 * BELOW_ONE))
            cell = (s * U64(width) + U64(slot)) * U64(depth)
            u = draw(a, b, c, w, 0)
            for _ in range(depth - 1):
                if u < mdp.threshold[cell]:
                    break
                cell += U64(1)
            total += mdp.reward[cell]
            if tracing:
                trace[run, t, 0], trace[run, t, 1], trace[run, t, 2] = s, slot, mdp.reward[cell]
            s = mdp.next_state[cell]
            age += 1
            if mdp.ends[cell] or age == mdp.episode_limit:
                age = 0
                s = start_state(mdp, draw(a, b, c, w, 0))
        returns[run] = total
