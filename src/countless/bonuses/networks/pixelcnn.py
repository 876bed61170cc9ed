"""A small gated PixelCNN, trained on one frame at a time, and its prediction gain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from countless.bonuses.base import ObservingBonus, Step
from countless.bonuses.images import quantise
from countless.bonuses.networks.inputs import make_device
from countless.bonuses.networks.state import load_module, module_state, seeded
from countless.bonuses.pixelcnn import PixelCNNParameters
from countless.bonuses.protocol import State, as_transitions, check_state
from countless.core.arrays import Floats, like
from countless.core.observations import ObservationReader

NAME = "pixelcnn"
LEVELS = 8
HIDDEN = 64
DECAY, MOMENTUM, EPSILON = 0.95, 0.9, 1e-4
MOST_GAIN = 100.0  # in the exponent, so that the bonus is a finite float32 without a cut too


class MaskedConv2d(nn.Conv2d):
    """A convolution that sees only pixels before its own in row-major order; `own`: and that one."""

    mask: Tensor

    def __init__(self, inputs: int, outputs: int, kernel: int, own: bool) -> None:
        super().__init__(inputs, outputs, kernel, padding=kernel // 2)
        mask = torch.zeros(kernel, kernel)
        middle = kernel // 2
        mask[:middle] = 1.0
        mask[middle, : middle + own] = 1.0
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weight * self.mask, self.bias, padding=self.padding)


class GatedBlock(nn.Module):
    """x + W (tanh(f) * sigmoid(g)), f and g the halves of one masked convolution."""

    def __init__(self, maps: int, kernel: int) -> None:
        super().__init__()
        self.gates = MaskedConv2d(maps, 2 * maps, kernel, own=True)
        self.out = nn.Conv2d(maps, maps, 1)

    def forward(self, x: Tensor) -> Tensor:
        f, g = self.gates(x).chunk(2, dim=1)
        added: Tensor = self.out(torch.tanh(f) * torch.sigmoid(g))
        return x + added


class PixelCNN(nn.Module):
    """Grey levels (B, H, W) to the logits of each pixel (B, 8, H, W), given the pixels before it."""

    def __init__(self, maps: int, blocks: int, kernel: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            MaskedConv2d(1, maps, 7, own=False),
            *(GatedBlock(maps, kernel) for _ in range(blocks)),
            nn.Conv2d(maps, HIDDEN, 1),
            nn.ReLU(),
            nn.Conv2d(HIDDEN, LEVELS, 1),
        )

    def forward(self, levels: Tensor) -> Tensor:
        logits: Tensor = self.layers(levels[:, None].to(torch.float32) / (LEVELS - 1))
        return logits


class RMSProp:
    """v <- 0.95 v + 0.05 g^2, m <- 0.9 m + lr g / sqrt(v + 1e-4), w <- w - m.

    The epsilon is under the root, as in the library that the published agents were trained with;
    torch's own RMSprop has it outside.
    """

    def __init__(self, module: nn.Module, lr: float) -> None:
        self.parameters: list[Tensor] = list(module.parameters())
        self.second = [torch.zeros_like(p) for p in self.parameters]
        self.momentum = [torch.zeros_like(p) for p in self.parameters]
        self._lr = lr

    def step(self, loss: Tensor) -> None:
        gradients = torch.autograd.grad(loss, self.parameters)
        with torch.no_grad():
            torch._foreach_mul_(self.second, DECAY)
            torch._foreach_addcmul_(self.second, gradients, gradients, 1.0 - DECAY)
            roots = torch._foreach_add(self.second, EPSILON)
            torch._foreach_sqrt_(roots)
            torch._foreach_mul_(self.momentum, MOMENTUM)
            torch._foreach_addcdiv_(self.momentum, gradients, roots, self._lr)
            torch._foreach_add_(self.parameters, self.momentum, alpha=-1.0)

    def tensors(self) -> list[Tensor]:
        """All that a step changes."""
        return [*self.parameters, *self.second, *self.momentum]


class PixelCNNBonus(ObservingBonus):
    """One update per frame, in order; the bonus is what that update gained, n frames on.

    `compute` makes the update, measures, and takes it back: it gives what `observe` would. A batch
    is learned frame by frame, so that parallel environments are one stream of frames.
    """

    def __init__(
        self,
        observations: ObservationReader,
        parameters: PixelCNNParameters,
        seed: int,
        device: str,
    ) -> None:
        self.parameters = parameters
        self._reader = observations
        self._device = make_device(device)
        with seeded(seed):
            self.network = PixelCNN(parameters.maps, parameters.blocks, parameters.kernel).to(
                self._device
            )
        self._optimiser = RMSProp(self.network, parameters.lr)
        self.updates = 0

    def log_probability(self, observations: Any) -> Floats:
        """log rho of each observation, in nats for the whole image."""
        with torch.no_grad():
            logs = -self._surprise(self._levels(observations))
        return logs.to(torch.float64).cpu().numpy()

    def compute(self, observations: Any, features: Any = None) -> Any:
        bonuses = []
        for image in self._frames(observations):
            with self._taken_back():
                bonuses.append(self._bonus(self._learn(image)[1], self.updates + 1))
        return like(bonuses, observations)

    def update(self, batch: Any) -> dict[str, float]:
        gains, surprises = [0.0], [0.0]
        for image in self._frames(as_transitions(batch).observations):
            surprise, gain = self._learn(image)
            self.updates += 1
            gains.append(gain)
            surprises.append(surprise)
        count = max(len(gains) - 1, 1)
        return {
            "log_probability": -math.fsum(surprises) / count,
            "prediction_gain": math.fsum(gains) / count,
        }

    def _observe(self, step: Step) -> Any:
        bonuses = []
        for image in self._frames(step.observations):
            gain = self._learn(image)[1]
            self.updates += 1
            bonuses.append(self._bonus(gain, self.updates))
        return like(bonuses, step.observations)

    def state_dict(self) -> State:
        slots = {"second": self._optimiser.second, "momentum": self._optimiser.momentum}
        return {
            **module_state("network", self.network),
            **{
                f"{slot}.{i}": tensor.cpu().numpy().copy()
                for slot, tensors in slots.items()
                for i, tensor in enumerate(tensors)
            },
            "updates": self.updates,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        check_state(NAME, state, self.state_dict())
        load_module("network", self.network, state)
        slots = {"second": self._optimiser.second, "momentum": self._optimiser.momentum}
        for slot, tensors in slots.items():
            for i, tensor in enumerate(tensors):
                tensor.copy_(torch.as_tensor(np.asarray(state[f"{slot}.{i}"])))
        self.updates = int(state["updates"])

    def _levels(self, observations: Any) -> Tensor:
        values = self._reader.read(NAME, observations)
        levels = quantise(values, self.parameters.size, LEVELS)
        return torch.as_tensor(levels, dtype=torch.int64, device=self._device)

    def _frames(self, observations: Any) -> Iterator[Tensor]:
        """One image (1, size, size) after the other."""
        levels = self._levels(observations)
        return (levels[i : i + 1] for i in range(len(levels)))

    def _surprise(self, levels: Tensor) -> Tensor:
        """-log rho of each image (B,), summed over its pixels."""
        losses = functional.cross_entropy(self.network(levels), levels, reduction="none")
        return losses.sum(dim=(1, 2))

    def _learn(self, image: Tensor) -> tuple[float, float]:
        """-log rho before one update on the image, and the gain log rho' - log rho."""
        before = self._surprise(image)
        self._optimiser.step(before.sum() / image[0].numel())
        with torch.no_grad():
            after = self._surprise(image)
        loss = before.detach().double()
        return float(loss), float(loss - after.double())

    def _bonus(self, gain: float, updates: int) -> float:
        exponent = self.parameters.c * updates**-0.5 * max(gain, 0.0)
        raw = math.sqrt(math.expm1(min(exponent, MOST_GAIN)))
        return min(self.parameters.beta * raw, self.parameters.most)

    @contextmanager
    def _taken_back(self) -> Iterator[None]:
        tensors = self._optimiser.tensors()
        kept = [tensor.detach().clone() for tensor in tensors]
        try:
            yield
        finally:
            with torch.no_grad():
                torch._foreach_copy_(tensors, kept)
