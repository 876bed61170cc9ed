"""psi, linear in a sparse code of phi: a table where phi is one-hot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from countless.bonuses.kernels.sr_head import (
    add_outer,
    deviate,
    hash_sides,
    move_towards_mean,
    multiply,
    positive_part,
)
from countless.bonuses.protocol import State

TINY = np.float32(1e-8)
# Rows of a table, as a power of two: more where a row is one number.
BITS, BITS_OF_SUMS = 12, 16
Rows = NDArray[np.float32]


@dataclass(frozen=True)
class Code:
    """Rows of length 1 without negative entries, by what is not zero in them."""

    index: NDArray[np.int32]
    value: Rows
    count: NDArray[np.int32]

    def rows(self, first: int, end: int) -> Code:
        """Some of the rows."""
        return Code(self.index[first:end], self.value[first:end], self.count[first:end])


class SuccessorHead:
    """psi = W x, x the code of phi, W zero at first, as a table is.

    With `tables`, the direction of phi from its running mean picks one row in each of them, by the
    sides of random planes on which it lies (Charikar 2002): observations that are close share most
    of their rows, those that differ share few, however much background they have in common. Without,
    x is the positive part of phi, of length 1.

    With `sums`, only the sum over the entries of psi is learned, as one number per row. It obeys the
    same equation, summed, and is the 1-norm of psi as long as no entry of phi or psi is negative.

    Parameters
    ----------
    features
        The length of phi.
    planes
        Random directions, (features, tables x planes of each table), or None for no tables.
    tables
        How many tables there are.
    sums
        Whether psi is learned as its sum.
    rounding
        What is closer to the running mean than this share of its largest entry equals it: phi of the
        same observation in batches of different sizes is not the same to the bit, and where it is all
        that was seen yet, rounding alone would choose its rows.
    """

    def __init__(
        self, features: int, planes: Rows | None, tables: int, sums: bool, rounding: float = 0.0
    ) -> None:
        self.planes, self.tables, self.sums = planes, tables, sums
        self.rounding = np.float32(rounding)
        self.centre = np.zeros(features, np.float32)
        self._bits = BITS_OF_SUMS if sums else BITS
        inputs = features if planes is None else tables << self._bits
        self.weights = np.zeros((inputs, 1 if sums else features), np.float32)

    def copy(self) -> SuccessorHead:
        made = SuccessorHead(
            len(self.centre), self.planes, self.tables, self.sums, float(self.rounding)
        )
        made.copy_from(self)
        return made

    def copy_from(self, other: SuccessorHead) -> None:
        """Take over what another one has learned."""
        self.centre[:], self.weights[:] = other.centre, other.weights

    def code(self, phi: Rows) -> Code:
        """x of phi (B, features)."""
        if self.planes is None:
            code = Code(
                np.empty(phi.shape, np.int32),
                np.empty(phi.shape, np.float32),
                np.empty(len(phi), np.int32),
            )
            positive_part(phi, TINY, code.index, code.value, code.count)
            return code
        index, away = np.empty((len(phi), self.tables), np.int32), np.empty_like(phi)
        deviate(phi, self.centre, self.rounding, away)
        hash_sides(_product(away, self.planes), self._bits, index)
        value = np.full(index.shape, self.tables**-0.5, np.float32)
        return Code(index, value, np.full(len(phi), self.tables, np.int32))

    def psi(self, code: Code) -> Rows:
        """(B, features), or (B, 1) where sums are learned."""
        found = np.empty((len(code.count), self.weights.shape[1]), np.float32)
        multiply(code.index, code.value, code.count, self.weights, found)
        return found

    def begin_again(self, phi: Rows) -> None:
        """Forget all that was learned; the planes go through the mean of `phi`."""
        self.centre[:] = phi.mean(axis=0, dtype=np.float64)
        self.weights[:] = 0.0

    def move_centre(self, phi: Rows, rate: float) -> None:
        move_towards_mean(phi, np.float32(rate), self.centre)

    def learn(self, code: Code, goal: Rows, eta: float) -> float:
        """psi(s) <- psi(s) + eta (goal - psi(s)) for each row, as in Eq. 4; the squared error."""
        error = goal - self.psi(code)
        # One state fills a whole batch at worst: then this is one step all the way.
        rate = np.float32(min(eta, 1.0 / len(error)))
        add_outer(code.index, code.value, code.count, error, rate, self.weights)
        return float((error**2).sum(axis=1).mean())

    def state(self, name: str) -> State:
        planes = {} if self.planes is None else {f"{name}.planes": self.planes.copy()}
        return planes | {
            f"{name}.centre": self.centre.copy(),
            f"{name}.weights": self.weights.copy(),
        }

    def load(self, name: str, state: Mapping[str, Any]) -> None:
        if self.planes is not None:
            self.planes = np.array(state[f"{name}.planes"], np.float32)
        self.centre[:] = state[f"{name}.centre"]
        self.weights[:] = state[f"{name}.weights"]


def _product(rows: Rows, matrix: Rows) -> Rows:
    """By torch, whose threads are those that the caller has chosen."""
    made: Rows = torch.mm(torch.from_numpy(rows), torch.from_numpy(matrix)).numpy()
    return made
