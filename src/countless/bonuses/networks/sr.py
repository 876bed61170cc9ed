"""Successor features learned by a network, and the inverse of their norm as a bonus."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from countless.bonuses.base import ObservingBonus, Step
from countless.bonuses.linking import UNSHAPED, Stream
from countless.bonuses.networks.inputs import make_device
from countless.bonuses.networks.sr_inputs import FeatureInput, ObservationInput
from countless.bonuses.networks.state import Adam, load_module, module_state, seeded
from countless.bonuses.protocol import State, Transitions, as_transitions, check_state
from countless.bonuses.sr_norm import NAME, SRNormParameters
from countless.core.arrays import check_flags, like
from countless.core.errors import BadInput
from countless.core.observations import ObservationReader

TINY = 1e-8
SLOWEST = 1e-3  # rate of the running mean of phi
THRESHOLD = 2.5  # in SDs of a random unit's input: one in 160 fires


class SuccessorNetwork(nn.Module):
    """phi by an encoder, psi = W x by a head on phi, the next observation by a decoder.

    x has no negative entry and length 1, W begins at zero, as a table does. Without random units x is
    phi itself: with one-hot features that is a table. With them, x is what `width` fixed random
    units let through of the direction of phi from its running mean: one in 160 fires, and at least
    one, so that observations which differ share little of x, however much background they share.
    """

    centre: Tensor
    units: Tensor
    weights: Tensor

    def __init__(
        self, encoder: nn.Module, decoder: nn.Module | None, features: int, width: int
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.register_buffer("centre", torch.zeros(features))
        self.register_buffer("units", torch.randn(features, width))
        self.register_buffer("weights", torch.zeros(features, width or features))

    def phi(self, inputs: Tensor) -> Tensor:
        features: Tensor = self.encoder(inputs)
        return features

    def code(self, phi: Tensor) -> Tensor:
        """x, (B, width); no gradient of the SR reaches phi."""
        x = phi.detach()
        if self.units.shape[1] > 0:
            direction = functional.normalize(x - self.centre, dim=1, eps=TINY)
            inputs = direction @ self.units
            fired = functional.relu(inputs - THRESHOLD)
            # Where none fires, the strongest does: an observation without a code would never count.
            strongest = functional.one_hot(inputs.argmax(dim=1), inputs.shape[1]).to(fired)
            x = torch.where(fired.any(dim=1, keepdim=True), fired, strongest)
        return functional.normalize(x, dim=1, eps=TINY)

    def psi(self, phi: Tensor) -> Tensor:
        return self.code(phi) @ self.weights.T

    def move_centre(self, phi: Tensor, rate: float) -> None:
        self.centre += rate * (phi.detach().mean(dim=0) - self.centre)

    def learn(self, phi: Tensor, goal: Tensor, eta: float) -> Tensor:
        """psi(s) <- psi(s) + eta (goal - psi(s)) for each row, as in Eq. 4; the squared error."""
        x = self.code(phi)
        error = goal - x @ self.weights.T
        # One state fills a whole batch at worst: then this is one step all the way.
        self.weights += min(eta, 1.0 / len(x)) * error.T @ x
        return (error**2).sum(dim=1).mean()


class NetworkSRNorm(ObservingBonus):
    """beta / ||psi(s; target)||_p, psi learned from phi(s) + gamma psi(s'), phi of p-norm 1.

    The bonus and the targets come from a copy of the network that is brought up to date every
    `target_period` updates. One update is made on the transitions of each step, then the bonus is
    read. Where the norm is below `floor`, the bonus is beta / floor.
    """

    def __init__(
        self, observations: ObservationReader, parameters: SRNormParameters, seed: int, device: str
    ) -> None:
        self.parameters = parameters
        self._device = make_device(device)
        self._stream = Stream(NAME)
        self._input: FeatureInput | ObservationInput = (
            FeatureInput(observations, parameters.features, self._device)
            if parameters.form == "features"
            else ObservationInput(observations, self._device)
        )
        with seeded(seed):
            encoder = self._input.encoder(parameters.features)
            decoder = (
                self._input.decoder(parameters.features) if parameters.reconstruction else None
            )
            network = SuccessorNetwork(encoder, decoder, parameters.features, parameters.width)
        self.network = network.to(self._device)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        # Only a reconstruction changes phi: the SR sends no gradient there.
        self.network.requires_grad_(decoder is not None)
        self._adam = None if decoder is None else Adam(self.network, parameters.lr)
        self.updates = 0

    def norms(self, observations: Any, features: Any = None) -> Tensor:
        """||psi(s; target)||_p, (B,)."""
        with torch.no_grad():
            psi = self.target.psi(self.target.phi(self._input(observations, features)))
            norms: Tensor = torch.linalg.vector_norm(psi, ord=self.parameters.norm, dim=1)
            return norms

    def compute(self, observations: Any, features: Any = None) -> Any:
        norms = self.norms(observations, features).clamp(min=self.parameters.floor)
        return like(self.parameters.beta / norms, observations)

    def update(self, batch: Any) -> dict[str, float]:
        given = as_transitions(batch)
        self._input.check_whole(given)
        count = len(self._input.raw(given.observations, given.features))
        return self._learn(given, check_flags(NAME, given.dones, count))

    def _observe(self, step: Step) -> Any:
        raw = self._input.raw(step.observations, step.features)
        if step.next_observations is not None and self._input.reads_observations:
            given = Transitions(step.observations, step.next_observations)
            self._learn(given, check_flags(NAME, step.dones, len(raw)))
        else:
            linked = self._stream.link(raw, step)
            if linked is not None:
                batch = self._input.linked(*linked)
                self._learn(batch, np.zeros(len(linked[0]), dtype=bool))
        return self.compute(step.observations, step.features)

    def state_dict(self) -> State:
        return {
            **module_state("network", self.network),
            **module_state("target", self.target),
            **({} if self._adam is None else self._adam.state("adam")),
            **self._input.state(),
            "updates": self.updates,
            **self._stream.state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        check_state(NAME, state, self.state_dict() | UNSHAPED)
        load_module("network", self.network, state)
        load_module("target", self.target, state)
        if self._adam is not None:
            self._adam.load("adam", state)
        self._input.load(state)
        self.updates = int(state["updates"])
        self._stream.load(state)

    def _learn(self, batch: Transitions, dones: NDArray[np.bool_]) -> dict[str, float]:
        after = self._input.raw(batch.next_observations, batch.next_features)
        if len(after) != len(dones):
            raise BadInput(f"{NAME}: {len(after)} next observations for {len(dones)} observations")
        if len(dones) == 0:
            return {}
        self._input.learn(batch)
        inputs = self._input(batch.observations, batch.features)
        inputs_after = self._input(batch.next_observations, batch.next_features)
        with torch.no_grad():
            phi_now, phi_after = self.target.phi(torch.cat([inputs, inputs_after])).chunk(2)
            goal = self._goal(phi_now, phi_after, dones)
        # Without a reconstruction the encoder is that of the target.
        phi = phi_now if self._adam is None else self.network.phi(inputs)
        self.network.move_centre(phi, max(1.0 / (self.updates + 1), SLOWEST))
        losses = {"sr_loss": float(self.network.learn(phi, goal, self.parameters.eta))}
        if self._adam is not None:
            assert self.network.decoder is not None
            shown = self._input.shown(inputs_after)
            reconstruction = ((self.network.decoder(phi) - shown) ** 2).mean()
            self._adam.step(reconstruction)
            losses["reconstruction_loss"] = float(reconstruction.detach())
        self.updates += 1
        if self.updates % self.parameters.target_period == 0:
            self._copy_to_target()
        return losses

    def _goal(self, phi_now: Tensor, phi_after: Tensor, dones: NDArray[np.bool_]) -> Tensor:
        """phi of p-norm 1, and gamma psi(s') where something follows."""
        reward = phi_after if self.parameters.target == "next" else phi_now
        reward = functional.normalize(reward, p=self.parameters.norm, dim=1, eps=TINY)
        go_on = torch.as_tensor(~dones, device=self._device)[:, None]
        return reward + self.parameters.gamma * go_on * self.target.psi(phi_after)

    def _copy_to_target(self) -> None:
        self.target.weights.copy_(self.network.weights)
        self.target.centre.copy_(self.network.centre)
        if self._adam is not None:
            self.target.encoder.load_state_dict(self.network.encoder.state_dict())
