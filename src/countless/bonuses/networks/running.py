"""Running mean and variance, batch by batch (Chan, Golub & LeVeque 1979)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from countless.bonuses.protocol import State

FIRST_COUNT = 1e-4  # the weight of the first guess, mean 0 and variance 1


class RunningStatistics:
    """Mean and variance of all that was added, entry by entry, in float64."""

    def __init__(self, shape: tuple[int, ...], device: torch.device) -> None:
        self.mean = torch.zeros(shape, dtype=torch.float64, device=device)
        self.variance = torch.ones(shape, dtype=torch.float64, device=device)
        self.count = FIRST_COUNT

    def add(self, values: Tensor) -> None:
        """Take in a batch (B, *shape)."""
        count = len(values)
        if count == 0:
            return
        batch = values.to(torch.float64)
        mean = batch.mean(dim=0)
        squares = ((batch - mean) ** 2).sum(dim=0)
        total = self.count + count
        delta = mean - self.mean
        self.variance = (
            self.variance * self.count + squares + delta**2 * (self.count * count / total)
        ) / total
        self.mean = self.mean + delta * (count / total)
        self.count = total

    def deviation(self) -> Tensor:
        return torch.sqrt(self.variance)

    def state(self, name: str) -> State:
        return {
            f"{name}.mean": self.mean.cpu().numpy().copy(),
            f"{name}.variance": self.variance.cpu().numpy().copy(),
            f"{name}.count": self.count,
        }

    def load(self, name: str, state: Mapping[str, Any]) -> None:
        self.mean = torch.as_tensor(np.array(state[f"{name}.mean"])).to(self.mean)
        self.variance = torch.as_tensor(np.array(state[f"{name}.variance"])).to(self.variance)
        self.count = float(state[f"{name}.count"])
