"""UCRL2 (Jaksch, Ortner & Auer 2010), planned with a discount."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, Grid, Preset, TabularAgent
from countless.core.parameters import real

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class Ucrl2(TabularAgent):
    """UCRL2's intervals, scaled by a and b, and its epochs; planned with a discount."""

    name: ClassVar[str] = "ucrl2"
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset("riverswim", {"a": 0.003, "b": 0.001}, OWN_SWEEP),
        Preset("sixarms", {"a": 0.001, "b": 0.003}, OWN_SWEEP),
    )
    grid: ClassVar[Grid | None] = Grid(
        {
            "a": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3),
            "b": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3),
        },
        OWN_SWEEP,
    )

    a: float = fields.reward_width(0.1)
    b: float = fields.transition_width(0.1)
    delta: float = real(0.1, "probability of failure that its intervals allow", "(0, 1)")
    gamma: float = fields.gamma()

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.kernels import optimism
        from countless.agents.tabular.optimistic import optimistic_kernel

        return optimistic_kernel(agents, task, optimism.Ucrl2, "a", "b", "delta")
