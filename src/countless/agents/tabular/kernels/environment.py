"""Acting in the true MDP with one run's random stream: start states, outcomes, new episodes."""

from __future__ import annotations

import numpy as np
from numba import njit

from countless.agents.tabular.kernels.step import start_state
from countless.agents.tabular.kernels.streams import draw, open_streams

TWO_53 = float(2**53)


@njit(cache=True)
def open_stream(seed, key, run):
    """The stream of one run as four arrays of one word."""
    a, b = np.empty(1, dtype=np.uint64), np.empty(1, dtype=np.uint64)
    c, w = np.empty(1, dtype=np.uint64), np.empty(1, dtype=np.uint64)
    open_streams(seed, key, run, a, b, c, w)
    return a, b, c, w


@njit(cache=True)
def uniform(stream):
    """The next draw, in [0, 1)."""
    return draw(stream[0], stream[1], stream[2], stream[3], 0) / TWO_53


@njit(cache=True)
def reset(mdp, stream):
    """A start state."""
    return np.int64(start_state(mdp, draw(stream[0], stream[1], stream[2], stream[3], 0)))


@njit(cache=True)
def advance(mdp, cell, age, stream):
    """The state after an outcome and the age of its episode; a new episode where the last ended."""
    if mdp.ends[cell] or age + 1 == mdp.episode_limit:
        return reset(mdp, stream), 0
    return np.int64(mdp.next_state[cell]), age + 1


@njit(cache=True)
def sample_outcome(mdp, s, slot, stream):
    """The cell of the outcome of taking `slot` in s."""
    depth = len(mdp.outcomes)
    cell = (s * len(mdp.slots) + slot) * depth
    u = draw(stream[0], stream[1], stream[2], stream[3], 0)
    for _ in range(depth - 1):
        if u < mdp.threshold[cell]:
            break
        cell += 1
    return cell
