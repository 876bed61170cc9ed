"""ESSR's bonus: the norms of the substochastic SR, kept up to date one transition at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from countless.core.substochastic import count_visit, invert, row_residual

# What is penalised: the norm of the SSR; (1 + gamma) - gamma / (n(s) + 1), from true counts; nothing.
SSR, COUNTS, NOTHING = 0, 1, 2
DRIFT = 1e-9


class SSRBonus(NamedTuple):
    """n(s, s'), P~, Psi~ and its row sums, which are 1 before anything was seen."""

    transitions: NDArray[np.float64]  # (S, S) n(s, s')
    rows: NDArray[np.float64]  # (S, S) P~
    inverse: NDArray[np.float64]  # (S, S) Psi~
    norm: NDArray[np.float64]  # (S,)
    visits: NDArray[np.float64]  # (S,) n(s)
    penalty: NDArray[np.float64]  # (S,) -beta norm
    row: NDArray[np.float64]  # (S,) room to work in
    work: NDArray[np.float64]  # (S,)


@njit(cache=True)
def new_ssr_bonus(states):
    """Nothing seen yet."""
    return SSRBonus(
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
def observe(bonus, source, gamma, beta, s, s_next):
    """Count a transition and bring norms and penalties up to date."""
    norm = bonus.norm
    bonus.visits[s] += 1.0
    if source == SSR:
        rows, inverse = bonus.rows, bonus.inverse
        count_visit(bonus.transitions, rows, gamma, inverse, s, s_next, bonus.row, bonus.work)
        _row_sums(inverse, norm)
        if row_residual(rows, gamma, inverse, s, norm) > DRIFT:
            invert(rows, gamma, inverse)
            _row_sums(inverse, norm)
    elif source == COUNTS:
        norm[s] = (1.0 + gamma) - gamma / (bonus.visits[s] + 1.0)
    if source != NOTHING:
        for j in range(len(norm)):
            bonus.penalty[j] = -beta * norm[j]
