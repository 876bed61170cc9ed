"""The norm of a successor representation learned by TD over state indices (Eq. 4 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.arrays import Floats, check_states, like
from countless.bonuses.protocol import State, check_state
from countless.bonuses.stream import StateStream

if TYPE_CHECKING:
    from countless.bonuses.sr_norm import SRNormParameters

NAME = "sr-norm"


class TabularSRNorm:
    """beta / ||Psi(s)||_p, Psi learned by TD from transitions, one after the other.

    With a whole transition, `observe` learns first and then gives the bonus of the departed state:
    the order of Sarsa+SR. No entry of Psi is negative, so the 1-norm obeys a TD recursion of its
    own, n(s) <- n(s) + eta (1 + gamma n(s') - n(s)), and the matrix is kept for other norms only.
    The first update leaves a norm of eta or more, so eta stands in for states not yet seen.
    """

    def __init__(self, n_states: int, parameters: SRNormParameters) -> None:
        self.parameters = parameters
        self.n_states = n_states
        self._stream = StateStream(NAME, n_states)
        shape = (n_states,) if parameters.norm == 1.0 else (n_states, n_states)
        self._psi: Floats = np.zeros(shape)

    def norms(self) -> Floats:
        """||Psi(s)||_p of every state."""
        if self._psi.ndim == 1:
            return self._psi.copy()
        norms: Floats = np.linalg.norm(self._psi, ord=self.parameters.norm, axis=1)
        return norms

    def compute(self, observations: Any, features: Any = None) -> Any:
        states = check_states(NAME, observations, self.n_states)
        rows = self._psi[states]
        if rows.ndim == 2:
            rows = np.linalg.norm(rows, ord=self.parameters.norm, axis=1)
        return like(self.parameters.beta / np.maximum(rows, self.parameters.eta), observations)

    def update(self, batch: Any) -> dict[str, float]:
        states, after, dones = self._stream.of_batch(batch)
        self._learn(states, after, dones)
        return {"norm": float(self.norms()[states].mean())} if len(states) else {}

    def observe(
        self,
        observations: Any,
        features: Any = None,
        *,
        next_observations: Any = None,
        dones: Any = None,
        starts: Any = None,
    ) -> Any:
        self._learn(*self._stream.of_step(observations, next_observations, dones, starts))
        return self.compute(observations)

    def state_dict(self) -> State:
        return {"psi": self._psi.copy(), "last": self._stream.state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        check_state(NAME, state, self.state_dict() | {"last": None})
        self._psi = np.array(state["psi"], dtype=np.float64)
        self._stream.load(state["last"])

    def _learn(
        self, states: NDArray[np.int64], after: NDArray[np.int64], dones: NDArray[np.bool_]
    ) -> None:
        eta, gamma, psi = self.parameters.eta, self.parameters.gamma, self._psi
        for s, s_next, done in zip(states, after, dones, strict=True):
            target = 0.0 * psi[s] if done else gamma * psi[s_next]
            if psi.ndim == 1:
                target += 1.0
            else:
                target[s] += 1.0
            psi[s] += eta * (target - psi[s])
