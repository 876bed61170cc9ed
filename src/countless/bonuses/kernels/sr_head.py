"""Compiled loops of a linear head on sparse codes: few inputs of a row are not zero."""

from __future__ import annotations

import numpy as np
from numba import njit

F32 = np.float32


@njit(nogil=True, cache=True)
def fire(inputs, threshold, tiny, index, value, count):
    """The code of each row: what exceeds the threshold, with length 1.

    Where nothing does, the strongest does: an observation without a code would never count. Row i has
    `count[i]` entries, at `index[i]`, of `value[i]`.
    """
    for i in range(inputs.shape[0]):
        k = 0
        squares = F32(0.0)
        for j in range(inputs.shape[1]):
            over = inputs[i, j] - threshold
            if over > F32(0.0):
                index[i, k] = j
                value[i, k] = over
                squares += over * over
                k += 1
        if k == 0:
            index[i, 0] = np.argmax(inputs[i])
            value[i, 0] = F32(1.0)
            squares = F32(1.0)
            k = 1
        scale = F32(1.0) / max(np.sqrt(squares), tiny)
        for e in range(k):
            value[i, e] *= scale
        count[i] = k


@njit(nogil=True, cache=True)
def multiply(index, value, count, weights, psi):
    """psi (B, features) = code times weights (inputs, features)."""
    for i in range(psi.shape[0]):
        psi[i] = F32(0.0)
        for e in range(count[i]):
            row = weights[index[i, e]]
            x = value[i, e]
            for f in range(psi.shape[1]):
                psi[i, f] += x * row[f]


@njit(nogil=True, cache=True)
def add_outer(index, value, count, error, rate, weights):
    """weights += rate times code times error, row after row."""
    for i in range(error.shape[0]):
        for e in range(count[i]):
            row = weights[index[i, e]]
            x = rate * value[i, e]
            for f in range(error.shape[1]):
                row[f] += x * error[i, f]
