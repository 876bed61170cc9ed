"""The losses of a network of dense layers on the CPU, and their gradients, written out.

Such a network is small: what PyTorch does around each operation, and to remember it, takes longer
than the operation. So the backward pass of `losses.compute_losses` stands here as matrix products,
and weights and gradients are one vector each: the optimiser passes over them once. The tests hold
it against PyTorch's own gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor, nn

from countless.agents.dqn.config import LossConfig
from countless.agents.dqn.losses import (
    Goals,
    Losses,
    TransitionTensors,
    td_loss,
    weighted_sum,
)
from countless.agents.dqn.network import TINY, Network, p_norm

ALIGNED = 16  # elements: each parameter begins at a cache line


def has_written_gradients(network: Network, config: LossConfig) -> bool:
    """Whether this module knows the network, and each of its parts learns."""
    layers = (*network.encoder, *(network.sr_head or ()))
    dense = all(isinstance(layer, nn.Linear | nn.ReLU | nn.Flatten) for layer in layers)
    parts = ((network.sr_head, config.w_sr), (network.decoder, config.w_reconstruction))
    learn = config.w_td > 0.0 and all(part is None or weight > 0.0 for part, weight in parts)
    known = network.decoder is None or network.decoder.dense
    known = known and network.q_hidden is None
    if network.normalised:
        known = known and network.norm_gradient and not network.q_reads_raw and network.norm < inf
    return dense and known and learn


class FlatParameters:
    """The parameters of a network as views of one vector, their gradients of another."""

    def __init__(self, network: nn.Module) -> None:
        named = dict(network.named_parameters())
        self._places: dict[str, tuple[int, torch.Size]] = {}
        size = 0
        for name, parameter in named.items():
            self._places[name] = (size, parameter.shape)
            size += -(-parameter.numel() // ALIGNED) * ALIGNED
        self.vector = nn.Parameter(torch.zeros(size))
        self.vector.grad = torch.zeros(size)
        for name, parameter in named.items():
            view = self.part(name, self.vector.data)
            parameter.data = view.copy_(parameter.data)
            parameter.grad = self.part(name, self.vector.grad)

    def start(self, name: str) -> int:
        """Where a parameter begins."""
        return self._places[name][0]

    def part(self, name: str, vector: Tensor) -> Tensor:
        """What belongs to one parameter in a vector of all; a number that all share as it is."""
        if vector.numel() == 1:
            return vector
        start, shape = self._places[name]
        return vector[start : start + shape.numel()].view(shape)


class _Layer:
    """A linear layer, and the ReLU after it if there is one."""

    def __init__(self, linear: nn.Linear, relu: bool = False) -> None:
        self.relu = relu
        self.weight, self.columns = linear.weight.data, linear.weight.data.t()
        self.bias = None if linear.bias is None else linear.bias.data
        self.weight_grad = linear.weight.grad
        self.bias_grad = None if linear.bias is None else linear.bias.grad

    def forward(self, x: Tensor) -> Tensor:
        self.x = x
        out = x @ self.columns if self.bias is None else torch.addmm(self.bias, x, self.columns)
        self.out = out.relu_() if self.relu else out
        return self.out

    def backward(self, gradient: Tensor) -> Tensor:
        """From the gradient of what it gave: those of its parameters; that before the ReLU."""
        if self.relu:
            gradient = _before_relu(gradient, self.out)
        torch.mm(gradient.t(), self.x, out=self.weight_grad)
        if self.bias is not None:
            torch.sum(gradient, 0, out=self.bias_grad)
        return gradient

    def backward_to_input(self, gradient: Tensor) -> Tensor:
        """The same; the gradient of what it was given."""
        return self.backward(gradient) @ self.weight


@dataclass(frozen=True)
class _Decoder:
    """The layers of `network.Decoder`."""

    factor: _Layer
    embedding: _Layer
    after: _Layer
    spread: _Layer
    out: _Layer


class DenseLosses:
    """The losses of one network, made once: it owns the memory of the network's parameters."""

    def __init__(self, network: Network, config: LossConfig) -> None:
        self.parameters = FlatParameters(network)
        self.config = config
        self._network = network
        self._one_hot = torch.eye(network.spec.actions)
        self._encoder = _with_relus(network.encoder)
        self._q = _Layer(network.q_head)
        self._sr = None if network.sr_head is None else _with_relus(network.sr_head)
        decoder = network.decoder
        self._decoder = None if decoder is None else _Decoder(
            _Layer(decoder.factor, decoder.factor_relu), _Layer(decoder.embedding),
            _Layer(decoder.after), _Layer(decoder.spread, relu=True), _Layer(decoder.out),
        )  # fmt: skip

    @torch.no_grad()
    def with_gradients(self, batch: TransitionTensors, goals: Goals) -> Losses:
        """The losses of a batch; their gradients are then those of the parameters."""
        network = self._network
        raw = network.scaled(batch.s_tm1).flatten(1)
        for layer in self._encoder:
            raw = layer.forward(raw)
        phi = network.normalise(raw) if network.normalised else raw
        # As a layer that reads one-hot actions, the embedding is a layer like the others.
        taken = self._one_hot.index_select(0, batch.a_tm1)  # (B, A)
        td, q_tm1, gradient = self._td(phi, taken, goals.q_tm1)
        sr = reconstruction = None
        if self._sr is not None:
            assert goals.psi_tm1 is not None
            sr = self._sr_loss(raw if network.sr_reads_raw else phi, goals.psi_tm1)
        if self._decoder is not None:
            reconstruction, more = self._reconstruction(self._decoder, phi, taken, goals)
            gradient += more
        if network.normalised:
            gradient = _before_normalising(gradient, raw, phi, network.norm)
        for layer in reversed(self._encoder[1:]):
            gradient = layer.backward_to_input(gradient)
        self._encoder[0].backward(gradient)
        return Losses(
            weighted_sum(td, sr, reconstruction, self.config), td, sr, reconstruction, q_tm1.mean()
        )

    def _td(self, phi: Tensor, taken: Tensor, goal: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The loss, the values of the actions that were taken, the gradient of phi."""
        q_tm1 = (self._q.forward(phi) * taken).sum(1)  # (B,)
        error = q_tm1 - goal
        square = self.config.td_loss == "square"
        slope = 2.0 * error if square else error.clamp(-1.0, 1.0)
        slope = slope * (self.config.w_td / len(error))
        gradient = self._q.backward_to_input(slope.unsqueeze(1) * taken)
        return td_loss(error, self.config.td_loss), q_tm1, gradient

    def _sr_loss(self, read: Tensor, goal: Tensor) -> Tensor:
        """No gradient reaches the features."""
        assert self._sr is not None
        first, last = self._sr
        loss, gradient = _squares(last.forward(first.forward(read)), goal, self.config.w_sr)
        first.backward(last.backward_to_input(gradient))
        return loss

    def _reconstruction(
        self, layers: _Decoder, phi: Tensor, taken: Tensor, goals: Goals
    ) -> tuple[Tensor, Tensor]:
        """The loss, and the gradient of phi."""
        factors, embedded = layers.factor.forward(phi), layers.embedding.forward(taken)
        x = layers.spread.forward(layers.after.forward(factors * embedded))
        weight = self.config.w_reconstruction
        heeded = None if goals.heeded is None else goals.heeded.flatten(1)
        loss, gradient = _squares(layers.out.forward(x), goals.next_t.flatten(1), weight, heeded)
        for layer in (layers.out, layers.spread, layers.after):
            gradient = layer.backward_to_input(gradient)
        layers.embedding.backward(gradient * factors)
        return loss, layers.factor.backward_to_input(gradient * embedded)


def _with_relus(layers: nn.Sequential) -> list[_Layer]:
    """In these parts of a network, a ReLU follows each linear layer."""
    return [_Layer(layer, relu=True) for layer in layers if isinstance(layer, nn.Linear)]


def _squares(
    out: Tensor, goal: Tensor, weight: float, heeded: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """`losses.mean_square` of the difference, and the gradient of `out` times `weight`."""
    difference = out - goal
    size: Tensor | int = difference.numel()
    if heeded is not None:
        difference = difference * heeded
        size = heeded.sum().clamp_min(1.0)
    line = difference.view(-1)
    return torch.dot(line, line) / size, difference * (2.0 * weight / size)


def _before_relu(gradient: Tensor, out: Tensor) -> Tensor:
    return torch.ops.aten.threshold_backward.default(gradient, out, 0)  # type: ignore[no-any-return]


def _before_normalising(gradient: Tensor, raw: Tensor, phi: Tensor, norm: float) -> Tensor:
    """From the gradient of phi = raw / n, n = ||raw||_p, to that of raw, which is not negative.

    dn / draw = (raw / n)^(p - 1), where n is not held at its least value.
    """
    norms = p_norm(raw, norm).unsqueeze(1)
    inner = (gradient * phi).sum(1, keepdim=True) * (norms >= TINY)
    by_norm = inner if norm == 1.0 else inner * phi.pow(norm - 1.0)
    return (gradient - by_norm) / norms.clamp_min(TINY)
