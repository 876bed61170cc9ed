"""Compiled loops of a linear head on sparse codes: few inputs of a row are not zero."""

from __future__ import annotations

import numpy as np
from numba import njit

F32, U64 = np.float32, np.uint64
# The finaliser of SplitMix64 (Steele, Lea & Flood 2014): every bit of a key moves every bit of its row.
GOLDEN, FIRST, SECOND = U64(0x9E3779B97F4A7C15), U64(0xBF58476D1CE4E5B9), U64(0x94D049BB133111EB)


@njit(nogil=True, cache=True)
def positive_part(phi, tiny, index, value, count):
    """The code of each row: what is positive in it, with length 1.

    Where nothing is, the largest entry counts: an observation without a code would never be learned.
    Row i has `count[i]` entries, at `index[i]`, of `value[i]`.
    """
    for i in range(phi.shape[0]):
        k = 0
        squares = F32(0.0)
        for j in range(phi.shape[1]):
            if phi[i, j] > F32(0.0):
                index[i, k] = j
                value[i, k] = phi[i, j]
                squares += phi[i, j] * phi[i, j]
                k += 1
        if k == 0:
            index[i, 0] = np.argmax(phi[i])
            value[i, 0] = F32(1.0)
            squares = F32(1.0)
            k = 1
        scale = F32(1.0) / max(np.sqrt(squares), tiny)
        for e in range(k):
            value[i, e] *= scale
        count[i] = k


@njit(nogil=True, cache=True)
def move_towards_mean(phi, rate, centre):
    """centre += rate (mean of the rows of phi - centre)"""
    for j in range(centre.shape[0]):
        total = F32(0.0)
        for i in range(phi.shape[0]):
            total += phi[i, j]
        centre[j] += rate * (total / F32(phi.shape[0]) - centre[j])


@njit(nogil=True, cache=True)
def deviate(phi, centre, rounding, away):
    """away = phi - centre, and 0 where that is at most `rounding` of the largest entry of centre."""
    largest = F32(0.0)
    for j in range(centre.shape[0]):
        largest = max(largest, abs(centre[j]))
    for i in range(phi.shape[0]):
        for j in range(phi.shape[1]):
            x = phi[i, j] - centre[j]
            away[i, j] = x if abs(x) > rounding * largest else F32(0.0)


@njit(nogil=True, cache=True)
def hash_sides(sides, bits, index):
    """For each observation and table, the row that the signs of `sides` (B, tables * planes) pick.

    A table has 2^bits rows; those of table t begin at t 2^bits. The signs are hashed, so that a few
    observations share a row by chance. `index` is (B, tables).
    """
    tables = index.shape[1]
    planes = sides.shape[1] // tables
    for i in range(sides.shape[0]):
        for t in range(tables):
            key = U64(0)
            for k in range(t * planes, (t + 1) * planes):
                key = (key << U64(1)) | U64(sides[i, k] > F32(0.0))
            key += GOLDEN * U64(t + 1)
            key = (key ^ (key >> U64(30))) * FIRST
            key = (key ^ (key >> U64(27))) * SECOND
            key ^= key >> U64(31)
            index[i, t] = (t << bits) + np.int64(key >> U64(64 - bits))


@njit(nogil=True, cache=True)
def multiply(index, value, count, weights, psi):
    """psi (B, outputs) = code times weights (inputs, outputs)."""
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
