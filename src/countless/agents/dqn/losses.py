"""The three losses of the paper's Section 4 as a function of (network, target, batch).

    TD              ((1 - tau) delta + tau delta_MC)^2, Huber as released
    SR              (phi(S_t; target) + gamma psi(S_t+1; target) - psi(S_t))^2
    reconstruction  (predicted S_t+1 - S_t+1)^2, in grey levels

each a mean over all elements, as in the released code, whose weights the paper prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from countless.agents.dqn.config import DeepConfig
from countless.agents.dqn.network import TINY, Network


class Tensors(NamedTuple):
    """A batch on the device: frames (B, ...), the rest (B,), but for the observations."""

    both: Tensor  # (2 B, history, ...): each S_t, then each S_t+1; one pass sees all of them
    next_frames: Tensor  # the newest of each next observation, in its own units
    actions: Tensor
    extrinsic: Tensor
    intrinsic: Tensor
    returns: Tensor
    done: Tensor

    @property
    def observations(self) -> Tensor:
        return self.both[: len(self.actions)]

    @property
    def next_observations(self) -> Tensor:
        return self.both[len(self.actions) :]


@dataclass(frozen=True)
class Losses:
    """What an update minimises, its parts, the mean value, and how many features are not zero."""

    total: Tensor
    td: Tensor
    sr: Tensor | None
    reconstruction: Tensor | None
    q: Tensor
    active: Tensor


def sr_bonus(norms: Tensor) -> Tensor:
    """r_int = 1 / ||psi(s)||, finite where psi = 0, so that beta = 0 takes it away."""
    return 1.0 / norms.clamp_min(TINY)


def total_reward(extrinsic: Tensor, intrinsic: Tensor, config: DeepConfig) -> Tensor:
    """What the values learn: the (clipped) reward plus beta times the bonus."""
    reward = extrinsic.clamp(-1.0, 1.0) if config.clip_reward == "on" else extrinsic
    if config.bonus == "off":
        return reward
    total = reward + (config.beta * intrinsic).clamp_max(config.bonus_limit)
    return total.clamp(-1.0, 1.0) if config.clip_total == "on" else total


@dataclass(frozen=True)
class Targets:
    """What the target network says: no gradient flows through any of it."""

    value: Tensor
    sr: Tensor | None
    intrinsic: Tensor


@torch.no_grad()
def compute_targets(target: Network, batch: Tensors, config: DeepConfig) -> Targets:
    """Bootstraps of q and psi at S_t+1; phi at S_t or S_t+1; the bonus, if evaluated anew."""
    learns_sr = config.sr == "on" and config.w_sr > 0.0
    anew = config.bonus == "sr" and config.bonus_from == "sampled"
    now_too = anew or (learns_sr and config.sr_target == "current")
    size = len(batch.actions) if now_too else 0
    raws, phis = target.features(batch.both if now_too else batch.next_observations)
    raw, raw_next, phi, phi_next = raws[:size], raws[size:], phis[:size], phis[size:]
    intrinsic = batch.intrinsic
    if anew:
        fresh = sr_bonus(torch.linalg.vector_norm(target.psi(raw, phi), target.norm, 1))
        intrinsic = torch.where(batch.intrinsic > 0.0, fresh, 0.0)  # steps that got none keep none
    sr = None
    if learns_sr:
        start = phi if config.sr_target == "current" else phi_next
        discounts = (config.gamma * (1.0 - batch.done)).unsqueeze(1)
        sr = start + discounts * target.psi(raw_next, phi_next)
    return Targets(target.q(phi_next).amax(1), sr, intrinsic)


def compute_losses(network: Network, target: Network, batch: Tensors, config: DeepConfig) -> Losses:
    """The weighted sum of the losses that the configuration asks for, and its parts."""
    targets = compute_targets(target, batch, config)
    raw, phi = network.features(batch.observations)
    q = network.q(phi).gather(1, batch.actions.unsqueeze(1)).squeeze(1)
    reward = total_reward(batch.extrinsic, targets.intrinsic, config)
    delta = reward + config.gamma * (1.0 - batch.done) * targets.value - q
    mixed = (1.0 - config.tau) * delta + config.tau * (batch.returns - q)
    td = td_loss(mixed, config.td_loss)
    total = config.w_td * td
    sr = reconstruction = None
    if targets.sr is not None:
        sr = F.mse_loss(network.psi(raw, phi), targets.sr)
        total = total + config.w_sr * sr
    if network.decoder is not None and config.w_reconstruction > 0.0:
        reconstruction = F.mse_loss(network.predict(phi, batch.actions), batch.next_frames)
        total = total + config.w_reconstruction * reconstruction
    active = (raw.detach() > 0.0).sum(1).float().mean()
    return Losses(total, td, sr, reconstruction, q.detach().mean(), active)


def td_loss(error: Tensor, kind: str) -> Tensor:
    """The mean over the batch of e^2, or of Huber's e^2 / 2 below 1 and |e| - 1/2 above."""
    zero = torch.zeros_like(error)
    return F.mse_loss(error, zero) if kind == "square" else F.smooth_l1_loss(error, zero)
