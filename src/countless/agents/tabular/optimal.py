"""The agent that knows the MDP: the ceiling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import TabularAgent

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class OptimalAgent(TabularAgent):
    """Greedy in q* of the true MDP: the ceiling."""

    name: ClassVar[str] = "optimal"

    gamma: float = fields.gamma()

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.fixed_policy import action_slots, fixed_policy_kernel
        from countless.envs.solve import optimal_q

        mdp = task.mdp
        best = [optimal_q(mdp, agent.gamma).argmax(axis=1) for agent in agents]
        return fixed_policy_kernel([action_slots(mdp, actions) for actions in best], task)
