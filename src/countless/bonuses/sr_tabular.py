"""The norm of a successor representation learned by TD over state indices (Eq. 4 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.tabular import States, TabularBonus
from countless.core.arrays import Floats
from countless.core.observations import ObservationReader

if TYPE_CHECKING:
    from countless.bonuses.sr_norm import SRNormParameters

NAME = "sr-norm"


class TabularSRNorm(TabularBonus):
    """beta / ||Psi(s)||_p, with Psi learned by TD.

    No entry of Psi is negative, so the 1-norm obeys a TD recursion of its own,
    n(s) <- n(s) + eta (1 + gamma n(s') - n(s)), and the matrix is kept for other norms only.
    The first update leaves a norm of eta or more, so eta stands in for states not yet seen.
    """

    def __init__(self, observations: ObservationReader, parameters: SRNormParameters) -> None:
        super().__init__(NAME, observations)
        self.parameters = parameters
        shape = (self.n_states,) * (1 if parameters.norm == 1.0 else 2)
        self._psi: Floats = np.zeros(shape)

    def norms(self) -> Floats:
        """||Psi(s)||_p of every state."""
        return self._norms_of(self._psi).copy()

    def _norms_of(self, rows: Floats) -> Floats:
        if self._psi.ndim == 1:
            return rows
        norms: Floats = np.linalg.norm(rows, ord=self.parameters.norm, axis=1)
        return norms

    def _bonus(self, states: States) -> Floats:
        norms = np.maximum(self._norms_of(self._psi[states]), self.parameters.eta)
        bonus: Floats = self.parameters.beta / norms
        return bonus

    def _learn(self, states: States, after: States, dones: NDArray[np.bool_]) -> None:
        eta, gamma, psi = self.parameters.eta, self.parameters.gamma, self._psi
        for s, s_next, done in zip(states, after, dones, strict=True):
            target = 0.0 * psi[s] if done else gamma * psi[s_next]
            if psi.ndim == 1:
                target += 1.0
            else:
                target[s] += 1.0
            psi[s] += eta * (target - psi[s])

    def _arrays(self) -> dict[str, Floats]:
        return {"psi": self._psi.copy()}

    def _load(self, state: Mapping[str, Any]) -> None:
        self._psi = np.array(state["psi"], dtype=np.float64)
