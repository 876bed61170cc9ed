"""What the SR network reads: the host's features, or observations through an encoder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from countless.bonuses.arrays import check_finite, is_tensor, to_numpy
from countless.bonuses.networks.inputs import area_mean, as_input, from_array
from countless.bonuses.networks.moments import Moments
from countless.bonuses.protocol import Batch, State
from countless.bonuses.spec import Observations
from countless.bonuses.sr_norm import NAME
from countless.core.errors import BadInput

SIDE = 84
CLIP = 5.0
TINY = 1e-8
HIDDEN = 128


class FeatureReader:
    """The host's feature vectors (B, d), detached."""

    reads_observations = False

    def __init__(self, spec: Observations, width: int, device: torch.device) -> None:
        self._spec, self._width, self._device = spec, width, device

    def __call__(self, observations: Any, features: Any) -> Tensor:
        if observations is not None:
            self._spec.check(NAME, observations)
        if features is None:
            raise BadInput(f"{NAME} with form=features needs the features of each observation")
        shape = tuple(features.shape) if is_tensor(features) else to_numpy(features).shape
        if len(shape) != 2 or shape[1] != self._width:
            raise BadInput(f"{NAME}: features must have shape (B, {self._width}), not {shape}")
        check_finite(NAME, to_numpy(features), "feature vector")
        given = features.detach() if is_tensor(features) else from_array(to_numpy(features))
        return given.to(self._device, torch.float32)

    def raw(self, observations: Any, features: Any) -> NDArray[Any]:
        """What a stream remembers."""
        return self(observations, features).cpu().numpy()

    def linked(self, before: NDArray[Any], after: NDArray[Any]) -> Batch:
        """The batch of what a stream has linked."""
        return Batch(None, features=before, next_features=after)

    def encoder(self, features: int) -> nn.Module:
        return nn.Identity()

    def decoder(self, features: int) -> nn.Module | None:
        return None

    def shown(self, inputs: Tensor) -> Tensor:
        return inputs

    def check_whole(self, batch: Batch) -> None:
        self._spec.check(NAME, batch.observations)
        if batch.features is None or batch.next_features is None:
            raise BadInput(f"{NAME} with form=features needs features and next_features in a batch")
        self(batch.observations, batch.features)
        self(batch.next_observations, batch.next_features)

    def learn(self, batch: Batch) -> None:
        """There is nothing to adapt."""

    def state(self) -> State:
        return {}

    def load(self, state: Mapping[str, Any]) -> None:
        """There is nothing to restore."""


class ObservationReader:
    """Images at 84 x 84 and vectors, each entry in units of its running SD; states one-hot.

    What all observations share, such as a background, is taken out: else all would look alike.
    """

    reads_observations = True

    def __init__(self, spec: Observations, device: torch.device) -> None:
        self._spec, self._device = spec, device
        self._channels = spec.shape[0] if len(spec.shape) == 3 else 1
        shape = (self._channels, SIDE, SIDE) if spec.kind == "image" else spec.shape
        self._moments = None if spec.kind == "states" else Moments(shape, device)
        self._width = spec.n_states or (spec.shape[0] if spec.kind == "vector" else 0)

    def __call__(self, observations: Any, features: Any) -> Tensor:
        values = self._values(observations)
        if self._moments is None:
            return values
        scaled = (values - self._moments.mean) / (self._moments.deviation() + TINY)
        return scaled.clamp(-CLIP, CLIP).to(torch.float32)

    def _values(self, observations: Any) -> Tensor:
        values = as_input(NAME, self._spec, observations, self._device)
        if self._spec.kind != "image":
            return values
        return area_mean(values if values.ndim == 4 else values[:, None], SIDE)

    def raw(self, observations: Any, features: Any) -> NDArray[Any]:
        """What a stream remembers."""
        return self._spec.check(NAME, observations)

    def linked(self, before: NDArray[Any], after: NDArray[Any]) -> Batch:
        """The batch of what a stream has linked."""
        return Batch(before, after)

    def encoder(self, features: int) -> nn.Module:
        if self._spec.kind != "image":
            return nn.Sequential(
                nn.Linear(self._width, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, features), nn.ReLU()
            )
        return nn.Sequential(
            nn.Conv2d(self._channels, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 9 * 9, features), nn.ReLU(),
        )  # fmt: skip

    def decoder(self, features: int) -> nn.Module | None:
        if self._spec.kind != "image":
            return nn.Sequential(
                nn.Linear(features, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, self._width)
            )
        return nn.Sequential(
            nn.Linear(features, 32 * 9 * 9), nn.ReLU(), nn.Unflatten(1, (32, 9, 9)),
            nn.ConvTranspose2d(32, 16, 4, 2), nn.ReLU(), nn.ConvTranspose2d(16, 1, 8, 4),
        )  # fmt: skip

    def shown(self, inputs: Tensor) -> Tensor:
        """What is reconstructed of a next observation: of a stack, the newest frame."""
        return inputs[:, -1:] if self._spec.kind == "image" else inputs

    def check_whole(self, batch: Batch) -> None:
        if batch.next_observations is None:
            raise BadInput(f"{NAME} learns from transitions: the batch needs next_observations")
        for values in (batch.observations, batch.next_observations):
            self._spec.check(NAME, values)

    def learn(self, batch: Batch) -> None:
        """Take the observations into the running statistics."""
        if self._moments is not None:
            self._moments.add(self._values(batch.observations))

    def state(self) -> State:
        return {} if self._moments is None else self._moments.state("inputs")

    def load(self, state: Mapping[str, Any]) -> None:
        if self._moments is not None:
            self._moments.load("inputs", state)
