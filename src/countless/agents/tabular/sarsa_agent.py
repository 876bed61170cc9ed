"""What Sarsa and its variants with a bonus have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import TabularAgent

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class SarsaAgent(TabularAgent):
    """One-step Sarsa; a subclass says which bonus it adds to the reward."""

    starts_as_identity: ClassVar[bool] = False  # the matrix of the bonus, if it keeps one

    alpha: float = fields.alpha(0.25)
    epsilon: float = fields.epsilon(0.1)
    gamma: float = fields.gamma()
    update: str = fields.update()
    time_limit: str = fields.time_limit()

    @abstractmethod
    def bonus(self, task: Task) -> Any:
        """The bonus, as one of the classes of the kernel."""

    def matrix_rows(self, task: Task) -> int:
        """The rows of the matrix that the bonus keeps: 0, or one for each state or pair."""
        return 0

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.sarsa_family import sarsa_kernel

        first = agents[0]
        return sarsa_kernel(
            agents,
            task,
            first.bonus(task),
            update=first.update,
            time_limit=first.time_limit,
            rows=first.matrix_rows(task),
            identity=cls.starts_as_identity,
        )
