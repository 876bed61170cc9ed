"""What the SR network reads: the agent's features, or observations through an encoder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from countless.bonuses.linking import needs_next
from countless.bonuses.networks.input_scale import RunningScale, SettledScale
from countless.bonuses.networks.inputs import (
    AlreadyRead,
    area_mean,
    as_input,
    from_array,
    read_rows,
)
from countless.bonuses.protocol import State, Transitions
from countless.bonuses.sr_norm import NAME
from countless.core.arrays import check_finite, is_tensor, to_numpy
from countless.core.errors import BadInput, named
from countless.core.observations import ObservationReader

SIDE = 84
HIDDEN = 128


class FeatureInput:
    """The agent's feature vectors (B, d), detached."""

    reads_observations = False

    def __init__(self, reader: ObservationReader, width: int, device: torch.device) -> None:
        self._reader, self._width, self._device = reader, width, device
        self.shape: tuple[int, ...] = (width,)  # of a raw row

    def __call__(self, observations: Any, features: Any) -> Tensor:
        if observations is not None:
            self._reader.read(NAME, observations)
        if features is None:
            raise BadInput(
                f"{NAME} with {named('form', 'features')} needs the features of each observation"
            )
        shape = tuple(features.shape) if is_tensor(features) else to_numpy(features).shape
        if len(shape) != 2 or shape[1] != self._width:
            raise BadInput(f"{NAME}: features must have shape (B, {self._width}), not {shape}")
        check_finite(NAME, to_numpy(features), "feature vector")
        given = features.detach() if is_tensor(features) else from_array(to_numpy(features))
        return given.to(self._device, torch.float32)

    def raw(self, observations: Any, features: Any) -> NDArray[Any]:
        """What a stream remembers."""
        return self(observations, features).cpu().numpy()

    def linked(self, before: NDArray[Any], after: NDArray[Any]) -> Transitions:
        """The batch of what a stream has linked."""
        return Transitions(None, features=before, next_features=after)

    def both(self, before: NDArray[Any], after: NDArray[Any], *, learn: bool) -> Tensor:
        """What the network reads of raw rows, then of the next ones, (2B, features)."""
        return from_array(np.concatenate([before, after])).to(self._device, torch.float32)

    def settle(self, rows: NDArray[Any]) -> None:
        """There are no statistics."""

    def encoder(self, features: int) -> nn.Module:
        return nn.Identity()

    def decoder(self, features: int) -> nn.Module | None:
        return None

    def shown(self, inputs: Tensor) -> Tensor:
        return inputs

    def check_whole(self, batch: Transitions) -> None:
        self._reader.read(NAME, batch.observations)
        if batch.features is None or batch.next_features is None:
            raise BadInput(
                f"{NAME} with {named('form', 'features')} needs features and next_features in a batch"
            )
        self(batch.observations, batch.features)
        self(batch.next_observations, batch.next_features)

    def state(self) -> State:
        return {}

    def load(self, state: Mapping[str, Any]) -> None:
        """There is nothing to restore."""


class ObservationInput:
    """Images at 84 x 84 and vectors, each entry less its mean and in units of its SD; states one-hot.

    What all observations share, such as a background, is taken out: else all would look alike.
    """

    reads_observations = True

    def __init__(self, reader: ObservationReader, device: torch.device, *, settles: bool) -> None:
        self._reader, self._device = reader, device
        self.shape = reader.shape  # of a raw row
        self._channels = reader.shape[0] if len(reader.shape) == 3 else 1
        self._scale: RunningScale | SettledScale | None = None
        if reader.kind == "vector" and settles:
            self._scale = SettledScale(*reader.shape)
        elif reader.kind != "states":
            size = (self._channels, SIDE, SIDE) if reader.kind == "image" else reader.shape
            self._scale = RunningScale(size, device)
        self._width = reader.n_states or (reader.shape[0] if reader.kind == "vector" else 0)

    def __call__(self, observations: Any, features: Any) -> Tensor:
        return self._scaled(self._values(observations))

    def _scaled(self, values: Tensor) -> Tensor:
        return values if self._scale is None else self._scale.scaled(values)

    def _values(self, observations: Any) -> Tensor:
        values = as_input(NAME, self._reader, observations, self._device)
        if self._reader.kind != "image":
            return values
        return area_mean(values if values.ndim == 4 else values[:, None], SIDE)

    def raw(self, observations: Any, features: Any) -> NDArray[Any]:
        """What a stream remembers."""
        return read_rows(NAME, self._reader, observations)

    def linked(self, before: NDArray[Any], after: NDArray[Any]) -> Transitions:
        """The batch of what a stream has linked."""
        return Transitions(AlreadyRead(before), AlreadyRead(after))

    def both(self, before: NDArray[Any], after: NDArray[Any], *, learn: bool) -> Tensor:
        """What the network reads of raw rows, then of the next ones, (2B, ...).

        With `learn` the units learn of the rows first.
        """
        values = self._values(AlreadyRead(np.concatenate([before, after])))
        if self._scale is not None and learn:
            self._scale.learn(values[: len(before)])
        return self._scaled(values)

    def settle(self, rows: NDArray[Any]) -> None:
        """Take the units from these raw rows, and from no others."""
        if isinstance(self._scale, SettledScale):
            self._scale.settle(self._values(AlreadyRead(rows)))

    def encoder(self, features: int) -> nn.Module:
        if self._reader.kind != "image":
            return nn.Sequential(
                nn.Linear(self._width, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, features), nn.ReLU()
            )
        return nn.Sequential(
            nn.Conv2d(self._channels, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 9 * 9, features), nn.ReLU(),
        )  # fmt: skip

    def decoder(self, features: int) -> nn.Module | None:
        if self._reader.kind != "image":
            return nn.Sequential(
                nn.Linear(features, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, self._width)
            )
        return nn.Sequential(
            nn.Linear(features, 32 * 9 * 9), nn.ReLU(), nn.Unflatten(1, (32, 9, 9)),
            nn.ConvTranspose2d(32, 16, 4, 2), nn.ReLU(), nn.ConvTranspose2d(16, 1, 8, 4),
        )  # fmt: skip

    def shown(self, inputs: Tensor) -> Tensor:
        """What is reconstructed of a next observation: of a stack, the newest frame."""
        return inputs[:, -1:] if self._reader.kind == "image" else inputs

    def check_whole(self, batch: Transitions) -> None:
        if batch.next_observations is None:
            raise needs_next(NAME)
        for values in (batch.observations, batch.next_observations):
            self._reader.read(NAME, values)

    def state(self) -> State:
        return {} if self._scale is None else self._scale.state()

    def load(self, state: Mapping[str, Any]) -> None:
        if self._scale is not None:
            self._scale.load(state)
