"""Where agents go: visits, norm and bonus of every state, at some steps of their runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.tabular.agent import TabularAgent
from countless.agents.tabular.kernels.maps import add_runs
from countless.agents.tabular.simulate import NORM

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Quantity:
    """What an agent's trace has as its norm, and the bonus that follows from it."""

    label: str
    bonus: Callable[[Any, Array], Array] | None = None


# As the kernels have them. An agent that is not here has no norm.
QUANTITIES = {
    "sarsa-sr": Quantity("norm of the SR, ‖Ψ(s)‖", lambda agent, norm: agent.beta / norm),
    "sarsa-counts": Quantity(
        "visits, n(s)", lambda agent, count: agent.beta / np.sqrt(count)
    ),
    "sarsa-dr": Quantity(
        "norm of the DR, ‖Z(s, a)‖", lambda agent, norm: agent.beta * np.log(norm)
    ),
    "spie": Quantity("column of the SR, ‖Ψ(·, s)‖"),
    "essr": Quantity("norm of the SSR, ‖Ψ̃(s)‖", lambda agent, norm: -agent.beta * norm),
}  # fmt: skip


class MapSums:
    """Sums over runs at each of the steps in `marks`, (marks, states) each."""

    def __init__(self, marks: NDArray[np.int64], states: int) -> None:
        self.runs = 0
        # Visits; runs that have been in the state; its norm and bonus as of the last visit.
        self.visits, self.seen, self.norms, self.bonuses = np.zeros((4, len(marks), states))

    def add(self, part: MapSums) -> None:
        """Take in the sums of other runs."""
        self.runs += part.runs
        self.visits += part.visits
        self.seen += part.seen
        self.norms += part.norms
        self.bonuses += part.bonuses

    def means(self) -> dict[str, Array]:
        """Visits per run; norm and bonus over the runs that have been there, NaN where none has."""
        visited = np.where(self.seen > 0, self.seen, np.nan)
        return {
            "visits": self.visits / max(self.runs, 1),
            "norm": self.norms / visited,
            "bonus": self.bonuses / visited,
        }


def sum_runs(
    agent: TabularAgent, trace: Array, marks: NDArray[np.int64], states: int
) -> tuple[Array, MapSums]:
    """Of traced runs the reward collected so far (runs, marks), and the sums for the maps."""
    quantity, bonus = QUANTITIES.get(agent.name), np.full(trace.shape[:2], np.nan)
    if quantity is not None and quantity.bonus is not None:
        bonus = quantity.bonus(agent, trace[:, :, NORM])
    rewards, sums = np.empty((len(trace), len(marks))), MapSums(marks, states)
    sums.runs = len(trace)
    add_runs(trace, bonus, marks, rewards, sums.visits, sums.seen, sums.norms, sums.bonuses)
    return rewards, sums
