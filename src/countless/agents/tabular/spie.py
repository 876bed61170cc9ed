"""SPIE: a bonus from the successor and the predecessor representation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, Grid, Preset
from countless.agents.tabular.sarsa_agent import SarsaAgent

if TYPE_CHECKING:
    from countless.agents.tabular.task import Task


@dataclass(frozen=True)
class Spie(SarsaAgent):
    """Sarsa with SPIE's bonus β(Ψ(s, s′) − ‖Ψ(·, s′)‖₁) (Yu et al. 2023)."""

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

    eta: float = fields.eta(0.05)
    gamma_sr: float = fields.gamma_sr()
    beta: float | None = fields.beta(0.001)

    def bonus(self, task: Task) -> Any:
        from countless.agents.tabular.kernels import sarsa

        return sarsa.Spie()

    def matrix_rows(self, task: Task) -> int:
        return task.mdp.n_states
