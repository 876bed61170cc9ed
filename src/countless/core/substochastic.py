"""The substochastic successor representation (Definition 3.1), kept up to date row by row.

From counts n(s, s'), P~(s, s') = n(s, s') / (n(s) + 1) and Psi~ = (I - gamma P~)^-1. A visit changes
one row of P~, so Psi~ changes by a matrix of rank one (Sherman & Morrison 1950): O(|S|^2) per
visit, where a fresh inverse takes O(|S|^3).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def invert(rows, gamma, inverse):
    """inverse <- (I - gamma rows)^-1, by Gauss and Jordan with row pivots."""
    n = len(rows)
    work = -gamma * rows
    for i in range(n):
        work[i, i] += 1.0
        for j in range(n):
            inverse[i, j] = 1.0 if i == j else 0.0
    for column in range(n):
        pivot = column
        for i in range(column + 1, n):
            if abs(work[i, column]) > abs(work[pivot, column]):
                pivot = i
        if pivot != column:
            for j in range(n):
                work[pivot, j], work[column, j] = work[column, j], work[pivot, j]
                inverse[pivot, j], inverse[column, j] = inverse[column, j], inverse[pivot, j]
        scale = 1.0 / work[column, column]
        for j in range(n):
            work[column, j] *= scale
            inverse[column, j] *= scale
        for i in range(n):
            factor = work[i, column]
            if i != column and factor != 0.0:
                for j in range(n):
                    work[i, j] -= factor * work[column, j]
                    inverse[i, j] -= factor * inverse[column, j]


@njit(cache=True)
def replace_row(rows, gamma, inverse, s, row, work):
    """Put `row` into row s of `rows` and bring (I - gamma rows)^-1 up to date.

    Only what can be reached from the row, and only what reaches s, is touched: zeros are skipped.
    """
    n = len(rows)
    for j in range(n):
        work[j] = 0.0
    for k in range(n):
        change = gamma * (rows[s, k] - row[k])
        rows[s, k] = row[k]
        if change != 0.0:
            for j in range(n):
                work[j] += change * inverse[k, j]
    scale = 1.0 / (1.0 + work[s])
    for i in range(n):
        factor = inverse[i, s] * scale
        if factor != 0.0:
            for j in range(n):
                inverse[i, j] -= factor * work[j]


@njit(cache=True)
def count_visit(visits, rows, gamma, inverse, s, s_next, row, work):
    """Count the transition s -> s_next and bring Psi~ up to date."""
    visits[s, s_next] += 1.0
    total = 1.0
    for j in range(len(visits)):
        total += visits[s, j]
    for j in range(len(visits)):
        row[j] = visits[s, j] / total
    replace_row(rows, gamma, inverse, s, row, work)


@njit(cache=True)
def row_residual(rows, gamma, inverse, s, norm):
    """How far row s is from (I - gamma rows) Psi~ 1 = 1, given norm = Psi~ 1."""
    total = norm[s] - 1.0
    for j in range(len(rows)):
        total -= gamma * rows[s, j] * norm[j]
    return abs(total)


def substochastic_sr(
    visits: np.ndarray[tuple[int, int], np.dtype[np.float64]], gamma: float
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Psi~ of counts n(s, s') by a direct solve: the definition, and the oracle of the updates.

    >>> substochastic_sr(np.array([[0.0, 1.0], [0.0, 0.0]]), 0.5).tolist()
    [[1.0, 0.25], [0.0, 1.0]]
    """
    rows = visits / (visits.sum(axis=1, keepdims=True) + 1.0)
    return np.linalg.solve(np.eye(len(visits)) - gamma * rows, np.eye(len(visits)))
