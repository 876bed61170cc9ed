"""A bonus around Gymnasium's vector environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from countless.adapters.view import View, bonus_for, check_of, pay
from countless.bonuses.protocol import Bonus
from countless.core.errors import BadInput


class BonusVectorEnv(VectorWrapper[Any, Any, Any, Any, Any]):
    """Adds a bonus to the rewards; `info` has both apart.

    `info["extrinsic_reward"]` and `info["intrinsic_reward"]` are (B,). The bonus is that of the
    observation that was left, as in the paper, or with `of="reached"` of the one that came next. The
    step in which Gymnasium only resets an environment pays nothing.

    >>> from gymnasium import make_vec
    >>> env = BonusVectorEnv(make_vec("FrozenLake-v1", num_envs=2), "counts")
    >>> _ = env.reset(seed=0)
    >>> _, reward, _, _, info = env.step(env.action_space.sample())
    >>> info["intrinsic_reward"].tolist()
    [1.0, 0.7071067811865475]
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        bonus: str | Bonus,
        *,
        of: str = "departed",
        view: View | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(env)
        self.bonus = bonus_for(bonus, env.single_observation_space, view=view, **parameters)
        self._of = check_of(of)
        self._mode = env.metadata.get("autoreset_mode")
        if self._mode == AutoresetMode.DISABLED:
            raise BadInput("BonusVectorEnv needs environments that reset themselves")
        self._last: Any = None
        self._over = np.zeros(env.num_envs, dtype=bool)

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observations, info = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._last = _copy(observations)
        self._over = np.zeros(self.env.num_envs, dtype=bool)
        return observations, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        same_step = self._mode == AutoresetMode.SAME_STEP
        # Where the environment resets at once, the observation that was reached is in the info.
        reached = _with_final(observations, info) if same_step else observations
        resetting = np.zeros_like(self._over) if same_step else self._over
        intrinsic = pay(
            self.bonus, self._of, self._last, reached, terminated | resetting, self._over
        )
        intrinsic = np.where(resetting, 0.0, intrinsic)
        extrinsic = np.asarray(rewards, dtype=np.float64)
        self._last, self._over = _copy(observations), np.asarray(terminated | truncated)
        present = np.ones(len(extrinsic), dtype=bool)
        more = {
            "extrinsic_reward": extrinsic,
            "intrinsic_reward": intrinsic,
            "_extrinsic_reward": present,
            "_intrinsic_reward": present,
        }
        return observations, extrinsic + intrinsic, terminated, truncated, {**info, **more}


def _copy(observations: Any) -> Any:
    """Vector environments may write the next observations into the same array."""
    if isinstance(observations, dict):
        return {key: _copy(value) for key, value in observations.items()}
    return np.array(observations)


def _with_final(observations: Any, info: dict[str, Any]) -> Any:
    final, present = info.get("final_obs"), info.get("_final_obs")
    if final is None or present is None:
        return observations
    if isinstance(observations, dict):
        return {key: _put(value, final[key], present) for key, value in observations.items()}
    return _put(observations, final, present)


def _put(observations: Any, final: Any, present: NDArray[np.bool_]) -> Any:
    reached = np.array(observations)
    for row in np.flatnonzero(present):
        reached[row] = final[row]
    return reached
