"""The loop over settings and runs that all planning agents share, and the trace of a run.

Each planning agent has a class of options, a named tuple, and a function that makes one run with them.
The compiler knows the class from the type of the options: `run_all` is compiled once for each agent,
with the agent's function inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from countless.agents.tabular.kernels.environment import open_stream


class Runs(NamedTuple):
    """Which runs to make: runs first_run, first_run + 1, ... of every setting."""

    settings: NDArray[np.float64]  # (settings, parameters); each kernel names its columns
    keys: NDArray[np.uint32]  # (settings, 2)
    seed: NDArray[np.uint32]  # (4,)
    first_run: int
    steps: int


RUN_FUNCTIONS: dict[type, Callable[..., Any]] = {}


def runs_with(options_class: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let the decorated function make the runs that have options of this class."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        RUN_FUNCTIONS[options_class] = function
        return function

    return register


def _run_once(mdp, options, setting, steps, stream, trace):
    """One run: its return, and whether planning always converged."""
    return RUN_FUNCTIONS[type(options)](mdp, options, setting, steps, stream, trace)


@overload(_run_once, jit_options={"error_model": "numpy"})
def _choose_run_function(mdp, options, setting, steps, stream, trace):
    return RUN_FUNCTIONS[options.instance_class]


@njit(error_model="numpy", nogil=True, cache=True)
def run_all(mdp, options, runs, returns, trace):
    """returns[i, j]: run first_run + j of setting i. False where planning did not converge."""
    for i in range(returns.shape[0]):
        for j in range(returns.shape[1]):
            stream = open_stream(runs.seed, runs.keys[i], runs.first_run + j)
            own_trace = trace[j] if trace.shape[0] > 0 else np.empty((0, 5))
            returns[i, j], converged = _run_once(
                mdp, options, runs.settings[i], runs.steps, stream, own_trace
            )
            if not converged:
                return False
    return True


@njit(forceinline=True)
def record(trace, t, s, slot, reward, norm, value):
    """Write a step down; nothing where no trace was asked for."""
    if len(trace) > 0:
        trace[t, 0], trace[t, 1], trace[t, 2] = s, slot, reward
        trace[t, 3], trace[t, 4] = norm, value
