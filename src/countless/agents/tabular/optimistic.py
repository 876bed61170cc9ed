"""The kernel call that the agents with optimistic models share: R-Max, MBIE, MBIE-EB, UCRL2."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from countless.agents.tabular.agent import TabularAgent
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
}


def optimistic_kernel(
    agents: Sequence[TabularAgent], task: Task, rule: tuple[int, ...], *parameters: str
) -> BoundKernel:
    """Exact planning in a model made optimistic by `rule`."""
    settings = np.zeros((len(agents), len(set(COLUMNS.values()))))
    for name in ("gamma", *parameters):
        settings[:, COLUMNS[name]] = columns(agents, name)[:, 0]
    first = agents[0]
    scale = reward_scale(task.mdp, first.name)
    return planner_kernel(first.name, task, optimism.optimism, settings, scale, case=(rule,))
