"""A bonus with the constructor and the calls of RLeXplore's reward modules."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from countless.adapters.steps import StepBonus
from countless.core.arrays import Floats, like, need_torch, to_numpy
from countless.core.errors import BadInput
from countless.core.parameters import Interval, check_choice, check_real

Flags = NDArray[np.bool_]
LEAST_SHARE = 0.1  # of the mean reward: a smaller SD counts as this
KEYS = ("observations", "actions", "rewards", "terminateds", "truncateds", "next_observations")


class Reward:
    """Takes what RLeXplore's reward modules take, and gives (n_steps, n_envs) tensors.

    Samples are learned once: an `update` does nothing if it is given what the `compute` before it has
    learned from, whether in the same arrays or in copies.

    Where the environments reset in the step after the end of an episode (`AutoresetMode.NEXT_STEP`,
    Gymnasium's default), that step is no transition: it is not learned and is paid 0, also where the
    end was in the last samples that were learned. So `terminateds[t]` and `truncateds[t]` must say
    how step t ended. RLeXplore's example with CleanRL's PPO passes how step t - 1 ended, and was made
    for environments that reset at once: run it with `AutoresetMode.SAME_STEP`.

    Parameters
    ----------
    envs
        Vector environments: their observation space, their number and their way of resetting are
        all that is read.
    device
        Where the networks of the bonus live.
    beta, kappa
        The weight is beta (1 - kappa)^k at the k-th call of `compute`, times the scale of the bonus.
    gamma
        If given, rewards are replaced by their discounted sums along the rollout, as RLeXplore does.
    rwd_norm_type
        "rms": divided by their running SD; "minmax": scaled to [0, 1] in each call; "none". An SD
        below a tenth of the mean counts as a tenth: a bonus that is the same everywhere is not paid
        the more the surer that is.
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
        from countless.bonuses.networks.inputs import make_device
        from countless.bonuses.networks.running import RunningStatistics

        if not hasattr(envs, "num_envs"):
            raise BadInput(
                f"Reward takes vector environments, such as gymnasium.make_vec makes, not {envs!r}"
            )
        space = getattr(envs, "single_observation_space", None)
        self.observation_space = envs.observation_space if space is None else space
        self.n_envs = int(envs.num_envs)
        self.device = make_device(str(device))
        self.beta = check_real("beta", beta, Interval("[0, inf)"))
        self.kappa = check_real("kappa", kappa, Interval("[0, 1]"))
        self.gamma = None if gamma is None else check_real("gamma", gamma, Interval("[0, 1]"))
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
        self._learned_from: bytes | None = None  # fingerprint of what the last `compute` learned
        metadata = getattr(envs, "metadata", None) or {}
        self._resets_later = metadata.get("autoreset_mode") == AutoresetMode.NEXT_STEP
        self._resetting = np.zeros(self.n_envs, dtype=bool)  # in the first step of the next samples

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
        raw, active = self._walk(samples, learn=sync)
        self._learned_from = _fingerprint(samples) if sync else None
        self.global_step += 1
        rewards = self._normalised(raw, active) * self.weight
        if rewards.size:
            self.metrics["intrinsic_rewards"].append([self.global_step, float(rewards.mean())])
        return like(rewards, samples["observations"])

    def update(self, samples: Mapping[str, Any]) -> None:
        """Learn from samples, unless `compute` has just done so."""
        self._check(samples)
        if self._learned_from is None or self._learned_from != _fingerprint(samples):
            self._walk(samples, learn=True)
        self._learned_from = None

    def _walk(self, samples: Mapping[str, Any], learn: bool) -> tuple[Floats, Flags]:
        """The bonus of each step, in their order, and which rows are steps."""
        self._check(samples)
        observations, reached = samples["observations"], samples["next_observations"]
        shape = observations.shape[:2]
        over = to_numpy(samples["terminateds"]).astype(bool).reshape(shape)
        ended = over | to_numpy(samples["truncateds"]).astype(bool).reshape(shape)
        active, starts = self._steps_taken(ended)
        paid = np.zeros(shape)
        for t in range(len(observations)):
            if learn:
                paid[t] = self._steps.pay(
                    observations[t], reached[t], over[t], starts[t], active[t]
                )
            else:
                paid[t] = np.where(active[t], self._steps.look(observations[t], reached[t]), 0.0)
        if learn and paid.size:
            if self._resets_later:
                self._resetting = active[-1] & ended[-1]
            # Bonuses have losses of different kinds; what falls in all of them is what they pay.
            self.metrics["loss"].append([self.global_step, float(paid.mean())])
        return paid, active

    def _steps_taken(self, ended: Flags) -> tuple[Flags, Flags]:
        """Which rows are steps and not only resets, and which steps are the first of an episode."""
        active, starts = np.ones_like(ended), np.ones_like(ended)
        for t in range(len(ended)):
            if self._resets_later:
                active[t] = ~(active[t - 1] & ended[t - 1]) if t else ~self._resetting
            # Nothing says that the samples of two calls follow each other: the first rows are starts.
            if t:
                starts[t] = ~active[t - 1] if self._resets_later else ended[t - 1]
        return active, starts

    def _check(self, samples: Mapping[str, Any]) -> None:
        """All keys are there, and each has a row per step and environment."""
        missing = [key for key in KEYS if key not in samples]
        if missing:
            raise BadInput(f"the samples lack {', '.join(missing)}; they need {', '.join(KEYS)}")
        shapes = {key: tuple(np.shape(samples[key])) for key in KEYS}
        steps = shapes["observations"][0] if shapes["observations"] else 1
        for key, shape in shapes.items():
            flags = key in ("terminateds", "truncateds")
            if shape[:2] != (steps, self.n_envs) or (flags and prod(shape[2:]) != 1):
                more = "" if flags else ", ..."
                raise BadInput(
                    f"samples[{key!r}] must have shape ({steps}, {self.n_envs}{more}), one row per "
                    f"step and one column per environment, not {shape}"
                )
        if shapes["next_observations"] != shapes["observations"]:
            raise BadInput(
                f"samples['next_observations'] must have the shape {shapes['observations']} of the "
                f"observations, not {shapes['next_observations']}"
            )

    def _normalised(self, rewards: Floats, active: Flags) -> Floats:
        """The rewards of the steps in RLeXplore's units; rows that only reset are paid 0."""
        import torch

        if self.gamma is not None:
            for t in range(len(rewards)):
                self._sums = np.where(active[t], self.gamma * self._sums + rewards[t], self._sums)
                rewards[t] = np.where(active[t], self._sums, 0.0)
        steps = rewards[active]
        if self.rwd_norm_type == "rms" and steps.size:
            self._scale.add(torch.as_tensor(steps))
            least = LEAST_SHARE * abs(float(self._scale.mean))
            return rewards / (max(float(self._scale.deviation()), least) + 1e-8)
        if self.rwd_norm_type == "minmax" and steps.size:
            low, high = steps.min(), steps.max()
            return np.where(active, (rewards - low) / (high - low + 1e-8), 0.0)
        return rewards


def _fingerprint(samples: Mapping[str, Any]) -> bytes:
    """Of what a bonus learns from."""
    hasher = hashlib.blake2b(digest_size=16)
    for key in ("observations", "next_observations", "terminateds", "truncateds"):
        hasher.update(np.ascontiguousarray(to_numpy(samples[key])).data)
    return hasher.digest()
