"""Posterior sampling for reinforcement learning (Osband, Russo & Van Roy 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, Grid, Preset, TabularAgent

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class Psrl(TabularAgent):
    """Posterior sampling: plan in a model drawn from the posterior, again when samples double."""

    name: ClassVar[str] = "psrl"
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset("riverswim", {"a": 0.03}, OWN_SWEEP),
        Preset("sixarms", {"a": 0.3}, OWN_SWEEP),
    )
    grid: ClassVar[Grid | None] = Grid({"a": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)}, OWN_SWEEP)

    a: float = fields.reward_width(0.1)
    gamma: float = fields.gamma()

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.kernels import psrl
        from countless.agents.tabular.planners import planner_kernel
        from countless.agents.tabular.task import columns, reward_scale

        spread, largest = reward_scale(task.mdp, cls.name)
        settings = columns(agents, "gamma", "a")
        return planner_kernel(cls.name, task, settings, psrl.Options(spread, largest))
