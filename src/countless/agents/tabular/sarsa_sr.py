"""Sarsa+SR: the paper's agent, with the norm of the learned successor representation as bonus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import PAPER_SWEEP, TABLE_6, Grid, Preset
from countless.agents.tabular.sarsa_agent import SarsaAgent
from countless.core.parameters import real

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task

L1, L2 = {"norm": 1.0}, {"norm": 2.0}
FROM_ZERO = {"initial_value": 0.0}


@dataclass(frozen=True)
class SarsaSR(SarsaAgent):
    """Sarsa with the bonus β/‖Ψ(s)‖ₚ, Ψ the SR learned by TD (the paper's Eq. 6)."""

    name: ClassVar[str] = "sarsa-sr"
    replays_released_draws: ClassVar[bool] = True
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset(
            "riverswim",
            {
                "alpha": 0.25,
                "eta": 0.01,
                "gamma_sr": 0.95,
                "beta": 100.0,
                "epsilon": 0.1,
                **FROM_ZERO,
            },
            TABLE_6,
            L1,
        ),
        Preset(
            "sixarms",
            {
                "alpha": 0.1,
                "eta": 0.01,
                "gamma_sr": 0.99,
                "beta": 100.0,
                "epsilon": 0.01,
                **FROM_ZERO,
            },
            TABLE_6,
            L1,
        ),
        Preset(
            "riverswim",
            {
                "alpha": 0.25,
                "eta": 0.01,
                "gamma_sr": 0.99,
                "beta": 100.0,
                "epsilon": 0.1,
                **FROM_ZERO,
            },
            TABLE_6,
            L2,
        ),
        Preset(
            "sixarms",
            {
                "alpha": 0.1,
                "eta": 0.01,
                "gamma_sr": 0.99,
                "beta": 10.0,
                "epsilon": 0.01,
                **FROM_ZERO,
            },
            TABLE_6,
            L2,
        ),
    )
    grid: ClassVar[Grid | None] = Grid(
        {
            "alpha": (0.01, 0.05, 0.1, 0.25, 0.5),
            "eta": (0.01, 0.05, 0.1, 0.25, 0.5),
            "gamma_sr": (0.5, 0.8, 0.95, 0.99),
            "beta": (1.0, 10.0, 100.0, 1000.0, 10000.0),
            "epsilon": (0.01, 0.05, 0.1),
        },
        PAPER_SWEEP,
    )

    alpha: float = fields.alpha(0.5)
    eta: float = fields.eta(0.01)
    gamma_sr: float = fields.gamma_sr()
    beta: float | None = fields.beta(0.001)
    epsilon: float = fields.epsilon(0.01)
    initial_value: float | None = fields.initial_value()
    norm: float = real(
        1.0, "p of the p-norm of the successor representation (inf allowed)", "[1, inf]"
    )

    def bonus(self, task: Task) -> Any:
        from countless.agents.tabular.kernels.sarsa import SRNorm, SRNormL1

        return SRNorm(self.norm) if self.matrix_rows(task) else SRNormL1()

    def matrix_rows(self, task: Task) -> int:
        # The l1-norm obeys a recursion of its own.
        return task.mdp.n_states if self.norm != 1.0 else 0

    @classmethod
    def released_script_kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.released.sarsa import sr_bonus
        from countless.agents.tabular.released_draws import released_sarsa_kernel

        first = agents[0]
        return released_sarsa_kernel(
            agents,
            task,
            bonus=sr_bonus(task.mdp.n_states, first.norm),
            update=first.update,
            time_limit=first.time_limit,
        )
