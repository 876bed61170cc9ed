"""A bonus with the constructor and the calls of RLeXplore's reward modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from countless.adapters.steps import StepBonus
from countless.core.arrays import like, need_torch, to_numpy
from countless.core.errors import BadInput
from countless.core.parameters import check_choice

KEYS = ("observations", "actions", "rewards", "terminateds", "truncateds", "next_observations")


class Reward:
    """Takes what RLeXplore's reward modules take, and gives (n_steps, n_envs) tensors.

    Parameters
    ----------
    envs
        Vector environments: their observation space and their number are all that is read.
    device
        Where the networks of the bonus live.
    beta, kappa
        The weight is beta (1 - kappa)^k at the k-th call of `compute`, times the scale of the bonus.
    gamma
        If given, rewards are replaced by their discounted sums along the rollout, as RLeXplore does.
    rwd_norm_type
        "rms": divided by their running SD; "minmax": scaled to [0, 1] in each call; "none".
    obs_norm_type
        Without effect: a bonus normalises its own inputs.
    bonus, of, seed, parameters
        Which bonus, of the observation that was "departed" or "reached", with which parameters.
    """

    def __init__(
        self,
        envs: Any,
        device: Any = "cpu",
        beta: float = 1.0,
        kappa: float = 0.0,
        gamma: float | None = None,
        rwd_norm_type: str = "rms",
        obs_norm_type: str = "rms",
        *,
        bonus: str = "sr-norm",
        of: str = "departed",
        seed: int = 0,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        torch = need_torch("the RLeXplore adapter")
        from countless.bonuses.networks.running import RunningStatistics

        space = getattr(envs, "single_observation_space", None)
        self.observation_space = envs.observation_space if space is None else space
        self.n_envs = int(envs.num_envs)
        self.device = torch.device(device)
        self.beta, self.kappa, self.gamma = beta, kappa, gamma
        self.rwd_norm_type = check_choice("rwd_norm_type", rwd_norm_type, ("rms", "minmax", "none"))
        self.obs_norm_type = check_choice("obs_norm_type", obs_norm_type, ("rms", "none"))
        self.batch_size = self.n_envs  # samples that the bonus learns from at once
        self.global_step = 0
        self.metrics: dict[str, list[list[float]]] = {"loss": [], "intrinsic_rewards": []}
        self._steps = StepBonus(
            bonus,
            self.observation_space,
            of=of,
            seed=seed,
            device=str(self.device),
            **{"scale": "none"} | dict(parameters or {}),  # RLeXplore's own scale follows
        )
        self._scale = RunningStatistics((), torch.device("cpu"))
        self._sums = np.zeros(self.n_envs)
        self._learned_from: Any = None

    @property
    def bonus(self) -> Any:
        """The bonus, with all that it has learned."""
        return self._steps.bonus

    @property
    def weight(self) -> float:
        """beta (1 - kappa)^k."""
        return float(self.beta * (1.0 - self.kappa) ** self.global_step)

    def watch(
        self,
        observations: Any,
        actions: Any,
        rewards: Any,
        terminateds: Any,
        truncateds: Any,
        next_observations: Any,
    ) -> None:
        """Nothing is needed while the samples are collected."""

    def compute(self, samples: Mapping[str, Any], sync: bool = True) -> Any:
        """The intrinsic rewards (n_steps, n_envs) of samples (n_steps, n_envs, ...).

        With `sync`, the bonus learns from each step before the next one is paid; an `update` with the
        same samples then has nothing left to do. With `sync=False` it only looks.
        """
        raw = self._walk(samples, learn=sync)
        self._learned_from = samples["observations"] if sync else None
        self.global_step += 1
        rewards = self._normalised(raw) * self.weight
        if rewards.size:
            self.metrics["intrinsic_rewards"].append([self.global_step, float(rewards.mean())])
        return like(rewards, samples["observations"])

    def update(self, samples: Mapping[str, Any]) -> None:
        """Learn from samples, unless `compute` has just done so."""
        _check(samples)
        if self._learned_from is not samples["observations"]:
            self._walk(samples, learn=True)
        self._learned_from = None

    def _walk(self, samples: Mapping[str, Any], learn: bool) -> Any:
        """The bonus of each step, in their order."""
        _check(samples)
        observations, reached = samples["observations"], samples["next_observations"]
        shape = observations.shape[:2]
        over = to_numpy(samples["terminateds"]).astype(bool).reshape(shape)
        ended = over | to_numpy(samples["truncateds"]).astype(bool).reshape(shape)
        paid = np.zeros(shape)
        for t in range(len(observations)):
            if learn:
                # Nothing says that the samples of two calls follow each other.
                starts = ended[t - 1] if t else np.ones(shape[1], dtype=bool)
                paid[t] = self._steps.pay(observations[t], reached[t], over[t], starts)
            else:
                paid[t] = self._steps.look(observations[t], reached[t])
        if learn and paid.size:
            # Bonuses have losses of different kinds; what falls in all of them is what they pay.
            self.metrics["loss"].append([self.global_step, float(paid.mean())])
        return paid

    def _normalised(self, rewards: Any) -> Any:
        import torch

        if self.gamma is not None:
            for t in range(len(rewards)):
                self._sums = rewards[t] = self.gamma * self._sums + rewards[t]
        if self.rwd_norm_type == "rms" and rewards.size:
            self._scale.add(torch.as_tensor(rewards.ravel()))
            return rewards / (float(self._scale.deviation()) + 1e-8)
        if self.rwd_norm_type == "minmax" and rewards.size:
            low, high = rewards.min(), rewards.max()
            return (rewards - low) / (high - low + 1e-8)
        return rewards


def _check(samples: Mapping[str, Any]) -> None:
    missing = [key for key in KEYS if key not in samples]
    if missing:
        raise BadInput(f"the samples lack {', '.join(missing)}; they need {', '.join(KEYS)}")
