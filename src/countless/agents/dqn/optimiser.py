"""Centred RMSProp as DQN has used it since 2015, which is not PyTorch's.

    g <- d g + (1 - d) grad,   m <- d m + (1 - d) grad^2,   w <- w - lr grad / sqrt(m - g^2 + eps)

eps stands inside the root, and m starts at one (TensorFlow's first version), so that the first
steps are small. m - g^2 is a variance: rounding must not make it negative. On the CPU one compiled
pass over the memory does all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numba import njit

CHUNK = 1 << 20  # elements that one thread takes at a time
_POOL = ThreadPoolExecutor(max_workers=8)


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def _step(weight, gradient, mean, square, rate, decay, epsilon):  # type: ignore[no-untyped-def]
    zero, one, rest = np.float32(0.0), np.float32(1.0), np.float32(1.0 - decay)
    for i in range(len(weight)):
        g = gradient[i]
        mean[i] += rest * (g - mean[i])
        square[i] += rest * (g * g - square[i])
        variance = square[i] - mean[i] * mean[i]
        weight[i] -= rate * g * (one / np.sqrt((variance if variance > zero else zero) + epsilon))


class CentredRMSProp(torch.optim.Optimizer):
    """DQN's optimiser: see the module.

    >>> weight = torch.nn.Parameter(torch.zeros(1))
    >>> optimiser = CentredRMSProp([weight], lr=0.1, decay=0.5, epsilon=0.0)
    >>> weight.grad = torch.ones(1)
    >>> optimiser.step()
    >>> round(weight.item(), 4)  # -0.1 / sqrt(1 - 0.25)
    -0.1155
    """

    def __init__(
        self, params: Iterable[torch.nn.Parameter], lr: float, decay: float, epsilon: float
    ) -> None:
        super().__init__(params, {"lr": lr, "decay": decay, "epsilon": epsilon})
        for group in self.param_groups:
            for weight in group["params"]:
                self.state[weight] = {
                    "mean": torch.zeros_like(weight, memory_format=torch.preserve_format),
                    "square": torch.ones_like(weight, memory_format=torch.preserve_format),
                }

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One step; parameters without a gradient stay."""
        assert closure is None
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    update = _update_cpu if weight.device.type == "cpu" else _update
                    update(weight, self.state[weight], group)


def _update_cpu(weight: torch.Tensor, state: dict[str, torch.Tensor], group: Any) -> None:
    gradient = weight.grad
    assert gradient is not None
    if gradient.stride() != weight.stride():
        gradient = torch.empty_like(weight).copy_(gradient)
    arrays = [
        _flat(tensor).numpy() for tensor in (weight.data, gradient, state["mean"], state["square"])
    ]
    size = arrays[0].size
    settings = [np.float32(group[name]) for name in ("lr", "decay", "epsilon")]

    def part(start: int) -> None:
        _step(*(array[start : start + CHUNK] for array in arrays), *settings)

    starts = range(0, size, CHUNK)
    if len(starts) == 1 or torch.get_num_threads() == 1:
        for start in starts:
            part(start)
    else:
        list(_POOL.map(part, starts))


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers in the order of memory: parameters are dense, though not always row-major."""
    return tensor.as_strided((tensor.numel(),), (1,))


def _update(weight: torch.Tensor, state: dict[str, torch.Tensor], group: Any) -> None:
    gradient, mean, square = weight.grad, state["mean"], state["square"]
    assert gradient is not None
    decay = group["decay"]
    mean.lerp_(gradient, 1.0 - decay)
    square.mul_(decay).addcmul_(gradient, gradient, value=1.0 - decay)
    variance = torch.addcmul(square, mean, mean, value=-1.0).clamp_min_(0.0)
    root = variance.add_(group["epsilon"]).sqrt_()
    weight.addcdiv_(gradient, root, value=-group["lr"])
