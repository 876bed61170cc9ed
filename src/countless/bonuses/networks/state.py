"""Networks and optimisers as named arrays, and back, to the bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from countless.bonuses.protocol import State


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch draws from `seed` inside, and where it was before afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def module_state(name: str, module: nn.Module) -> State:
    """`name.parameter` -> array."""
    return {
        f"{name}.{key}": value.detach().cpu().numpy().copy()
        for key, value in module.state_dict().items()
    }


def load_module(name: str, module: nn.Module, state: Mapping[str, Any]) -> None:
    with torch.no_grad():
        for key, value in module.state_dict().items():
            value.copy_(torch.as_tensor(np.asarray(state[f"{name}.{key}"])))


class Adam:
    """torch's Adam, with moments that exist from the start: its state has one shape."""

    def __init__(self, module: nn.Module, lr: float) -> None:
        self._parameters = [p for p in module.parameters() if p.requires_grad]
        device = self._parameters[0].device
        fused = device.type in ("cpu", "cuda")
        self._optimiser = torch.optim.Adam(self._parameters, lr=lr, fused=fused)
        for parameter in self._parameters:
            self._optimiser.state[parameter] = {
                "step": torch.zeros((), device=device if fused else "cpu"),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }

    def step(self, loss: torch.Tensor) -> None:
        """One step down the gradient of `loss`."""
        gradients = torch.autograd.grad(loss, self._parameters)
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient
        self._optimiser.step()

    def state(self, name: str) -> State:
        return {key: value.cpu().numpy().copy() for key, value in self._slots(name)}

    def load(self, name: str, state: Mapping[str, Any]) -> None:
        for key, tensor in self._slots(name):
            tensor.copy_(torch.as_tensor(np.asarray(state[key])))

    def _slots(self, name: str) -> Iterator[tuple[str, torch.Tensor]]:
        for i, parameter in enumerate(self._parameters):
            for slot, tensor in self._optimiser.state[parameter].items():
                yield f"{name}.{i}.{slot}", tensor
