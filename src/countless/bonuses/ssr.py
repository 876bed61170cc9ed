"""The norm of the substochastic SR as a bonus for an agent of your own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.protocol import Bonus
from countless.bonuses.registry import BonusKind
from countless.bonuses.tabular import States, TabularBonus
from countless.core.arrays import Floats
from countless.core.errors import BadInput
from countless.core.observations import ObservationReader
from countless.core.parameters import choice, real, validate
from countless.core.substochastic import count_visit, invert, row_residual

NAME = "ssr"
DRIFT = 1e-9


class SubstochasticSR:
    """Psi~ of what was seen so far (Definition 3.1): O(|S|^2) per transition.

    >>> ssr = SubstochasticSR(3, gamma=0.95)
    >>> ssr.bonus(0)
    -1.0
    >>> for _ in range(9):
    ...     ssr.observe(0, 1)
    >>> round(ssr.counts()[0])
    9
    """

    def __init__(self, n_states: int, gamma: float) -> None:
        if n_states < 1 or not 0.0 <= gamma < 1.0:
            raise BadInput(
                f"n_states must be at least 1 and gamma lie in [0, 1), not {n_states}, {gamma:g}"
            )
        self.gamma = float(gamma)
        self.visits: Floats = np.zeros((n_states, n_states))
        self._rows: Floats = np.zeros((n_states, n_states))
        self.matrix: Floats = np.eye(n_states)
        self._row, self._work = np.zeros(n_states), np.zeros(n_states)

    def observe(self, s: int, s_next: int) -> None:
        """Count a transition and bring Psi~ up to date."""
        n = len(self.visits)
        if not (0 <= s < n and 0 <= s_next < n):
            raise BadInput(f"states are 0 to {n - 1}, not {s} and {s_next}")
        count_visit(
            self.visits, self._rows, self.gamma, self.matrix, s, s_next, self._row, self._work
        )
        if row_residual(self._rows, self.gamma, self.matrix, s, self.norms()) > DRIFT:
            invert(self._rows, self.gamma, self.matrix)

    def norms(self) -> Floats:
        """||Psi~(s)||_1 of every state."""
        norms: Floats = self.matrix.sum(axis=1)
        return norms

    def bonus(self, s: int) -> float:
        """The intrinsic reward -||Psi~(s)||_1 of the paper's ESSR."""
        return -float(self.matrix[s].sum())

    def state_dict(self) -> dict[str, Floats]:
        """The counts, and Psi~ as its updates left it."""
        return {"visits": self.visits.copy(), "matrix": self.matrix.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state_dict`."""
        self.visits = np.array(state["visits"], dtype=np.float64)
        self.matrix = np.array(state["matrix"], dtype=np.float64)
        self._rows = self.visits / (self.visits.sum(axis=1, keepdims=True) + 1.0)

    def counts(self) -> Floats:
        """Visits as Theorem 1's upper bound reads them off the norm: gamma / gap - 1.

        Exact where the successors were never left, too high elsewhere; infinite where the norm
        has passed 1 + gamma and the bound is silent.
        """
        gap = (1.0 + self.gamma) - self.norms()
        with np.errstate(divide="ignore"):
            return np.where(gap > 0.0, self.gamma / np.maximum(gap, 1e-300) - 1.0, np.inf)


@dataclass(frozen=True)
class SSRParameters:
    """-||Psi~(s)||_1 moved up by its limit, so that it is never negative; or its inverse."""

    beta: float = real(1.0, "scale of the bonus", "[0, inf)")
    gamma: float = real(0.95, "discount of the SSR", "[0, 1)")
    form: str = choice(
        "shifted",
        "shifted: 1 / (1 - gamma) - norm; inverse: 1 / norm",
        ("shifted", "inverse"),
    )

    def __post_init__(self) -> None:
        validate(self)


class SSRBonus(TabularBonus):
    """The norm of the SSR as a bonus that is never negative.

    The paper's ESSR adds -beta ||Psi~(s)||_1 to the reward. A bonus here is at least 0, so the norm's
    limit 1 / (1 - gamma) is added: beta gamma / (1 - gamma) in a state never left, falling to 0. In a
    continuing task the shift changes no policy. (Theorem 1's own shift, 1 + gamma, makes the bonus
    negative as soon as the successors were left too.) States are counted when they are left; a terminal
    one that is observed itself leads back to itself, as an absorbing state does.
    """

    def __init__(self, observations: ObservationReader, parameters: SSRParameters) -> None:
        super().__init__(NAME, observations)
        self.parameters = parameters
        self.ssr = SubstochasticSR(self.n_states, parameters.gamma)

    def norms(self) -> Floats:
        """||Psi~(s)||_1 of every state."""
        return self.ssr.norms()

    def _bonus(self, states: States) -> Floats:
        norms = self.ssr.matrix[states].sum(axis=1)
        if self.parameters.form == "inverse":
            raw = 1.0 / norms
        else:
            raw = np.maximum(1.0 / (1.0 - self.parameters.gamma) - norms, 0.0)
        bonus: Floats = self.parameters.beta * raw
        return bonus

    def _learn(self, states: States, after: States, dones: NDArray[np.bool_]) -> None:
        for s, s_next in zip(states.tolist(), after.tolist(), strict=True):
            self.ssr.observe(s, s_next)

    def _arrays(self) -> dict[str, Floats]:
        return self.ssr.state_dict()

    def _load(self, state: Mapping[str, Any]) -> None:
        self.ssr.load_state_dict(state)


def _make(
    observations: ObservationReader, parameters: SSRParameters, *, seed: int, device: str
) -> Bonus:
    return SSRBonus(observations, parameters)


KIND = BonusKind(
    NAME,
    "the norm of the substochastic SR, 1 / (1 - gamma) - ||Psi~(s)||_1",
    SSRParameters,
    _make,
    observations=("states",),
)
