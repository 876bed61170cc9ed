"""Sarsa+SR: the paper's agent, with the norm of the learned successor representation as bonus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import PAPER_SWEEP, TABLE_6, Grid, Preset, TabularAgent
from countless.core.parameters import real

if TYPE_CHECKING:
    from countless.agents.tabular.task import BoundKernel, Task

L1, L2 = {"norm": 1.0}, {"norm": 2.0}


@dataclass(frozen=True)
class SarsaSR(TabularAgent):
    """Sarsa with the bonus beta / ||Psi(s)||_p, Psi the SR learned by TD (the paper's Eq. 6)."""

    name: ClassVar[str] = "sarsa-sr"
    replays_released_draws: ClassVar[bool] = True
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset(
            "riverswim",
            {"alpha": 0.25, "eta": 0.01, "gamma_sr": 0.95, "beta": 100.0, "epsilon": 0.1},
            TABLE_6,
            L1,
        ),
        Preset(
            "sixarms",
            {"alpha": 0.1, "eta": 0.01, "gamma_sr": 0.99, "beta": 100.0, "epsilon": 0.01},
            TABLE_6,
            L1,
        ),
        Preset(
            "riverswim",
            {"alpha": 0.25, "eta": 0.01, "gamma_sr": 0.99, "beta": 100.0, "epsilon": 0.1},
            TABLE_6,
            L2,
        ),
        Preset(
            "sixarms",
            {"alpha": 0.1, "eta": 0.01, "gamma_sr": 0.99, "beta": 10.0, "epsilon": 0.01},
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

    alpha: float = fields.alpha(0.25)
    eta: float = fields.eta(0.01)
    gamma_sr: float = fields.gamma_sr()
    beta: float | None = fields.beta(0.01)
    epsilon: float = fields.epsilon(0.1)
    gamma: float = fields.gamma()
    norm: float = real(
        1.0, "p of the p-norm of the successor representation (inf allowed)", "[1, inf]"
    )
    update: str = fields.update()
    time_limit: str = fields.time_limit()

    @classmethod
    def kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.kernels.sarsa import SRNorm, SRNormL1
        from countless.agents.tabular.sarsa_family import sarsa_kernel

        first = agents[0]
        return sarsa_kernel(
            agents,
            task,
            SRNormL1() if first.norm == 1.0 else SRNorm(first.norm),
            update=first.update,
            time_limit=first.time_limit,
            keeps_matrix=first.norm != 1.0,
        )

    @classmethod
    def replay_kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.released_draws import released_sarsa_kernel
        from countless.agents.tabular.task import check_matrix_fits

        first = agents[0]
        check_matrix_fits(first, task.mdp)
        return released_sarsa_kernel(
            agents,
            task,
            bonus=True,
            norm=first.norm,
            update=first.update,
            time_limit=first.time_limit,
        )
