"""Sarsa+DR: the log of the norm of the default representation as bonus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from countless.agents.tabular import fields
from countless.agents.tabular.agent import OWN_SWEEP, TSE_ET_AL, Grid, Preset
from countless.agents.tabular.sarsa_agent import SarsaAgent
from countless.core.parameters import choice, real

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from countless.agents.tabular.task import BoundKernel, Task

SEEN = ("scaled", "none")


@dataclass(frozen=True)
class SarsaDR(SarsaAgent):
    """Sarsa with the bonus β·log‖Z(s, a)‖₂, Z the default representation (Tse et al. 2025)."""

    name: ClassVar[str] = "sarsa-dr"
    replays_released_draws: ClassVar[bool] = True
    starts_as_identity: ClassVar[bool] = True
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset(
            "riverswim",
            {
                "alpha": 0.25,
                "eta": 0.5,
                "lambda_dr": 1.0,
                "beta": 100.0,
                "epsilon": 0.01,
                "initial_value": 0.0,
            },
            TSE_ET_AL,
        ),
        Preset(
            "sixarms",
            {
                "alpha": 0.01,
                "eta": 0.5,
                "lambda_dr": 1.5,
                "beta": 0.1,
                "epsilon": 0.01,
                "initial_value": 0.0,
            },
            TSE_ET_AL,
        ),
    )
    grid: ClassVar[Grid | None] = Grid(
        {
            "alpha": (0.01, 0.05, 0.1, 0.25, 0.5),
            "eta": (0.01, 0.05, 0.1, 0.25, 0.5),
            "lambda_dr": (0.5, 1.0, 1.5, 2.0),
            "beta": (0.1, 1.0, 10.0, 100.0, 1000.0),
            "epsilon": (0.01, 0.05, 0.1),
        },
        OWN_SWEEP,
    )

    alpha: float = fields.alpha(0.25)
    eta: float = real(0.5, "step size of the default representation", "(0, 1]")
    lambda_dr: float = real(
        1.0, "temperature of the default representation: it sees exp(r / lambda)", "[0.01, inf)"
    )
    beta: float | None = fields.beta(0.01)
    epsilon: float = fields.epsilon(0.01)
    initial_value: float | None = fields.initial_value()
    seen_rewards: str = choice(
        "scaled",
        "the rewards that the default representation sees: scaled to [-1, 0], or none, that is "
        "-1 at every step",
        SEEN,
    )

    def bonus(self, task: Task) -> Any:
        from countless.agents.tabular.kernels.sarsa import DRNorm

        return DRNorm(self._scaled(task))

    def matrix_rows(self, task: Task) -> int:
        return task.mdp.n_states * len(task.arrays.slots)

    def _scaled(self, task: Task) -> NDArray[np.float64]:
        """The rewards that Z sees, by outcome: 0 for the largest, -1 for the range below it."""
        import numpy as np

        from countless.agents.tabular.task import reward_scale

        reward = task.arrays.reward
        if self.seen_rewards == "none":
            return np.full(len(reward), -1.0)
        scale, largest = reward_scale(task.mdp, self.name)
        return (reward - largest) / scale

    @classmethod
    def released_script_kernel(cls, agents: Sequence[Self], task: Task) -> BoundKernel:
        from countless.agents.tabular.released.sarsa import dr_bonus
        from countless.agents.tabular.released_draws import released_sarsa_kernel

        first = agents[0]
        return released_sarsa_kernel(
            agents,
            task,
            bonus=dr_bonus(first.matrix_rows(task), first._scaled(task)),
            update=first.update,
            time_limit=first.time_limit,
        )
