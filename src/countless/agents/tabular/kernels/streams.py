"""NumPy's `SeedSequence` and `SFC64`, compiled: each run's stream is made where it is used.

Bit for bit what `countless.core.seeding.run_stream` gives; the tests compare the two.
"""

from __future__ import annotations

import numpy as np
from numba import njit

U32, U64 = np.uint32, np.uint64
INIT_A, MULT_A = U32(0x43B0D7E5), U32(0x931E8875)
INIT_B, MULT_B = U32(0x8B51F9DD), U32(0x58F38DED)
MIX_L, MIX_R = U32(0xCA01F9DD), U32(0x4973F715)
HALF = U32(16)
ONE, THREE, ELEVEN, TWENTY_FOUR, FORTY = U64(1), U64(3), U64(11), U64(24), U64(40)


@njit(inline="always")
def _hash(value, constant):
    """One word mixed with the running constant; returns the word and the next constant."""
    value = U32(value ^ constant)
    constant = U32(constant * MULT_A)
    value = U32(value * constant)
    return U32(value ^ (value >> HALF)), constant


@njit(inline="always")
def _mix(x, y):
    value = U32(U32(MIX_L * x) - U32(MIX_R * y))
    return U32(value ^ (value >> HALF))


@njit(cache=True)
def seed_state(seed, key, run, state):
    """SeedSequence(seed, spawn_key=(*key, run)).generate_state(6), as three 64-bit words.

    `seed` is four 32-bit words, `key` two, `run` one: `core.seeding` pads them that way.
    """
    pool = np.empty(4, dtype=np.uint32)
    constant = INIT_A
    for i in range(4):
        pool[i], constant = _hash(seed[i], constant)
    for source in range(4):
        for target in range(4):
            if source != target:
                word, constant = _hash(pool[source], constant)
                pool[target] = _mix(pool[target], word)
    for i in range(3):
        extra = U32(key[i]) if i < 2 else U32(run)
        for target in range(4):
            word, constant = _hash(extra, constant)
            pool[target] = _mix(pool[target], word)
    constant = INIT_B
    words = np.empty(6, dtype=np.uint64)
    for i in range(6):
        value = U32(pool[i % 4] ^ constant)
        constant = U32(constant * MULT_B)
        value = U32(value * constant)
        words[i] = U64(U32(value ^ (value >> HALF)))
    for i in range(3):
        state[i] = words[2 * i] | (words[2 * i + 1] << U64(32))


@njit(inline="always")
def sfc64(a, b, c, w):
    """One step of SFC64: the output and the next state (a, b, c, w)."""
    out = a + b + w
    return (
        out,
        b ^ (b >> ELEVEN),
        c + (c << THREE),
        ((c << TWENTY_FOUR) | (c >> FORTY)) + out,
        w + ONE,
    )


@njit(cache=True)
def open_streams(seed, key, first_run, a, b, c, w):
    """Start the streams of runs first_run, first_run + 1, ... in the four state arrays."""
    state = np.empty(3, dtype=np.uint64)
    for lane in range(len(a)):
        seed_state(seed, key, first_run + lane, state)
        la, lb, lc, lw = state[0], state[1], state[2], ONE
        for _ in range(12):
            _, la, lb, lc, lw = sfc64(la, lb, lc, lw)
        a[lane], b[lane], c[lane], w[lane] = la, lb, lc, lw


@njit(inline="always")
def draw(a, b, c, w, lane):
    """The next 53-bit draw of one lane, as a float in [0, 2^53)."""
    out, na, nb, nc, nw = sfc64(a[lane], b[lane], c[lane], w[lane])
    a[lane], b[lane], c[lane], w[lane] = na, nb, nc, nw
    return np.float64(np.int64(out >> ELEVEN))
