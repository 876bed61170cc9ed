"""R-Max (Brafman & Tennenholtz 2002), as Strehl & Littman (2008) ran it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, STREHL_LITTMAN, Grid, Preset
from countless.agents.tabular.counted import CountedAgent

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class RMax(CountedAgent):
    """R-Max: a pair tried fewer than m times is worth the most there can be."""

    name: ClassVar[str] = "rmax"
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset("riverswim", {"m": 16.0}, STREHL_LITTMAN),
        Preset("sixarms", {"m": 6.0}, STREHL_LITTMAN),
    )
    grid: ClassVar[Grid | None] = Grid(
        {"m": (1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)}, OWN_SWEEP
    )

    m: float = fields.known_after(16.0)
    gamma: float = fields.gamma()
    counts: str = fields.counts()
    gamma_ssr: float = fields.gamma_ssr()

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.kernels import optimism
        from countless.agents.tabular.optimistic import counted_kernel

        return counted_kernel(agents, task, optimism.RMax, optimism.RMaxBySSR, "m")
