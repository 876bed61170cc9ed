"""Sarsa: the agent without a bonus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import PAPER_SWEEP, TABLE_6, Grid, Preset
from countless.agents.tabular.sarsa_agent import SarsaAgent

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class Sarsa(SarsaAgent):
    """One-step Sarsa, epsilon-greedy, zero initial values."""

    name: ClassVar[str] = "sarsa"
    replays_released_draws: ClassVar[bool] = True
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset("riverswim", {"alpha": 0.005, "epsilon": 0.01}, TABLE_6),
        Preset("sixarms", {"alpha": 0.465, "epsilon": 0.03}, TABLE_6),
    )
    grid: ClassVar[Grid | None] = Grid(
        {
            "alpha": tuple(round(0.005 * i, 3) for i in range(1, 101)),
            "epsilon": tuple(round(0.01 * j, 2) for j in range(1, 16)),
        },
        PAPER_SWEEP,
    )

    alpha: float = fields.alpha(0.005)
    epsilon: float = fields.epsilon(0.01)

    def bonus(self, task: Task) -> Any:
        from countless.agents.tabular.kernels.sarsa import NoBonus

        return NoBonus()

    @classmethod
    def released_script_kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.released_draws import released_sarsa_kernel

        first = agents[0]
        return released_sarsa_kernel(agents, task, update=first.update, time_limit=first.time_limit)
