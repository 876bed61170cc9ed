"""The units in which a network reads its inputs: each entry less a mean, divided by an SD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from countless.bonuses.kernels.inputs import standardise, widen
from countless.bonuses.networks.running import RunningStatistics
from countless.bonuses.protocol import State

CLIP = 5.0
TINY = 1e-8
CPU = torch.device("cpu")


class RunningScale:
    """Mean and SD of all that was learned."""

    def __init__(self, shape: tuple[int, ...], device: torch.device) -> None:
        self._statistics = RunningStatistics(shape, device)

    def learn(self, values: Tensor) -> None:
        self._statistics.add(values)

    def scaled(self, values: Tensor) -> Tensor:
        """Of values (B, *shape), as float32."""
        away = (values - self._statistics.mean) / (self._statistics.deviation() + TINY)
        return away.clamp(-CLIP, CLIP).to(torch.float32)

    def state(self) -> State:
        return self._statistics.state("inputs")

    def load(self, state: Mapping[str, Any]) -> None:
        self._statistics.load("inputs", state)


class SettledScale:
    """Mean and SD of the vectors of the last `settle`; then the mean stays, and an SD only grows.

    It does so where what is learned lies far from that mean, so that it is told apart. It never
    shrinks: what has become rare is read as before.
    """

    def __init__(self, size: int) -> None:
        self.settle(torch.zeros(0, size))

    def settle(self, values: Tensor) -> None:
        """Take all from these vectors (B, d), and forget what was learned before."""
        known = RunningStatistics(tuple(values.shape[1:]), CPU)
        known.add(values.cpu())
        self._mean, self._deviation = known.mean.numpy(), known.deviation().numpy()
        # About the mean, with those of the first guess.
        self._squares, self._count = known.variance.numpy() * known.count, known.count

    def learn(self, values: Tensor) -> None:
        rows = values.cpu().numpy()
        widen(rows, self._mean, self._squares, self._count, self._deviation)
        self._count += len(rows)

    def scaled(self, values: Tensor) -> Tensor:
        """Of vectors (B, d), as float32."""
        rows = values.cpu().numpy()
        out = np.empty(rows.shape, np.float32)
        standardise(rows, self._mean, self._deviation, TINY, CLIP, out)
        return torch.from_numpy(out).to(values.device)

    def state(self) -> State:
        return {
            "inputs.mean": self._mean.copy(),
            "inputs.deviation": self._deviation.copy(),
            "inputs.squares": self._squares.copy(),
            "inputs.count": self._count,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        self._mean, self._deviation, self._squares = (
            np.array(state[f"inputs.{name}"], np.float64)
            for name in ("mean", "deviation", "squares")
        )
        self._count = float(state["inputs.count"])
