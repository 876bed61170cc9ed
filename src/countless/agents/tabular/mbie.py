"""Model-based interval estimation (Strehl & Littman 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, STREHL_LITTMAN, Grid, Preset, TabularAgent

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class Mbie(TabularAgent):
    """MBIE: rewards up by A·Rmax/√n, transitions the best within an ℓ1 ball of B/√n."""

    name: ClassVar[str] = "mbie"
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset("riverswim", {"a": 0.3, "b": 0.0}, STREHL_LITTMAN),
        Preset("sixarms", {"a": 0.3, "b": 0.08}, STREHL_LITTMAN),
    )
    grid: ClassVar[Grid | None] = Grid(
        {"a": (0.1, 0.2, 0.3, 0.4, 0.6, 0.8), "b": (0.0, 0.02, 0.04, 0.08, 0.16, 0.32)}, OWN_SWEEP
    )

    a: float = fields.reward_width(0.3)
    b: float = fields.transition_width(0.0)
    gamma: float = fields.gamma()

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.kernels import optimism
        from countless.agents.tabular.optimistic import optimistic_kernel

        return optimistic_kernel(agents, task, optimism.Mbie, "a", "b")
