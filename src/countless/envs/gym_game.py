"""Any Gymnasium environment with discrete actions as a game: images, vectors, states of an MDP."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from countless.core.errors import BadInput
from countless.core.seeding import derived_seed
from countless.envs.game import Step
from countless.envs.gym_env import MDPEnv

LARGE = 48  # images above this side are shrunk to 84 x 84


class GymGame:
    """An environment behind Gymnasium, an episode's seed its number's.

    A state of an MDP is an image of its grid (or a vector), one cell lit; images are grey, large
    ones shrunk to 84 x 84; vectors stay. A state is kept as the actions of its episode, which
    lead there again.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], seed: int, max_steps: int | None = None):
        self._env, self._seed, self._max_steps = env, seed, max_steps
        if not isinstance(env.action_space, spaces.Discrete):
            raise BadInput(f"{_name(env)}: actions must be discrete, not {env.action_space}")
        self.n_actions = int(env.action_space.n)
        self._first_action = int(env.action_space.start)
        self._look, self.frame_shape, self.dtype, self.pixels = _viewer(env)
        self._episode = 0
        self._actions: list[int] = []

    def reset(self) -> NDArray[Any]:
        self._episode += 1
        return self._begin()

    def _begin(self) -> NDArray[Any]:
        self._actions = []
        seed = derived_seed(self._seed, f"episode {self._episode}") % 2**31
        frame: NDArray[Any] = self._look(self._env.reset(seed=seed)[0])
        return frame

    def step(self, action: int) -> Step:
        seen, reward, terminated, truncated, _ = self._env.step(action + self._first_action)
        self._actions.append(action)
        if self._max_steps is not None and len(self._actions) >= self._max_steps:
            truncated = not terminated
        return Step(self._look(seen), float(reward), bool(terminated), bool(truncated), 1)

    def screen(self) -> NDArray[Any]:
        try:
            shown = self._env.render()
        except gymnasium.error.Error as error:
            raise BadInput(f"{_name(self._env)} cannot be drawn: {error}") from None
        if isinstance(shown, np.ndarray) and shown.ndim == 3:
            return shown
        raise BadInput(f"{_name(self._env)} cannot be drawn")

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


def _name(env: gymnasium.Env[Any, Any]) -> str:
    return env.spec.id if env.spec else type(env).__name__


def _viewer(env: gymnasium.Env[Any, Any]) -> Any:
    """A function from observations to frames; the frames' shape and type; whether grey levels."""
    space = env.observation_space
    if isinstance(env.unwrapped, MDPEnv):
        cells = env.unwrapped.mdp.layout
        n = env.unwrapped.mdp.n_states
        if cells is None:
            cells = np.arange(n)
        # A state outside of the grid, such as the end of an episode, is a dark image.
        lit = np.zeros((n, *cells.shape), np.uint8)
        for s in range(n):
            lit[s][cells == s] = 255
        return (lambda seen: lit[int(seen)]), cells.shape, np.uint8, True
    if isinstance(space, spaces.Discrete):
        eye = np.eye(int(space.n), dtype=np.uint8) * np.uint8(255)
        start = int(space.start)
        return (lambda seen: eye[int(seen) - start]), eye.shape[1:], np.uint8, True
    if not isinstance(space, spaces.Box):
        raise BadInput(f"{_name(env)}: observations must be images, vectors or states, not {space}")
    first = len(space.shape) == 3 and space.shape[0] in (1, 3, 4) and space.shape[2] > 4
    sides = space.shape[1:] if first else space.shape[:2]  # channels come first, or last
    if space.dtype == np.uint8 and len(space.shape) in (2, 3) and min(sides) > 1:
        large = min(sides) > LARGE
        shape = (84, 84) if large else sides

        def look(seen: NDArray[Any]) -> NDArray[np.uint8]:
            return _grey(np.moveaxis(seen, 0, -1) if first else seen, large)

        return look, shape, np.uint8, True
    size = int(np.prod(space.shape))
    flat = lambda seen: np.asarray(seen, np.float32).reshape(size)  # noqa: E731
    return flat, (size,), np.float32, False


def _grey(image: NDArray[Any], large: bool) -> NDArray[np.uint8]:
    if image.ndim == 3:
        image = image @ _LUMINANCE if image.shape[2] == 3 else image.mean(axis=2)
        image = image.round().astype(np.uint8)
    if large:
        from countless.envs.atari import shrink

        return shrink(image)
    return image


_LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)
