"""Any Gymnasium environment with discrete actions as a `FrameEnv`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from countless.core.errors import BadInput
from countless.core.seeding import derived_seed
from countless.envs.frame_env import Step
from countless.envs.frames import env_name, frame_reader
from countless.envs.places import Place


class GymnasiumFrameEnv:
    """A Gymnasium environment; each episode has a seed of its own, derived from its number.

    A state is saved as the actions of its episode so far, which lead there again.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], seed: int, max_steps: int | None = None):
        self._env, self._seed, self._max_steps = env, seed, max_steps
        if not isinstance(env.action_space, spaces.Discrete):
            raise BadInput(f"{env_name(env)}: actions must be discrete, not {env.action_space}")
        self.n_actions = int(env.action_space.n)
        self._first_action = int(env.action_space.start)
        frames = frame_reader(env)
        self._read, self.dtype, self.pixels = frames.read, frames.dtype, frames.pixels
        self.frame_shape = frames.shape
        self._episode = 0
        self._actions: list[int] = []

    def reset(self) -> NDArray[Any]:
        self._episode += 1
        return self._begin()

    def _begin(self) -> NDArray[Any]:
        self._actions = []
        seed = derived_seed(self._seed, f"episode {self._episode}") % 2**31
        return self._read(self._env.reset(seed=seed)[0])

    def step(self, action: int) -> Step:
        seen, reward, terminated, truncated, _ = self._env.step(action + self._first_action)
        self._actions.append(action)
        if self._max_steps is not None and len(self._actions) >= self._max_steps:
            truncated = not terminated
        return Step(self._read(seen), float(reward), bool(terminated), bool(truncated), 1)

    def place(self) -> Place | None:
        return None

    def screen(self) -> NDArray[Any]:
        try:
            shown = self._env.render()
        except gymnasium.error.Error as error:
            raise BadInput(f"{env_name(self._env)} cannot be drawn: {error}") from None
        if isinstance(shown, np.ndarray) and shown.ndim == 3:
            return shown
        raise BadInput(f"{env_name(self._env)} cannot be drawn")

    def get_state(self) -> dict[str, NDArray[Any]]:
        return {
            "episode": np.array(self._episode),
            "actions": np.array(self._actions, np.int64),
        }

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        self._episode = int(state["episode"])
        self._begin()
        for action in state["actions"]:
            self.step(int(action))
