"""The norm of the substochastic SR as a bonus for an agent of your own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countless.core.errors import BadInput
from countless.core.substochastic import count_visit, invert, row_residual

DRIFT = 1e-9
Array = NDArray[np.float64]


class SubstochasticSR:
    """Psi~ of what was seen so far (Definition 3.1): O(|S|^2) a transition.

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
        self.visits: Array = np.zeros((n_states, n_states))
        self._rows: Array = np.zeros((n_states, n_states))
        self.matrix: Array = np.eye(n_states)
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

    def norms(self) -> Array:
        """||Psi~(s)||_1 of every state."""
        norms: Array = self.matrix.sum(axis=1)
        return norms

    def bonus(self, s: int) -> float:
        """The intrinsic reward -||Psi~(s)||_1 of the paper's ESSR."""
        return -float(self.matrix[s].sum())

    def counts(self) -> Array:
        """Visits as Theorem 1's upper bound reads them off the norm: gamma / gap - 1.

        Exact where the successors were never left, too high elsewhere; infinite where the norm
        has passed 1 + gamma and the bound is silent.
        """
        gap = (1.0 + self.gamma) - self.norms()
        with np.errstate(divide="ignore"):
            return np.where(gap > 0.0, self.gamma / np.maximum(gap, 1e-300) - 1.0, np.inf)
