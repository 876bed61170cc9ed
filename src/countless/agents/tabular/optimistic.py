"""The kernel call that the agents with optimistic models share: R-Max, MBIE, MBIE-EB, UCRL2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from countless.agents.tabular.agent import TabularAgent
from countless.agents.tabular.counted import CountedAgent
from countless.agents.tabular.kernels import optimism
from countless.agents.tabular.planners import planner_kernel
from countless.agents.tabular.task import BoundKernel, Task, columns, reward_scale

# Which column of the kernel's table each parameter fills; C is the width of MBIE-EB's bonus.
COLUMNS = {
    "gamma": optimism.GAMMA,
    "m": optimism.M,
    "a": optimism.A,
    "c": optimism.A,
    "b": optimism.B,
    "delta": optimism.DELTA,
    "gamma_ssr": optimism.GAMMA_SSR,
}


def optimistic_kernel(
    agents: Sequence[TabularAgent],
    task: Task,
    model: Callable[[float, float], Any],
    *parameters: str,
) -> BoundKernel:
    """Exact planning in a model that `model`, one of the kernel's classes, makes optimistic."""
    settings = np.zeros((len(agents), len(set(COLUMNS.values()))))
    for name in ("gamma", *parameters):
        settings[:, COLUMNS[name]] = columns(agents, name)[:, 0]
    name = agents[0].name
    spread, largest = reward_scale(task.mdp, name)
    return planner_kernel(name, task, settings, model(spread, largest))


def counted_kernel(
    agents: Sequence[CountedAgent],
    task: Task,
    model: Callable[[float, float], Any],
    model_by_ssr: Callable[..., Any],
    *parameters: str,
) -> BoundKernel:
    """The same for agents whose counts may be read off the norms of the substochastic SR."""
    if reading := agents[0].reading:
        model, parameters = partial(model_by_ssr, reading=reading), (*parameters, "gamma_ssr")
    return optimistic_kernel(agents, task, model, *parameters)
