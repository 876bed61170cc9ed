"""The agent that does not learn: the floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from countless.agents.tabular.agent import TabularAgent

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class RandomAgent(TabularAgent):
    """Uniformly random actions."""

    name: ClassVar[str] = "random"

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        import numpy as np

        from countless.agents.tabular.fixed_policy import ANY_SLOT, fixed_policy_kernel

        return fixed_policy_kernel([np.full(task.mdp.n_states, ANY_SLOT) for _ in agents], task)
