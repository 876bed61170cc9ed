"""The parts of a step that the kernels share: start, tie-breaking, greedy cache, rows of the SR."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

U64, I64 = np.uint64, np.int64
ZERO = U64(0)
TINY, HUGE = 1e-250, 1e250


@njit(inline="always")
def start_state(mdp, u):
    """The state that a 53-bit draw u starts an episode in."""
    for s in range(mdp.last_start):
        if u < mdp.start[s]:
            return U64(s)
    return U64(mdp.last_start)


@njit(inline="always")
def unique_best(q, row, slots):
    """1 + the slot of the largest value, or 0 where several share it. No branches."""
    if len(slots) == 2:
        return I64(q[row] > q[row + U64(1)]) + 2 * I64(q[row] < q[row + U64(1)])
    best = q[row]
    for j in range(1, len(slots)):
        best = max(best, q[row + U64(j)])
    ties = I64(0)
    slot = I64(0)
    for j in range(len(slots)):
        hit = I64(q[row + U64(j)] == best)
        ties += hit
        slot += j * hit
    return (slot + 1) & -I64(ties == 1)


@njit(cache=True)
def diverged(values):
    """Whether a value is no longer a finite number; -inf marks a slot that does not exist."""
    bad = False
    for x in values:
        bad |= math.isnan(x) or x == math.inf
    return bad


@njit(error_model="numpy", cache=True)
def break_tie(q, row, n, u):
    """The slot that a uniform u in [0, 1) picks among those that share the largest value."""
    best = q[row]
    for j in range(n):
        best = max(best, q[row + U64(j)])
    ties = 0
    for j in range(n):
        if q[row + U64(j)] == best:
            ties += 1
    pick = min(I64(u * ties), ties - 1)
    for j in range(n):
        if q[row + U64(j)] == best:
            if pick == 0:
                return I64(j)
            pick -= 1
    return I64(0)


@njit(error_model="numpy", cache=True)
def row_norm(psi, row, n, p):
    """The p-norm of a row of non-negative numbers, in four interleaved sums."""
    if p == 2.0:
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in range(ZERO, n, U64(4)):
            x0, x1 = psi[row + j], psi[row + j + U64(1)]
            x2, x3 = psi[row + j + U64(2)], psi[row + j + U64(3)]
            s0 += x0 * x0
            s1 += x1 * x1
            s2 += x2 * x2
            s3 += x3 * x3
        total = (s0 + s1) + (s2 + s3)
        if TINY < total < HUGE:
            return math.sqrt(total)
    largest = 0.0
    for j in range(n):
        largest = max(largest, psi[row + j])
    if math.isinf(p) or largest == 0.0:
        return largest
    total = 0.0
    for j in range(n):
        # Relative to the largest, so that no power under- or overflows.
        total += (psi[row + j] / largest) ** p
    return largest * total ** (1.0 / p)


@njit(inline="always")
def update_row(psi, row, next_row, n, s, eta, cumulant, gamma):
    """Psi(s, .) += eta (c 1{s = .} + gamma Psi(s', .) - Psi(s, .)); c = 1: the paper's Eq. 4.

    Rows are padded to a multiple of four and taken four at a time, read before written: the
    compiler can then use vectors although row and next_row may be the same.
    """
    x = psi[row + s]
    on_state = x + eta * (cumulant + gamma * psi[next_row + s] - x)
    for j in range(ZERO, n, U64(4)):
        x0, x1 = psi[row + j], psi[row + j + U64(1)]
        x2, x3 = psi[row + j + U64(2)], psi[row + j + U64(3)]
        y0, y1 = psi[next_row + j], psi[next_row + j + U64(1)]
        y2, y3 = psi[next_row + j + U64(2)], psi[next_row + j + U64(3)]
        psi[row + j] = x0 + eta * (gamma * y0 - x0)
        psi[row + j + U64(1)] = x1 + eta * (gamma * y1 - x1)
        psi[row + j + U64(2)] = x2 + eta * (gamma * y2 - x2)
        psi[row + j + U64(3)] = x3 + eta * (gamma * y3 - x3)
    psi[row + s] = on_state
