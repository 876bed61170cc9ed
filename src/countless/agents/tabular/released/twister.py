"""The released code's two Mersenne Twisters: CPython's `random` and NumPy's legacy `np.random`.

Both are the same generator, MT19937; they differ in how they are seeded (done by the libraries
themselves, outside) and in how they turn words into numbers (done here).
"""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

U32 = np.uint32
UPPER, LOWER, MATRIX = U32(0x80000000), U32(0x7FFFFFFF), U32(0x9908B0DF)
N, M = 624, 397


def python_twister(seed: int) -> NDArray[np.uint32]:
    """State of `random.seed(seed)`: 624 words and the position."""
    return np.array(random.Random(seed).getstate()[1], dtype=np.uint32)


def numpy_twister(seed: int) -> NDArray[np.uint32]:
    """State of `np.random.seed(seed)`: 624 words and the position."""
    state = np.random.RandomState(seed).get_state(legacy=False)["state"]
    return np.append(state["key"], state["pos"]).astype(np.uint32)


class ReleasedDraws(NamedTuple):
    """Where the released scripts stand: their two generators and the start state of the next run."""

    python: NDArray[np.uint32]  # (625,)
    legacy: NDArray[np.uint32]  # (625,)
    start: NDArray[np.int64]  # (1,); -1 before the first is drawn


def released_draws(seed: int) -> ReleasedDraws:
    """The generators as a released script seeds them."""
    return ReleasedDraws(python_twister(seed), numpy_twister(seed), np.array([-1]))


@njit(cache=True)
def _refill(mt):
    for i in range(N):
        y = (mt[i] & UPPER) | (mt[(i + 1) % N] & LOWER)
        value = mt[(i + M) % N] ^ (y >> U32(1))
        mt[i] = value ^ MATRIX if y & U32(1) else value
    mt[N] = U32(0)


@njit(cache=True)
def next_word(mt):
    """The next 32-bit word; mt[624] is the position."""
    if mt[N] >= U32(N):
        _refill(mt)
    y = mt[mt[N]]
    mt[N] += U32(1)
    y ^= y >> U32(11)
    y ^= (y << U32(7)) & U32(0x9D2C5680)
    y ^= (y << U32(15)) & U32(0xEFC60000)
    return y ^ (y >> U32(18))


@njit(cache=True)
def uniform_53(mt):
    """`random.uniform(0, 1)` times 2^53: an integer in a float."""
    high = next_word(mt) >> U32(5)
    low = next_word(mt) >> U32(6)
    return np.float64(high) * 67108864.0 + np.float64(low)


@njit(cache=True)
def python_below(mt, n):
    """`random.choice` over n items: the top bits of a word, until they are below n."""
    bits = 0
    while (n >> bits) > 0:
        bits += 1
    pick = next_word(mt) >> U32(32 - bits)
    while pick >= U32(n):
        pick = next_word(mt) >> U32(32 - bits)
    return np.int64(pick)


@njit(cache=True)
def numpy_below(mt, n):
    """`np.random.choice` over n items: the low bits of a word, until they are below n."""
    if n == 1:
        return np.int64(0)
    mask = U32(n - 1)
    for shift in (1, 2, 4, 8, 16):
        mask |= mask >> U32(shift)
    pick = next_word(mt) & mask
    while pick >= U32(n):
        pick = next_word(mt) & mask
    return np.int64(pick)
