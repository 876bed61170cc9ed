"""A bonus behind RLeXplore's `watch / compute / update`, so that its users can switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from countless.adapters.view import bonus_for, check_of, pay
from countless.bonuses.arrays import like, need_torch, to_numpy
from countless.bonuses.protocol import Batch
from countless.core.errors import BadInput

KEYS = ("observations", "actions", "rewards", "terminateds", "truncateds", "next_observations")


class Reward:
    """Takes what RLeXplore's reward modules take, and gives (n_steps, n_envs) tensors.

    `compute` learns from the samples in their order, as theirs does; with `sync=False` it only looks.
    The weight is beta (1 - kappa)^k at the k-th call, times the scale of the bonus itself.
    """

    def __init__(
        self,
        observation_space: Any,
        action_space: Any = None,
        n_envs: int = 1,
        device: str = "cpu",
        beta: float = 1.0,
        kappa: float = 0.0,
        *,
        bonus: str = "sr-norm",
        of: str = "departed",
        seed: int = 0,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        need_torch("the RLeXplore adapter")
        self.bonus = bonus_for(
            bonus, observation_space, seed=seed, device=device, **dict(parameters or {})
        )
        self.n_envs, self.beta, self.kappa = n_envs, beta, kappa
        self.global_step = 0
        self.metrics: dict[str, float] = {}
        self._of = check_of(of)

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
        """The bonus of samples (n_steps, n_envs, ...), a torch tensor (n_steps, n_envs)."""
        import torch

        _check(samples)
        observations, reached = samples["observations"], samples["next_observations"]
        over = to_numpy(samples["terminateds"]).astype(bool)
        ended = over | to_numpy(samples["truncateds"]).astype(bool)
        self.global_step += 1
        rows = []
        for t in range(len(observations)):
            if sync:
                starts = ended[t - 1] if t else None
                paid = pay(self.bonus, self._of, observations[t], reached[t], over[t], starts)
            else:
                seen = observations if self._of == "departed" else reached
                paid = to_numpy(self.bonus.compute(seen[t]))
            rows.append(torch.as_tensor(paid))
        stacked = torch.stack(rows) if rows else torch.zeros((0, self.n_envs))
        return like(self.weight * stacked, observations)

    def update(self, samples: Mapping[str, Any]) -> None:
        """Learn from samples without paying for them; `metrics` says how that went."""
        _check(samples)
        flat = {key: _flat(samples[key]) for key in KEYS}
        self.metrics = self.bonus.update(
            Batch(
                flat["observations"],
                flat["next_observations"],
                flat["actions"],
                to_numpy(flat["terminateds"]).astype(bool),
            )
        )


def _flat(values: Any) -> Any:
    return values.reshape(values.shape[0] * values.shape[1], *values.shape[2:])


def _check(samples: Mapping[str, Any]) -> None:
    missing = [key for key in KEYS if key not in samples]
    if missing:
        raise BadInput(f"the samples lack {', '.join(missing)}; they need {', '.join(KEYS)}")
