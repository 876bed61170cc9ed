"""Compiled loops over what a network reads: for a few rows the calls around them cost more."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def widen(rows, mean, squares, count, deviation):
    """Take `rows` (B, d) into the squared distances from a mean that stays; an SD grows, or stays.

    `squares` (d,) are the sums over `count` rows before these.
    """
    total = count + rows.shape[0]
    for j in range(rows.shape[1]):
        for i in range(rows.shape[0]):
            away = np.float64(rows[i, j]) - mean[j]
            squares[j] += away * away
        deviation[j] = max(deviation[j], np.sqrt(squares[j] / total))


@njit(nogil=True, cache=True)
def standardise(rows, mean, deviation, tiny, limit, out):
    """out (B, d) = rows less the mean, in units of the SD, cut at `limit` of them."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            x = (np.float64(rows[i, j]) - mean[j]) / (deviation[j] + tiny)
            out[i, j] = np.float32(min(max(x, -limit), limit))
