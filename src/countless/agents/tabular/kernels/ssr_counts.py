"""Visit counts of state-action pairs, read off the norm of the substochastic SR.

The SSR here has two kinds of nodes: states, with counts n(s, s'), and pairs, with counts
n(s, a, s'). A pair is left for the state entered and is itself never entered, so that

    ||Psi~(s, a)||_1 = 1 + gamma sum over s' of n(s, a, s') / (n(s, a) + 1) ||Psi~(s')||_1,

and Definition 3.1 and Theorem 1 hold for pairs as they do for states. Only the states need a matrix:
one update of rank one for each transition.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from countless.core.substochastic import count_visit, invert, row_residual

# Where counts come from: counting; Theorem 1's upper or lower bound, taken for an equation; the norm's
# own equation, which also needs the norms of the states entered.
TRUE, UPPER, LOWER, EXACT = 0, 1, 2, 3
DRIFT = 1e-12  # of a row of the SSR, before it is computed from scratch
ROUNDING = 1e-6  # share by which a count that is read off may miss a whole number


class SSRCounts(NamedTuple):
    """The SSR of states, the norms of states and pairs, and the counts read off those of pairs."""

    moves: NDArray[np.float64]  # (S, S) n(s, s')
    rows: NDArray[np.float64]  # (S, S) P~
    inverse: NDArray[np.float64]  # (S, S) Psi~
    norm: NDArray[np.float64]  # (S,)
    outcome: NDArray[np.float64]  # (S * A * K,) n(s, a, s')
    tried: NDArray[np.float64]  # (S * A,) n(s, a)
    pair_norm: NDArray[np.float64]  # (S * A,)
    estimate: NDArray[np.float64]  # (S * A,) the counts read off
    row: NDArray[np.float64]  # (S,) room to work in
    work: NDArray[np.float64]  # (S,)


def reading_of(options):
    """Where an agent's counts come from: a constant for the compiler where it counts itself."""
    return getattr(options, "reading", TRUE)


@overload(reading_of)
def _choose_reading(options):
    if "reading" in options.fields:
        return lambda options: options.reading
    return lambda options: TRUE


@njit(cache=True)
def new_ssr_counts(mdp, reading):
    """Nothing seen yet; no room taken where nothing is read off."""
    states = 0 if reading == TRUE else len(mdp.n_slots)
    pairs = states * len(mdp.slots)
    return SSRCounts(
        np.zeros((states, states)),
        np.zeros((states, states)),
        np.eye(states),
        np.ones(states),
        np.zeros(pairs * len(mdp.outcomes)),
        np.zeros(pairs),
        np.ones(pairs),
        np.zeros(pairs),
        np.zeros(states),
        np.zeros(states),
    )


@njit(error_model="numpy", cache=True)
def count_from_norm(reading, gamma, norm, ahead):
    """The count that a norm stands for; `ahead` is the mean norm of the states entered.

    UPPER: n^ = gamma / ((1 + gamma) - norm) - 1, which is n or more, and infinite from 1 + gamma on.
    LOWER: n^ = gamma / (1 / (1 - gamma) - norm) - 1, which is n or less, and 0 where that is below 0.
    EXACT: n / (n + 1) = (norm - 1) / (gamma ahead).
    """
    if reading == UPPER:
        gap = (1.0 + gamma) - norm
        return gamma / gap - 1.0 if gap > 0.0 else math.inf
    if reading == LOWER:
        return max(gamma / (1.0 / (1.0 - gamma) - norm) - 1.0, 0.0)
    share = (norm - 1.0) / (gamma * ahead)
    return share / (1.0 - share)


@njit(error_model="numpy", cache=True)
def _move(ssr, gamma, s, s_next):
    """Count s -> s_next; bring Psi~ and the norms of the states up to date."""
    rows, inverse, norm = ssr.rows, ssr.inverse, ssr.norm
    count_visit(ssr.moves, rows, gamma, inverse, s, s_next, ssr.row, ssr.work)
    surplus = 1.0 - norm[s]
    for j in range(len(norm)):
        surplus += gamma * rows[s, j] * norm[j]
    for j in range(len(norm)):
        norm[j] += inverse[j, s] * surplus
    if row_residual(rows, gamma, inverse, s, norm) > DRIFT:
        invert(rows, gamma, inverse)
        for i in range(len(norm)):
            norm[i] = inverse[i].sum()


@njit(error_model="numpy", cache=True)
def count_outcome(ssr, mdp, reading, gamma, s, i, cell):
    """Count an outcome of pair i of state s, read all counts off anew; the norm of the pair."""
    depth = len(mdp.outcomes)
    _move(ssr, gamma, s, np.int64(mdp.next_state[cell]))
    ssr.outcome[cell] += 1.0
    ssr.tried[i] += 1.0
    for j in range(len(ssr.tried)):
        n = ssr.tried[j]
        if n > 0.0:
            ahead = 0.0
            for k in range(j * depth, (j + 1) * depth):
                ahead += ssr.outcome[k] * ssr.norm[mdp.next_state[k]]
            norm = 1.0 + gamma * ahead / (n + 1.0)
            ssr.pair_norm[j] = norm
            ssr.estimate[j] = count_from_norm(reading, gamma, norm, ahead / n)
    return ssr.pair_norm[i]
