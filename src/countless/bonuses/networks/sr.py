"""Successor features learned by a network, and the inverse of their norm as a bonus."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from countless.bonuses.arrays import check_flags, like
from countless.bonuses.networks.inputs import make_device
from countless.bonuses.networks.sr_inputs import FeatureReader, ObservationReader
from countless.bonuses.networks.state import Adam, load_module, module_state, seeded
from countless.bonuses.protocol import Batch, State, as_batch, check_state
from countless.bonuses.spec import Observations
from countless.bonuses.sr_norm import NAME, SRNormParameters
from countless.bonuses.stream import Stream
from countless.core.errors import BadInput

TINY = 1e-8


class SuccessorNetwork(nn.Module):
    """phi by an encoder, psi by a head on phi, and the next observation by a decoder.

    The head's last layer begins at zero, as the table does: what was never seen has a small norm.
    No gradient of psi reaches phi.
    """

    def __init__(
        self, encoder: nn.Module, decoder: nn.Module | None, features: int, width: int
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        last = nn.Linear(width, features)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.head = nn.Sequential(nn.Linear(features, width), nn.ReLU(), last)

    def phi(self, inputs: Tensor) -> Tensor:
        features: Tensor = self.encoder(inputs)
        return features

    def psi(self, phi: Tensor) -> Tensor:
        successor_features: Tensor = self.head(phi.detach())
        return successor_features


class NetworkSRNorm:
    """beta / ||psi(s; target)||_p, psi learned from phi(s) + gamma psi(s'), phi of p-norm 1.

    The bonus and the targets come from a copy of the network that is brought up to date every
    `target_period` updates. One update is made on the transitions of each step, then the bonus is
    read. Where the norm is below `floor`, the bonus is beta / floor.
    """

    def __init__(
        self,
        observations: Observations,
        parameters: SRNormParameters,
        seed: int,
        device: str,
    ) -> None:
        self.parameters = parameters
        self._device = make_device(device)
        self._stream = Stream(NAME)
        with seeded(seed):
            self._reader: FeatureReader | ObservationReader = (
                FeatureReader(observations, parameters.features, self._device)
                if parameters.form == "features"
                else ObservationReader(observations, self._device)
            )
            encoder = self._reader.encoder(parameters.features)
            decoder = (
                self._reader.decoder(parameters.features)
                if parameters.reconstruction == "yes"
                else None
            )
            network = SuccessorNetwork(encoder, decoder, parameters.features, parameters.width)
        self.network = network.to(self._device)
        if decoder is None:
            # The SR sends no gradient into phi: nothing would change it.
            self.network.encoder.requires_grad_(False)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self._adam = Adam(self.network, parameters.lr)
        self.updates = 0

    def norms(self, observations: Any, features: Any = None) -> Tensor:
        """||psi(s; target)||_p, (B,)."""
        with torch.no_grad():
            psi = self.target.psi(self.target.phi(self._reader(observations, features)))
            norms: Tensor = torch.linalg.vector_norm(psi, ord=self.parameters.norm, dim=1)
            return norms

    def compute(self, observations: Any, features: Any = None) -> Any:
        norms = self.norms(observations, features).clamp(min=self.parameters.floor)
        return like(self.parameters.beta / norms, observations)

    def update(self, batch: Any) -> dict[str, float]:
        given = as_batch(batch)
        self._reader.check_whole(given)
        count = len(self._reader.raw(given.observations, given.features))
        return self._learn(given, check_flags(NAME, given.dones, count))

    def observe(
        self,
        observations: Any,
        features: Any = None,
        *,
        next_observations: Any = None,
        dones: Any = None,
        starts: Any = None,
    ) -> Any:
        raw = self._reader.raw(observations, features)
        if next_observations is not None and self._reader.reads_observations:
            self._learn(Batch(observations, next_observations), check_flags(NAME, dones, len(raw)))
        else:
            linked = self._stream.link(raw, starts)
            if linked is not None:
                batch = self._reader.linked(*linked)
                self._learn(batch, np.zeros(len(linked[0]), dtype=bool))
        return self.compute(observations, features)

    def state_dict(self) -> State:
        return {
            **module_state("network", self.network),
            **module_state("target", self.target),
            **self._adam.state("adam"),
            **self._reader.state(),
            "updates": self.updates,
            "last": self._stream.state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        check_state(NAME, state, self.state_dict() | {"last": None})
        load_module("network", self.network, state)
        load_module("target", self.target, state)
        self._adam.load("adam", state)
        self._reader.load(state)
        self.updates = int(state["updates"])
        self._stream.load(np.asarray(state["last"]))

    def _learn(self, batch: Batch, dones: Any) -> dict[str, float]:
        self._reader.learn(batch)
        inputs = self._reader(batch.observations, batch.features)
        after = self._reader(batch.next_observations, batch.next_features)
        if len(after) != len(inputs):
            raise BadInput(f"{NAME}: {len(after)} next observations for {len(inputs)} observations")
        go_on = torch.as_tensor(~dones, device=self._device)[:, None]
        with torch.no_grad():
            phi_now, phi_after = self.target.phi(torch.cat([inputs, after])).chunk(2)
            reward = phi_after if self.parameters.target == "next" else phi_now
            reward = functional.normalize(reward, p=self.parameters.norm, dim=1, eps=TINY)
            goal = reward + self.parameters.gamma * go_on * self.target.psi(phi_after)
        phi = self.network.phi(inputs)
        sr_loss = ((self.network.psi(phi) - goal) ** 2).sum(dim=1).mean()
        losses = {"sr_loss": float(sr_loss.detach())}
        loss = sr_loss
        if self.network.decoder is not None:
            shown = self._reader.shown(after)
            reconstruction = ((self.network.decoder(phi) - shown) ** 2).mean()
            losses["reconstruction_loss"] = float(reconstruction.detach())
            # The two losses train different layers, and Adam's step has no scale: no weights.
            loss = sr_loss + reconstruction
        self._adam.step(loss)
        self.updates += 1
        if self.updates % self.parameters.target_period == 0:
            self.target.load_state_dict(self.network.state_dict())
        return losses
