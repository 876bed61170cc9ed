"""SPIE: a bonus from the successor and the predecessor representation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, Grid, Preset, TabularAgent

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task


@dataclass(frozen=True)
class Spie(TabularAgent):
    """Sarsa with SPIE's bonus beta (Psi(s, s') - ||Psi(., s')||_1) (Yu et al. 2023)."""

    name: ClassVar[str] = "spie"
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset("riverswim", {"alpha": 0.1, "eta": 0.25, "beta": 10.0, "epsilon": 0.01}, OWN_SWEEP),
        Preset(
            "sixarms", {"alpha": 0.01, "eta": 0.01, "beta": 10000.0, "epsilon": 0.01}, OWN_SWEEP
        ),
    )
    grid: ClassVar[Grid | None] = Grid(
        {
            "alpha": (0.01, 0.05, 0.1, 0.25, 0.5),
            "eta": (0.01, 0.05, 0.25),
            "beta": (1.0, 10.0, 100.0, 1000.0, 10000.0),
            "epsilon": (0.01, 0.05, 0.1),
        },
        OWN_SWEEP,
    )

    alpha: float = fields.alpha(0.25)
    eta: float = fields.eta(0.05)
    gamma_sr: float = fields.gamma_sr()
    beta: float | None = fields.beta(0.001)
    epsilon: float = fields.epsilon(0.1)
    gamma: float = fields.gamma()
    update: str = fields.update()
    time_limit: str = fields.time_limit()

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.kernels import sarsa
        from countless.agents.tabular.sarsa_family import sarsa_kernel

        first = agents[0]
        return sarsa_kernel(
            agents,
            task,
            sarsa.Spie(),
            update=first.update,
            time_limit=first.time_limit,
            keeps_matrix=True,
        )
