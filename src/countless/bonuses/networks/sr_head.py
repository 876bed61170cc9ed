"""psi, linear in a sparse code of phi: a table where phi is one-hot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from countless.bonuses.kernels.sr_head import add_outer, fire, multiply
from countless.bonuses.protocol import State

TINY = np.float32(1e-8)
THRESHOLD = np.float32(2.5)  # in SDs of a random unit's input: one in 160 fires
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

    def dense(self, inputs: int) -> Rows:
        """All entries, (B, inputs)."""
        rows = np.zeros((len(self.count), inputs), np.float32)
        for i, count in enumerate(self.count):
            rows[i, self.index[i, :count]] = self.value[i, :count]
        return rows


class SuccessorHead:
    """psi = W x, x the code of phi, W zero at first, as a table is.

    Without random units x is phi itself, of length 1. With them, x is what these fixed units let
    through of the direction of phi from its running mean: one in 160 fires, and at least one, so
    that observations which differ share little of x, however much background they share.
    """

    def __init__(self, features: int, units: Rows) -> None:
        self.units = units  # (features, width)
        self.centre = np.zeros(features, np.float32)
        self.weights = np.zeros((units.shape[1] or features, features), np.float32)

    def copy(self) -> SuccessorHead:
        made = SuccessorHead(len(self.centre), self.units)
        made.copy_from(self)
        return made

    def copy_from(self, other: SuccessorHead) -> None:
        """Take over what another one has learned."""
        self.centre[:], self.weights[:] = other.centre, other.weights

    def code(self, phi: Rows) -> Code:
        """x of phi (B, features)."""
        if self.units.shape[1] == 0:
            inputs, threshold = phi, np.float32(0.0)
        else:
            inputs, threshold = _product(_of_length_1(phi - self.centre), self.units), THRESHOLD
        index, value = np.empty(inputs.shape, np.int32), np.empty(inputs.shape, np.float32)
        code = Code(index, value, np.empty(len(inputs), np.int32))
        fire(inputs, threshold, TINY, code.index, code.value, code.count)
        return code

    def psi(self, code: Code) -> Rows:
        """(B, features)."""
        found = np.empty((len(code.count), len(self.centre)), np.float32)
        multiply(code.index, code.value, code.count, self.weights, found)
        return found

    def move_centre(self, phi: Rows, rate: float) -> None:
        self.centre += np.float32(rate) * (phi.mean(axis=0) - self.centre)

    def learn(self, code: Code, goal: Rows, eta: float) -> float:
        """psi(s) <- psi(s) + eta (goal - psi(s)) for each row, as in Eq. 4; the squared error."""
        error = goal - self.psi(code)
        # One state fills a whole batch at worst: then this is one step all the way.
        rate = np.float32(min(eta, 1.0 / len(error)))
        add_outer(code.index, code.value, code.count, error, rate, self.weights)
        return float((error**2).sum(axis=1).mean())

    def state(self, name: str) -> State:
        return {
            f"{name}.centre": self.centre.copy(),
            f"{name}.units": self.units.copy(),
            f"{name}.weights": self.weights.copy(),
        }

    def load(self, name: str, state: Mapping[str, Any]) -> None:
        self.units = np.array(state[f"{name}.units"], np.float32)
        self.centre[:] = state[f"{name}.centre"]
        self.weights[:] = state[f"{name}.weights"]


def _product(rows: Rows, matrix: Rows) -> Rows:
    """By torch, whose threads are those that the caller has chosen."""
    made: Rows = torch.mm(torch.from_numpy(rows), torch.from_numpy(matrix)).numpy()
    return made


def _of_length_1(rows: Rows) -> Rows:
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    divided: Rows = rows / np.maximum(length, TINY)[:, None]
    return divided
