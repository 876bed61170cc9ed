"""What ESSR is paid besides rewards: the norms of the substochastic SR, and the model they pay in.

A pair without samples is uniform over the states and pays nothing; `pseudo` samples are added to every
(s, a, s').
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from countless.core.substochastic import count_visit, invert, row_residual

# What is penalised: the norm of the SSR; (1 + gamma) - gamma / (n(s) + 1), from true counts; nothing.
SSR, COUNTS, NOTHING = 0, 1, 2
DRIFT = 1e-9


class Novelty(NamedTuple):
    """n(s, s'), P~, Psi~ and its row sums, which are 1 before anything was seen."""

    moves: NDArray[np.float64]  # (S, S)
    rows: NDArray[np.float64]  # (S, S)
    inverse: NDArray[np.float64]  # (S, S)
    norm: NDArray[np.float64]  # (S,)
    left: NDArray[np.float64]  # (S,) n(s)
    penalty: NDArray[np.float64]  # (S,)
    row: NDArray[np.float64]  # (S,) room to work in
    work: NDArray[np.float64]  # (S,)


@njit(cache=True)
def new_novelty(states):
    """Nothing seen yet."""
    return Novelty(
        np.zeros((states, states)),
        np.zeros((states, states)),
        np.eye(states),
        np.ones(states),
        np.zeros(states),
        np.zeros(states),
        np.zeros(states),
        np.zeros(states),
    )


@njit(cache=True)
def _row_sums(matrix, sums):
    for i in range(len(sums)):
        total = 0.0
        for j in range(len(sums)):
            total += matrix[i, j]
        sums[i] = total


@njit(error_model="numpy", cache=True)
def see(novelty, source, gamma, beta, s, s_next):
    """Count a transition and bring norms and penalties up to date."""
    norm = novelty.norm
    novelty.left[s] += 1.0
    if source == SSR:
        rows, inverse = novelty.rows, novelty.inverse
        count_visit(novelty.moves, rows, gamma, inverse, s, s_next, novelty.row, novelty.work)
        _row_sums(inverse, norm)
        if row_residual(rows, gamma, inverse, s, norm) > DRIFT:
            invert(rows, gamma, inverse)
            _row_sums(inverse, norm)
    elif source == COUNTS:
        norm[s] = (1.0 + gamma) - gamma / (novelty.left[s] + 1.0)
    if source != NOTHING:
        for j in range(len(norm)):
            novelty.penalty[j] = -beta * norm[j]


@njit(error_model="numpy", cache=True)
def set_payoffs(model, novelty, on_next, count, visits, pseudo, payoff):
    """payoff(s, a) = sum over s' of T(s') (r(s, a, s') + penalty), at the state entered or left."""
    states, width, depth = len(model.n_slots), len(model.slots), len(model.outcomes)
    reward, next_state, penalty = model.reward, model.next_state, novelty.penalty
    weight = 1.0 if on_next else 0.0
    everywhere = weight * penalty.sum()
    for s in range(states):
        fixed = 0.0 if on_next else penalty[s]
        for slot in range(int(model.n_slots[s])):
            i = s * width + slot
            mass = visits[i] + pseudo * states
            if mass == 0.0:
                payoff[i] = fixed + everywhere / states
                continue
            total = pseudo * everywhere
            for cell in range(i * depth, (i + 1) * depth):
                if count[cell] > 0.0:
                    total += (count[cell] + pseudo) * reward[cell]
                    total += count[cell] * weight * penalty[next_state[cell]]
            payoff[i] = fixed + total / mass


@njit(error_model="numpy", cache=True)
def future(next_state, ends, count, first, last, mass, pseudo, value, value_sum):
    """sum over s' of T(s') V(s'); an ended episode is worth nothing."""
    if mass == 0.0:
        return value_sum / len(value)
    total = pseudo * value_sum
    for cell in range(first, last):
        if not ends[cell]:
            total += count[cell] * value[next_state[cell]]
    return total / mass
