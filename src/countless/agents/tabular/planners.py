"""The kernel call that the planning agents share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.tabular.kernels.planning import MOST_PASSES
from countless.agents.tabular.kernels.run_loop import run_all
from countless.agents.tabular.task import BoundKernel, Returns, Task, Trace
from countless.core.errors import BadInput, CountlessError

MOST_STATES = 5000
NOT_CONVERGED = (
    f"planning did not converge within {MOST_PASSES:,} passes; the model's values may be too close "
    "to tell apart"
)


def planner_kernel(
    name: str,
    task: Task,
    settings: NDArray[np.float64],
    options: Any,
    *,
    not_converged: str = NOT_CONVERGED,
) -> BoundKernel:
    """A kernel that plans; it says False when planning did not converge.

    `options` is what the settings share; its class, one of the kernels', chooses the kernel.
    """
    mdp = task.mdp
    if mdp.n_states > MOST_STATES:
        raise BadInput(
            f"{name} plans with a matrix of |S|^2 numbers: {mdp.name} has {mdp.n_states:,} "
            f"states, the most is {MOST_STATES:,}"
        )

    def call(chosen: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        runs = task.runs(settings, chosen, first_run)
        if not run_all(task.arrays, options, runs, returns, trace):
            raise CountlessError(f"{name} in {mdp.name}: {not_converged}")

    return BoundKernel(call, plans=True)
