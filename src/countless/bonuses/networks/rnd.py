"""Random network distillation: target, predictor, and what they are normalised by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from countless.bonuses.base import ObservingBonus, Step
from countless.bonuses.networks.inputs import as_input, make_device, newest
from countless.bonuses.networks.running import RunningStatistics
from countless.bonuses.networks.state import Adam, load_module, module_state, seeded
from countless.bonuses.protocol import State, as_transitions, check_state
from countless.bonuses.rnd import RNDParameters
from countless.core.arrays import like
from countless.core.observations import ObservationReader

NAME = "rnd"
SLOPE = 0.2  # of the leaky ReLUs
CLIP = 5.0
TINY = 1e-8


def _trunk(shape: tuple[int, ...], hidden: int) -> tuple[list[nn.Module], int]:
    """The layers that target and predictor share in form, and how many numbers they give."""
    if len(shape) == 1:
        width = max(hidden // 2, 1)
        layers: list[nn.Module] = [nn.Linear(shape[0], width), nn.LeakyReLU(SLOPE)]
        return [*layers, nn.Linear(width, width), nn.LeakyReLU(SLOPE)], width
    layers = []
    channels, side = 1, shape[-1]
    for maps, kernel, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        layers += [nn.Conv2d(channels, maps, kernel, stride), nn.LeakyReLU(SLOPE)]
        channels, side = maps, (side - kernel) // stride + 1
    return [*layers, nn.Flatten()], channels * side * side


def make_target(shape: tuple[int, ...], features: int) -> nn.Sequential:
    """A random network of `features` outputs, frozen."""
    layers, width = _trunk(shape, features)
    network = _initialised(nn.Sequential(*layers, nn.Linear(width, features)))
    return network.requires_grad_(False)


def make_predictor(shape: tuple[int, ...], features: int) -> nn.Sequential:
    """The target's trunk with two more layers."""
    layers, width = _trunk(shape, features)
    head = [nn.Linear(width, features), nn.ReLU(), nn.Linear(features, features), nn.ReLU(),
            nn.Linear(features, features)]  # fmt: skip
    return _initialised(nn.Sequential(*layers, *head))


def _initialised(network: nn.Sequential) -> nn.Sequential:
    for module in network:
        if isinstance(module, nn.Linear | nn.Conv2d):
            nn.init.orthogonal_(module.weight, 2.0**0.5)
            assert module.bias is not None
            nn.init.zeros_(module.bias)
    return network


class RND(ObservingBonus):
    """The predictor's squared error, in units of the SD of its discounted sums."""

    def __init__(
        self, observations: ObservationReader, parameters: RNDParameters, seed: int, device: str
    ) -> None:
        self.parameters = parameters
        self._reader = observations
        self._device = make_device(device)
        image = observations.kind == "image"
        width = observations.n_states or int(np.prod(observations.shape))
        self._shape = (1, parameters.size, parameters.size) if image else (width,)
        with seeded(seed):
            self._target = make_target(self._shape, parameters.features).to(self._device)
            self._predictor = make_predictor(self._shape, parameters.features).to(self._device)
        self._adam = Adam(self._predictor, parameters.lr)
        self._draws = torch.Generator().manual_seed(seed)
        self._pixels = RunningStatistics(self._shape, self._device)
        self._sums = torch.zeros(0, dtype=torch.float64, device=self._device)
        self._scale = RunningStatistics((), self._device)
        self.frames = 0

    @property
    def warming(self) -> bool:
        """Whether all frames so far only fed the statistics: their bonus was 0."""
        return self.frames <= self.parameters.warm_up

    def compute(self, observations: Any, features: Any = None) -> Any:
        with torch.no_grad():
            errors = self._errors(self._normalised(self._input(observations)))
        return like(self._scaled(errors), observations)

    def update(self, batch: Any) -> dict[str, float]:
        values = self._input(as_transitions(batch).observations)
        self._pixels.add(values)
        return {"loss": float(self._learn(self._errors(self._normalised(values))))}

    def _observe(self, step: Step) -> Any:
        values = self._input(step.observations)
        self._pixels.add(values)
        self.frames += len(values)
        warming = self.warming
        with torch.set_grad_enabled(not warming):
            errors = self._errors(self._normalised(values))
        self._sum_up(errors.detach(), step)
        if warming:
            return like(torch.zeros(len(values)), step.observations)
        bonus = self._scaled(errors.detach())
        self._learn(errors)
        return like(bonus, step.observations)

    def state_dict(self) -> State:
        return {
            **module_state("target", self._target),
            **module_state("predictor", self._predictor),
            **self._adam.state("adam"),
            **self._pixels.state("pixels"),
            **self._scale.state("scale"),
            "sums": self._sums.cpu().numpy().copy(),
            "draws": self._draws.get_state().numpy().copy(),
            "frames": self.frames,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        check_state(NAME, state, self.state_dict() | {"sums": None})
        load_module("target", self._target, state)
        load_module("predictor", self._predictor, state)
        self._adam.load("adam", state)
        self._pixels.load("pixels", state)
        self._scale.load("scale", state)
        self._sums = torch.as_tensor(np.array(state["sums"])).to(self._sums)
        self._draws.set_state(torch.as_tensor(np.array(state["draws"], dtype=np.uint8)))
        self.frames = int(state["frames"])

    def _input(self, observations: Any) -> Tensor:
        values = as_input(NAME, self._reader, observations, self._device)
        return newest(values, self.parameters.size) if self._reader.kind == "image" else values

    def _normalised(self, values: Tensor) -> Tensor:
        deviation = self._pixels.deviation() + TINY
        scaled = (values - self._pixels.mean) / deviation
        return scaled.clamp(-CLIP, CLIP).to(torch.float32)

    def _errors(self, values: Tensor) -> Tensor:
        """Mean over features of the squared error, (B,)."""
        with torch.no_grad():
            target = self._target(values)
        errors: Tensor = ((self._predictor(values) - target) ** 2).mean(dim=1)
        return errors

    def _scaled(self, errors: Tensor) -> Tensor:
        return self.parameters.beta * errors / (self._scale.deviation() + TINY)

    def _sum_up(self, errors: Tensor, step: Step) -> None:
        """R <- gamma R + r of each environment, never reset, and the variance of these sums."""
        count = len(errors) if step.rows is None else step.total
        if len(self._sums) != count:
            self._sums = torch.zeros(count, dtype=torch.float64, device=self._device)
        if step.rows is None:
            self._sums = self.parameters.gamma * self._sums + errors
            self._scale.add(self._sums)
        else:
            sums = self.parameters.gamma * self._sums[step.rows] + errors
            self._sums[step.rows] = sums
            self._scale.add(sums)

    def _learn(self, errors: Tensor) -> Tensor:
        """One step on the frames that the mask keeps."""
        if len(errors) == 0:
            return torch.zeros(())
        if self.parameters.keep < 1.0:
            mask = torch.rand(len(errors), generator=self._draws) < self.parameters.keep
            kept = mask.to(errors)
            loss = (errors * kept).sum() / kept.sum().clamp(min=1.0)
        else:
            loss = errors.mean()
        self._adam.step(loss)
        return loss.detach()
