"""The scale of a bonus, compiled: for a few environments the calls of NumPy cost more than the sums."""

from __future__ import annotations

import numpy as np
from numba import njit

LANES = 8  # sums that NumPy adds up beside each other, up to 128 numbers


@njit(nogil=True, cache=True)
def total(values):
    """The sum, in the order of NumPy's `add.reduce`."""
    size = values.shape[0]
    whole = size - size % LANES
    result = 0.0
    if whole:
        lanes = values[:LANES].copy()
        for i in range(LANES, whole):
            lanes[i % LANES] += values[i]
        result = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + (
            (lanes[4] + lanes[5]) + (lanes[6] + lanes[7])
        )
    for i in range(whole, size):
        result += values[i]
    return result


@njit(nogil=True, cache=True)
def scale_to(raw, shift, deviation, most, beta, paid):
    """paid (B,) = beta times raw less the shift, in units of the SD, cut at `most` of them."""
    for i in range(raw.shape[0]):
        paid[i] = beta * min(max((raw[i] - shift) / deviation, -most), most)


@njit(nogil=True, cache=True)
def add_up(raw, rows, mean, rate, centred, gamma, sums):
    """Take the bonuses of some rows into their mean and into the discounted sums (B,) of them.

    The mean moves towards that of the rows by `rate`; if `centred` it is taken out of what is summed
    up. Returns the mean, and the mean and the squared differences of the sums of these rows.
    """
    count = rows.shape[0]
    values = np.empty(count)
    for i in range(count):
        values[i] = raw[rows[i]]
    mean += rate * (total(values) / count - mean)
    shift = mean if centred else 0.0
    for i in range(count):
        values[i] = gamma * sums[rows[i]] + (values[i] - shift)
        sums[rows[i]] = values[i]
    sum_mean = total(values) / count
    for i in range(count):
        values[i] = (values[i] - sum_mean) * (values[i] - sum_mean)
    return mean, sum_mean, total(values)
