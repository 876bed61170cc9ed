"""MBIE with an exploration bonus in place of intervals (Strehl & Littman 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, STREHL_LITTMAN, Grid, Preset
from countless.agents.tabular.counted import CountedAgent
from countless.core.parameters import real

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class MbieEb(CountedAgent):
    """MBIE-EB: a bonus of C·Rmax/√n(s, a)."""

    name: ClassVar[str] = "mbie-eb"
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset("riverswim", {"c": 0.4}, STREHL_LITTMAN),
        Preset("sixarms", {"c": 0.8}, STREHL_LITTMAN),
    )
    grid: ClassVar[Grid | None] = Grid({"c": (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2)}, OWN_SWEEP)

    c: float = real(0.4, "scale of the bonus, in units of the largest reward", "[0, inf)")
    gamma: float = fields.gamma()
    counts: str = fields.counts()
    gamma_ssr: float = fields.gamma_ssr()

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.kernels import optimism
        from countless.agents.tabular.optimistic import counted_kernel

        return counted_kernel(agents, task, optimism.Mbie, optimism.MbieEbBySSR, "c")
