"""The loop over settings and runs that the planning kernels share, and the trace of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from countless.agents.tabular.kernels.environment import open_stream


class Runs(NamedTuple):
    """Which runs to make: runs first_run, first_run + 1, ... of every setting."""

    settings: NDArray[np.float64]  # (settings, parameters); each kernel names its columns
    keys: NDArray[np.uint32]  # (settings, 2)
    seed: NDArray[np.uint32]  # (4,)
    first_run: int
    steps: int


def run_loop(run_once):
    """The loop around `run_once`, compiled with it: `each_run(mdp, options, runs, returns, trace)`.

    `run_once(mdp, options, setting, steps, stream, trace)` makes one run and gives its return and
    whether planning always converged. A compiled function cannot take another as an argument and be
    cached; it can call one that it was defined with.
    """

    @njit(error_model="numpy")
    def each_run(mdp, options, runs, returns, trace):
        """returns[i, j]: run first_run + j of setting i. False where planning did not converge."""
        for i in range(returns.shape[0]):
            for j in range(returns.shape[1]):
                stream = open_stream(runs.seed, runs.keys[i], runs.first_run + j)
                own_trace = trace[j] if trace.shape[0] > 0 else np.empty((0, 5))
                returns[i, j], converged = run_once(
                    mdp, options, runs.settings[i], runs.steps, stream, own_trace
                )
                if not converged:
                    return False
        return True

    return each_run


@njit(forceinline=True)
def record(trace, t, s, slot, reward, norm, value):
    """Write a step down; nothing where no trace was asked for."""
    if len(trace) > 0:
        trace[t, 0], trace[t, 1], trace[t, 2] = s, slot, reward
        trace[t, 3], trace[t, 4] = norm, value
