"""Sweeps of policy evaluation in place, many at once.

A sweep V(s) <- r(s) + gamma sum P(s, .) V over s = 0, 1, ..., each s seeing what the last ones
became, is an affine map, that is a matrix M acting on (V, 1). Two sweeps are M^2, four the square of
that, and so on: where a thousand sweeps would be needed, ten products do, and the outcome is the
same up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

U64 = np.uint64
ZERO, ONE, TWO, THREE, FOUR = U64(0), U64(1), U64(2), U64(3), U64(4)
LEVELS = 24  # powers of two: 16 million sweeps
SMALL = 32  # states up to which products of matrices pay


class Sweeps(NamedTuple):
    """power[i]: the map of 2^i sweeps, made for i < levels[0]; columns padded to a multiple of four."""

    row: NDArray[np.float64]  # (S, S) gamma P
    reward: NDArray[np.float64]  # (S,)
    power: NDArray[np.float64]  # (LEVELS, S + 1, S + 1 and more)
    levels: NDArray[np.int64]  # (1,)
    trial: NDArray[np.float64]  # (S,)


@njit(cache=True)
def new_sweeps(states):
    """Room for the maps; none is made yet."""
    levels = LEVELS if states <= SMALL else 1
    return Sweeps(
        np.zeros((states, states)),
        np.zeros(states),
        np.zeros((levels, states + 1, (states + 4) // 4 * 4)),
        np.zeros(1, dtype=np.int64),
        np.zeros(states),
    )


@njit(cache=True)
def sweep(row, reward, value):
    """One sweep; returns the largest change."""
    largest = 0.0
    n = U64(len(value))
    for s in range(n):
        total = reward[s]
        for j in range(n):
            total += row[s, j] * value[j]
        largest = max(largest, abs(total - value[s]))
        value[s] = total
    return largest


@njit(cache=True)
def _one_sweep(row, reward, power):
    """power[0] <- the map of a sweep."""
    n = U64(len(reward))
    for s in range(n):
        for j in range(n):
            power[ZERO, s, j] = row[s, j] if j >= s else 0.0
        power[ZERO, s, n] = reward[s]
        for k in range(s):
            weight = row[s, k]
            for j in range(n + ONE):
                power[ZERO, s, j] += weight * power[ZERO, k, j]
    power[ZERO, n, n] = 1.0


@njit(cache=True)
def _square(power, level):
    """power[level] <- power[level - 1]^2."""
    n, below, level = U64(power.shape[1]), U64(level - 1), U64(level)
    for s in range(n):
        for j in range(ZERO, n, FOUR):
            r0 = r1 = r2 = r3 = 0.0
            for k in range(n):
                w = power[below, s, k]
                r0 += w * power[below, k, j]
                r1 += w * power[below, k, j + ONE]
                r2 += w * power[below, k, j + TWO]
                r3 += w * power[below, k, j + THREE]
            power[level, s, j], power[level, s, j + ONE] = r0, r1
            power[level, s, j + TWO], power[level, s, j + THREE] = r2, r3


@njit(cache=True)
def _make(row, reward, power, levels, level):
    """See to it that the map of 2^level sweeps is there."""
    while levels[0] <= level:
        if levels[0] == 0:
            _one_sweep(row, reward, power)
        else:
            _square(power, levels[0])
        levels[0] += 1


@njit(cache=True)
def _jump(power, level, value, result):
    """result <- the value after 2^level sweeps."""
    n, level = U64(len(value)), U64(level)
    for s in range(n):
        total = power[level, s, n]
        for j in range(n):
            total += power[level, s, j] * value[j]
        result[s] = total


@njit(cache=True)
def _next_change(power, value):
    """By how much the next sweep would change the values."""
    n = U64(len(value))
    largest = 0.0
    for s in range(n):
        total = power[ZERO, s, n] - value[s]
        for j in range(n):
            total += power[ZERO, s, j] * value[j]
        largest = max(largest, abs(total))
    return largest


@njit(cache=True)
def _leap(power, level, value, trial, theta):
    """2^level sweeps, unless the next one would then change no more than theta."""
    _jump(power, level, value, trial)
    if _next_change(power, trial) <= theta:
        return False
    for s in range(len(value)):
        value[s] = trial[s]
    return True


@njit(cache=True)
def sweep_until_stable(x, value, theta, most):
    """Sweep until one changes no value by more than theta; returns that change, or -1 after `most`."""
    # Arrays are taken out of the tuple once: reaching into it costs as much as a sweep.
    row, reward, power, levels, trial = x.row, x.reward, x.power, x.levels, x.trial
    change = 0.0
    for _ in range(3 if len(value) <= SMALL else most):
        change = sweep(row, reward, value)
        if change <= theta:
            return change
    if len(value) > SMALL:
        return -1.0
    level = 0
    _make(row, reward, power, levels, 0)
    while _leap(power, level, value, trial, theta):
        level += 1
        if level == LEVELS:
            return -1.0
        _make(row, reward, power, levels, level)
    for lower in range(level - 1, -1, -1):
        _leap(power, lower, value, trial, theta)
    for _ in range(3):
        change = sweep(row, reward, value)
        if change <= theta:
            return change
    return -1.0


@njit(cache=True)
def sweep_times(x, value, times):
    """That many sweeps."""
    row, reward, power, levels, trial = x.row, x.reward, x.power, x.levels, x.trial
    if times <= 8 or len(value) > SMALL:
        for _ in range(times):
            if sweep(row, reward, value) == 0.0:
                break
        return
    level = 0
    while times > 0 and level < LEVELS:
        _make(row, reward, power, levels, level)
        if times & 1:
            _jump(power, level, value, trial)
            for s in range(len(value)):
                value[s] = trial[s]
        times >>= 1
        level += 1
