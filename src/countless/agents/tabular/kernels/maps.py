"""A compiled loop over traces: sums for the maps of what agents do."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def add_runs(trace, bonus, marks, rewards, visits, seen, norms, bonuses):
    """Add runs to the sums of a picture, at each of the steps in `marks`.

    `rewards` (runs, marks) gets the reward collected so far. `visits`, `seen`, `norms` and `bonuses`
    (marks, states) are sums over runs: of visits, of runs that have been in the state, and of its norm
    and bonus as of the last visit.
    """
    states = visits.shape[1]
    for run in range(trace.shape[0]):
        count = np.zeros(states)
        norm = np.zeros(states)
        paid = np.zeros(states)
        total = 0.0
        k = 0
        for t in range(trace.shape[1]):
            s = int(trace[run, t, 0])
            count[s] += 1.0
            norm[s] = trace[run, t, 3]
            paid[s] = bonus[run, t]
            total += trace[run, t, 2]
            if t + 1 == marks[k]:
                rewards[run, k] = total
                for i in range(states):
                    if count[i] > 0.0:
                        visits[k, i] += count[i]
                        seen[k, i] += 1.0
                        norms[k, i] += norm[i]
                        bonuses[k, i] += paid[i]
                k += 1
