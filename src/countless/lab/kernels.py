"""A compiled loop over a trace: the successor representation of a run."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def add_representation(states, cut, eta, gamma, total):
    """Add the SR that TD learns along a run's states to `total`.

    Step t goes from states[t] to states[t + 1]; where it is `cut` there is no bootstrap.
    """
    psi = np.zeros_like(total)
    for t in range(len(states) - 1):
        s, s_next = states[t], states[t + 1]
        bootstrap = 0.0 if cut[t] else gamma
        for j in range(len(psi)):
            psi[s, j] += eta * (bootstrap * psi[s_next, j] + (1.0 if j == s else 0.0) - psi[s, j])
    total += psi
