"""An MDP as the kernels read it: padded tables indexed by state, action slot and outcome."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countless.core.errors import BadInput
from countless.envs.mdp import MDP

TWO_53 = float(2**53)
UNROLLED = 8
MOST_CELLS = 100_000_000


class MDPArrays(NamedTuple):
    """Every state has `A` action slots and every slot `K` outcomes; unused ones are padding.

    `threshold` holds, for each outcome, the cumulative probability times 2^53, rounded up: for a
    53-bit draw u, `u >= threshold` is exactly `u / 2^53 >= cumulative`. The last outcome of a
    slot, and all padding, has a threshold that no draw reaches. `slots` and `outcomes` carry A
    and K in their *length*: as tuples the compiler knows them and unrolls; as arrays it loops.
    """

    slots: Any
    outcomes: Any
    n_slots: NDArray[np.float64]  # (S,)
    threshold: NDArray[np.float64]  # (S * A * K,)
    next_state: NDArray[np.uint64]  # (S * A * K,)
    reward: NDArray[np.float64]  # (S * A * K,)
    ends: NDArray[np.bool_]  # (S * A * K,)
    start: NDArray[np.float64]  # (S,) thresholds of the start distribution
    last_start: int  # the last state with a positive start probability
    ragged: bool
    episodic: bool
    episode_limit: int


def compile_mdp(mdp: MDP) -> MDPArrays:
    """The tables of an MDP."""
    n_slots = np.diff(mdp.state_offsets)
    n_outcomes = np.diff(mdp.pair_offsets)
    width, depth = int(n_slots.max()), int(n_outcomes.max())
    cells = mdp.n_states * width * depth
    if cells > MOST_CELLS:
        raise BadInput(
            f"{mdp.name}: its tables would take {cells:,} cells; the most is {MOST_CELLS:,}"
        )
    slot = np.arange(len(mdp.pair_state)) - mdp.state_offsets[mdp.pair_state]
    pair_row = mdp.pair_state * width + slot
    outcome = np.arange(len(mdp.state)) - np.repeat(mdp.pair_offsets[:-1], n_outcomes)
    cell = np.repeat(pair_row, n_outcomes) * depth + outcome
    threshold = np.full(cells, TWO_53)
    threshold[cell] = _thresholds(mdp.probability, mdp.pair_offsets)
    next_state = np.zeros(cells, dtype=np.uint64)
    next_state[cell] = mdp.next_state
    reward = np.zeros(cells)
    reward[cell] = mdp.reward
    ends = np.zeros(cells, dtype=np.bool_)
    ends[cell] = mdp.terminated
    return MDPArrays(
        slots=_sized(width),
        outcomes=_sized(depth),
        n_slots=n_slots.astype(np.float64),
        threshold=threshold,
        next_state=next_state,
        reward=reward,
        ends=ends,
        start=np.ceil(np.cumsum(mdp.start) * TWO_53),
        last_start=int(np.flatnonzero(mdp.start)[-1]),
        ragged=bool((n_slots != width).any()),
        episodic=bool(ends.any()) or mdp.episode_limit is not None,
        episode_limit=mdp.episode_limit or 0,
    )


def _sized(length: int) -> Any:
    return (0,) * length if length <= UNROLLED else np.zeros(length, dtype=np.int8)


def _thresholds(
    probability: NDArray[np.float64], offsets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Cumulative probabilities times 2^53 within each group, added left to right, rounded up."""
    result = np.empty(len(probability))
    lengths = np.diff(offsets)
    total = np.zeros(len(lengths))
    for k in range(int(lengths.max())):
        groups = np.flatnonzero(lengths > k)
        rows = offsets[groups] + k
        total[groups] += probability[rows]
        result[rows] = np.ceil(total[groups] * TWO_53)
    result[offsets[1:] - 1] = TWO_53
    return result
