"""A bonus around Gymnasium's vector environments."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.wrappers.vector import NormalizeObservation

from countless.adapters.steps import Preprocess, StepBonus, copy_batch, replace_rows
from countless.bonuses.protocol import Bonus
from countless.core.errors import BadInput

UNDECLARED = (
    "these environments do not say when they reset themselves: they are taken to do so in the step "
    "after the end of an episode. Set metadata['autoreset_mode'] to AutoresetMode.NEXT_STEP or "
    "SAME_STEP"
)


NORMALISED = (
    "the bonus sees observations whose normalisation changes as NormalizeObservation learns, so what "
    "it has seen looks new again: put NormalizeObservation around BonusVectorEnv"
)


class BonusVectorEnv(VectorWrapper[Any, Any, Any, Any, Any]):
    """Adds a bonus to the rewards; `info` has both separately.

    A bonus made by name is standardised (`scale="standardise"`, `beta=0.3`), so that it does not pay
    for staying alive; `scale="none"` adds it as it is defined.

    `info["extrinsic_reward"]` and `info["intrinsic_reward"]` are (B,). The bonus is that of the
    observation that was left, as in the paper, or with `of="reached"` that of the one that came next.
    Under Gymnasium's default, `AutoresetMode.NEXT_STEP`, the step after the end of an episode only
    resets its environment: it is no transition, so it is not paid and the bonus does not see it.

    >>> from gymnasium import make_vec
    >>> env = BonusVectorEnv(make_vec("FrozenLake-v1", num_envs=2), "counts", scale="none", beta=1)
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
        preprocess: Preprocess | None = None,
        **parameters: Any,
    ) -> None:
        if not isinstance(env, VectorEnv):
            raise BadInput(
                "BonusVectorEnv goes around vector environments of Gymnasium, not "
                f"{type(env).__name__}: gymnasium.make_vec(id, num_envs=8), or SyncVectorEnv([make]) "
                "for one"
            )
        inside: Any = env
        while isinstance(inside, VectorWrapper):
            if isinstance(inside, BonusVectorEnv):
                raise BadInput("these environments have a BonusVectorEnv around them already")
            if isinstance(inside, NormalizeObservation):
                warnings.warn(NORMALISED, stacklevel=2)
            inside = inside.env
        super().__init__(env)
        self._steps = StepBonus(
            bonus, env.single_observation_space, of=of, preprocess=preprocess, **parameters
        )
        self._mode = env.metadata.get("autoreset_mode")
        if self._mode is None:
            warnings.warn(UNDECLARED, stacklevel=2)
        if self._mode == AutoresetMode.DISABLED:
            raise BadInput(
                "BonusVectorEnv needs environments that reset themselves: make them with "
                "autoreset_mode=AutoresetMode.NEXT_STEP or SAME_STEP"
            )
        self._last: Any = None
        self._ended = np.zeros(env.num_envs, dtype=bool)
        self._starts = np.ones(env.num_envs, dtype=bool)

    @property
    def bonus(self) -> Bonus:
        """The bonus, with all that it has learned."""
        return self._steps.bonus

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observations, info = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._last = copy_batch(observations)
        self._ended[:] = False
        self._starts[:] = True
        return observations, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        if self._last is None:
            raise BadInput("call reset before the first step")
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        same_step = self._mode == AutoresetMode.SAME_STEP
        active = np.ones_like(self._ended) if same_step else ~self._ended
        # Where the environment resets at once, the observation that was reached is in the info.
        reached = _with_final(observations, info) if same_step else observations
        intrinsic = self._steps.pay(self._last, reached, terminated, self._starts, active)
        extrinsic = np.asarray(rewards, dtype=np.float64)
        self._last = copy_batch(observations)
        self._ended = np.asarray(terminated | truncated, dtype=bool)
        # A step is the first of an episode where the one before it ended one, or only reset.
        self._starts = self._ended if same_step else ~active
        present = np.ones(len(extrinsic), dtype=bool)
        more = {
            "extrinsic_reward": extrinsic,
            "intrinsic_reward": intrinsic,
            "_extrinsic_reward": present,
            "_intrinsic_reward": present,
        }
        return observations, extrinsic + intrinsic, terminated, truncated, {**info, **more}


def _with_final(observations: Any, info: dict[str, Any]) -> Any:
    """What was reached, the last observations of episodes included."""
    final, present = info.get("final_obs"), info.get("_final_obs")
    if final is None or present is None:
        return observations
    rows = np.flatnonzero(present)
    return replace_rows(observations, rows, [_row(final, int(row)) for row in rows])


def _row(batch: Any, row: int) -> Any:
    if isinstance(batch, dict):
        return {key: _row(value, row) for key, value in batch.items() if not key.startswith("_")}
    return batch[row]
