"""Sarsa with a bonus from true visit counts: what the successor representation stands in for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, PAPER_RANGES, Grid, Preset, TabularAgent

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class SarsaCounts(TabularAgent):
    """Sarsa with the bonus beta / sqrt(n(s)), n the true visit counts: the control."""

    name: ClassVar[str] = "sarsa-counts"
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset("riverswim", {"alpha": 0.5, "beta": 1000.0, "epsilon": 0.1}, OWN_SWEEP),
    )
    grid: ClassVar[Grid | None] = Grid(
        {
            "alpha": (0.01, 0.05, 0.1, 0.25, 0.5),
            "beta": (1.0, 10.0, 100.0, 1000.0, 10000.0),
            "epsilon": (0.01, 0.05, 0.1),
        },
        PAPER_RANGES,
    )

    alpha: float = fields.alpha(0.5)
    beta: float | None = fields.beta(0.1)
    epsilon: float = fields.epsilon(0.1)
    gamma: float = fields.gamma()
    update: str = fields.update()
    time_limit: str = fields.time_limit()

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.kernels.sarsa import VisitCounts
        from countless.agents.tabular.sarsa_family import sarsa_kernel

        first = agents[0]
        return sarsa_kernel(
            agents, task, VisitCounts(), update=first.update, time_limit=first.time_limit
        )
