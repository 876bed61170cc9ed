"""The three losses of the paper's Section 4 as a function of (network, target, batch).

    TD              ((1 - tau) delta + tau delta_MC)^2, Huber as released
    SR              (phi(S_t; target) + gamma psi(S_t+1; target) - psi(S_t))^2
    reconstruction  (predicted S_t+1 - S_t+1)^2, in grey levels

each a mean over all elements, as in the released code, whose weights the paper prints. Two other
auxiliary tasks stand for the paper's future work: only the pixels of S_t+1 that differ from S_t,
or phi(S_t+1; target).

In the code the paper's (S_t, A_t, R_t+1, S_t+1) is (s_tm1, a_tm1, r_t, s_t), as in dqn_zoo. Shapes:
B transitions, A actions, D features, H frames per observation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from countless.agents.dqn.centre import Affine
from countless.agents.dqn.config import LossConfig, RewardConfig
from countless.agents.dqn.network import TINY, Network, p_norm


class TransitionTensors(NamedTuple):
    """A batch of transitions on the device."""

    s: Tensor  # (2 B, H, ...): each s_tm1, then each s_t; the target sees them in one pass
    frame_t: Tensor  # (B, ...): the newest frame of each s_t, in its own units
    a_tm1: Tensor  # (B,)
    r_t: Tensor  # (B,), the game's reward
    r_int_t: Tensor  # (B,), the bonus of s_tm1
    g_tm1: Tensor  # (B,), the Monte-Carlo return of both rewards from s_tm1 on
    terminal_t: Tensor  # (B,), 1 where nothing follows s_t
    s_next: Tensor | None = None  # (B, H, ...), where psi goes on: s_t, or the next episode's start
    continues_t: Tensor | None = None  # (B,), 1 where s_next is known

    @property
    def s_tm1(self) -> Tensor:
        return self.s[: len(self.a_tm1)]

    @property
    def s_t(self) -> Tensor:
        return self.s[len(self.a_tm1) :]


@dataclass(frozen=True)
class Losses:
    """What an update minimises, its parts, and the mean value."""

    total: Tensor
    td: Tensor
    sr: Tensor | None
    reconstruction: Tensor | None
    q: Tensor


def sr_bonus(norms: Tensor) -> Tensor:
    """r_int = 1 / ||psi(s)||, finite where psi = 0, so that beta = 0 takes it away."""
    return 1.0 / norms.clamp_min(TINY)


def total_reward(
    r_t: Tensor, r_int_t: Tensor, config: RewardConfig, centre: Affine | None = None
) -> Tensor:
    """What the values learn: the (clipped) reward plus beta times the (centred) bonus."""
    reward = r_t.clamp(-1.0, 1.0) if config.clip_reward else r_t
    if config.bonus == "off":
        return reward
    added = (config.beta * r_int_t).clamp_max(config.bonus_limit)
    if centre is not None:
        # Steps that got no bonus have none to centre.
        centred = (added - centre.shift) * centre.scale
        added = torch.where(r_int_t > 0.0, centred, 0.0)
    total = reward + added
    return total.clamp(-1.0, 1.0) if config.clip_total else total


@dataclass(frozen=True)
class Targets:
    """What the target network says: no gradient flows through any of it."""

    q_t: Tensor  # (B,), the largest value of s_t
    psi_tm1: Tensor | None  # (B, D), what psi(s_tm1) should be
    r_int_t: Tensor  # (B,)
    phi_t: Tensor  # (B, D)


@torch.no_grad()
def compute_targets(
    target: Network,
    batch: TransitionTensors,
    discount_t: Tensor,
    config: LossConfig,
    rewards: RewardConfig,
) -> Targets:
    """Bootstraps of q and psi at s_t; phi at s_tm1 or s_t; the bonus, if it is evaluated again."""
    learns_sr = target.has_sr and config.w_sr > 0.0
    needs_s_tm1 = rewards.sr_bonus_when_sampled or (learns_sr and config.sr_target == "current")
    size = len(batch.a_tm1) if needs_s_tm1 else 0
    raw, phi = target.features(batch.s if needs_s_tm1 else batch.s_t)  # (2 B or B, D)
    raw_tm1, raw_t = raw[:size], raw[size:]
    phi_tm1, phi_t = phi[:size], phi[size:]
    r_int_t = batch.r_int_t
    if rewards.sr_bonus_when_sampled:
        norm_tm1 = p_norm(target.psi(raw_tm1, phi_tm1), target.norm)  # (B,)
        # Steps that got no bonus keep none.
        r_int_t = torch.where(batch.r_int_t > 0.0, sr_bonus(norm_tm1), 0.0)
    psi_tm1 = None
    if learns_sr:
        first = phi_tm1 if config.sr_target == "current" else phi_t
        gamma_sr = config.gamma_sr or config.gamma
        discount = gamma_sr * (1.0 - batch.terminal_t) if config.gamma_sr else discount_t
        raw_next, phi_next = raw_t, phi_t
        if batch.s_next is not None and batch.continues_t is not None:
            discount = gamma_sr * batch.continues_t
            raw_next, phi_next = target.features(batch.s_next)
        psi_tm1 = first + discount.unsqueeze(1) * target.psi(raw_next, phi_next)
    return Targets(target.q(raw_t, phi_t).amax(1), psi_tm1, r_int_t, phi_t)


class Goals(NamedTuple):
    """What the network is to say of s_tm1."""

    q_tm1: Tensor  # (B,), of a_tm1
    psi_tm1: Tensor | None  # (B, D)
    next_t: Tensor  # what the decoder is to predict: frames (B, ...), or features (B, D)
    heeded: Tensor | None  # of its shape: 1 where the prediction counts; None: everywhere


@torch.no_grad()
def compute_goals(
    target: Network,
    batch: TransitionTensors,
    config: LossConfig,
    rewards: RewardConfig,
    centre: Affine | None = None,
) -> Goals:
    """The mixed return, (1 - tau) times the bootstrapped one plus tau times Monte Carlo's; and psi."""
    discount_t = config.gamma * (1.0 - batch.terminal_t)  # (B,)
    targets = compute_targets(target, batch, discount_t, config, rewards)
    reward_t = total_reward(batch.r_t, targets.r_int_t, rewards, centre)
    q_tm1 = reward_t + discount_t * targets.q_t
    if config.tau > 0.0:
        q_tm1 = q_tm1.lerp(batch.g_tm1, config.tau)
    return Goals(q_tm1, targets.psi_tm1, *_to_predict(target, batch, targets))


def _to_predict(
    target: Network, batch: TransitionTensors, targets: Targets
) -> tuple[Tensor, Tensor | None]:
    """What the auxiliary task predicts, and which parts of it."""
    if target.predicts == "features":
        return targets.phi_t, None
    if target.predicts == "changes":
        return batch.frame_t, (batch.s_t[:, -1] != batch.s_tm1[:, -1]).to(torch.float32)
    return batch.frame_t, None


def compute_losses(
    network: Network,
    target: Network,
    batch: TransitionTensors,
    config: LossConfig,
    rewards: RewardConfig,
    centre: Affine | None = None,
) -> Losses:
    """The weighted sum of the losses that the configuration asks for, and its parts."""
    goals = compute_goals(target, batch, config, rewards, centre)
    raw_tm1, phi_tm1 = network.features(batch.s_tm1)  # (B, D)
    q_tm1 = network.q(raw_tm1, phi_tm1).gather(1, batch.a_tm1.unsqueeze(1)).squeeze(1)  # (B,)
    td = td_loss(goals.q_tm1 - q_tm1, config.td_loss)
    sr = reconstruction = None
    if goals.psi_tm1 is not None:
        sr = F.mse_loss(network.psi(raw_tm1, phi_tm1), goals.psi_tm1)
    if network.decoder is not None and config.w_reconstruction > 0.0:
        error = network.predict(phi_tm1, batch.a_tm1) - goals.next_t
        reconstruction = mean_square(error, goals.heeded)
    total = weighted_sum(td, sr, reconstruction, config)
    return Losses(total, td, sr, reconstruction, q_tm1.detach().mean())


def weighted_sum(
    td: Tensor, sr: Tensor | None, reconstruction: Tensor | None, config: LossConfig
) -> Tensor:
    """What an update minimises."""
    total = config.w_td * td
    if sr is not None:
        total = total + config.w_sr * sr
    if reconstruction is not None:
        total = total + config.w_reconstruction * reconstruction
    return total


def mean_square(error: Tensor, heeded: Tensor | None = None) -> Tensor:
    """The mean of the squares of all elements, or of those that are heeded; 0 where none is."""
    if heeded is None:
        return error.square().mean()
    return (error.square() * heeded).sum() / heeded.sum().clamp_min(1.0)


def td_loss(error: Tensor, kind: str) -> Tensor:
    """The mean over the batch of e^2, or of Huber's e^2 / 2 below 1 and |e| - 1/2 above."""
    zero = torch.zeros_like(error)
    return F.mse_loss(error, zero) if kind == "square" else F.smooth_l1_loss(error, zero)
