"""The kernel call that the planning agents share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.tabular.kernels.planning import MOST_PASSES
from countless.agents.tabular.task import BoundKernel, Returns, Task, Trace
from countless.core.errors import BadInput, CountlessError

MOST_STATES = 5000


def planner_kernel(
    name: str,
    task: Task,
    function: Callable[..., bool],
    settings: NDArray[np.float64],
    scale: float | NDArray[np.float64],
    *,
    case: tuple[Any, ...] = (),
    unstable: str = "",
) -> BoundKernel:
    """A kernel that plans; it says False when planning did not settle.

    `case` holds the arguments of one agent alone; `unstable` is what to say when planning does
    not settle, where that differs from the usual.
    """
    mdp = task.mdp
    if mdp.n_states > MOST_STATES:
        raise BadInput(
            f"{name} plans with a matrix of |S|^2 numbers: {mdp.name} has {mdp.n_states:,} "
            f"states, the most is {MOST_STATES:,}"
        )
    words = task.seed_words

    def call(chosen: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        settled = function(
            task.model,
            *case,
            settings[chosen],
            scale,
            task.steps,
            words,
            task.keys[chosen],
            first_run,
            returns,
            trace,
        )
        if not settled:
            raise CountlessError(f"{name} in {mdp.name}: {unstable or UNSETTLED}")

    return BoundKernel(call, plans=True)


UNSETTLED = (
    f"planning did not settle within {MOST_PASSES:,} passes; the model's values may be too close "
    "to tell apart"
)
