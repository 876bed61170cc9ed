"""Sarsa with a bonus from true visit counts: what the successor representation stands in for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, PAPER_RANGES, Grid, Preset
from countless.agents.tabular.sarsa_agent import SarsaAgent

if TYPE_CHECKING:
    from countless.agents.tabular.task import Task


@dataclass(frozen=True)
class SarsaCounts(SarsaAgent):
    """Sarsa with the bonus β/√n(s), n the true visit counts: the control."""

    name: ClassVar[str] = "sarsa-counts"
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset(
            "riverswim",
            {"alpha": 0.5, "beta": 1000.0, "epsilon": 0.1, "initial_value": 0.0},
            OWN_SWEEP,
        ),
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
    beta: float | None = fields.beta(0.01)
    epsilon: float = fields.epsilon(0.01)
    initial_value: float | None = fields.initial_value()

    def bonus(self, task: Task) -> Any:
        from countless.agents.tabular.kernels.sarsa import VisitCounts

        return VisitCounts()
