"""From an environment's observations to frames that a network can take, whatever its space is.

states              one place of 255: a cell of the MDP's grid, else of a vector
images              grey levels, 84 x 84 if large; of floats, those within [0, 1] or [0, 255]
vectors             as they are; bytes as levels of 255
several parts       the one large image among them, else a vector of all of them but texts
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from countless.core.errors import BadInput
from countless.envs.gym_env import MDPEnv

LARGE = 48  # images above this side are shrunk to 84 x 84
FEWEST = 7  # a matrix of floats with a smaller side is no image
_LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)


@dataclass(frozen=True)
class Viewer:
    """A function from observations to frames; the frames' shape and type; whether levels of 255."""

    look: Callable[[Any], NDArray[Any]]
    shape: tuple[int, ...]
    dtype: Any
    pixels: bool


def make_viewer(env: gymnasium.Env[Any, Any]) -> Viewer:
    """How the observations of `env` become frames."""
    if isinstance(env.unwrapped, MDPEnv):
        return _cells(env.unwrapped)
    space = env.observation_space
    viewer = _of_parts(space) if isinstance(space, spaces.Dict | spaces.Tuple) else _of(space)
    if viewer is None:
        raise BadInput(
            f"{env_name(env)}: observations must be images, vectors or states, not {space}"
        )
    return viewer


def env_name(env: gymnasium.Env[Any, Any]) -> str:
    """What an environment is called in messages."""
    return env.spec.id if env.spec else type(env).__name__


def _of(space: spaces.Space[Any]) -> Viewer | None:
    """One space, if it is of a kind that can be seen."""
    if isinstance(space, spaces.Discrete):
        return _states(space)
    if isinstance(space, spaces.Box):
        return _image(space) or _vector(space)
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return _flat(space)
    return None


def _of_parts(space: spaces.Dict | spaces.Tuple[Any]) -> Viewer | None:
    """The one large image among the parts, or all that are numbers, as a vector."""
    named = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
    parts = {key: part for key, part in named if _of(part) is not None}
    pictures = {key: view for key, part in parts.items() if (view := _image(part))}
    large = [(key, view) for key, view in pictures.items() if view.shape == (84, 84)]
    if len(large) == 1:
        key, picture = large[0]
        return Viewer(lambda seen: picture.look(seen[key]), picture.shape, np.uint8, True)
    views = {key: _flat(part) for key, part in parts.items()}
    if not views:
        return None
    return Viewer(
        lambda seen: np.concatenate([view.look(seen[key]) for key, view in views.items()]),
        (sum(view.shape[0] for view in views.values()),),
        np.float32,
        False,
    )


def _cells(env: MDPEnv) -> Viewer:
    """A state outside of the grid, such as the end of an episode, is a dark image."""
    n = env.mdp.n_states
    cells = np.arange(n) if env.mdp.layout is None else env.mdp.layout
    lit = np.zeros((n, *cells.shape), np.uint8)
    for s in range(n):
        lit[s][cells == s] = 255
    return Viewer(lambda seen: lit[int(seen)], cells.shape, np.uint8, True)


def _states(space: spaces.Discrete) -> Viewer:
    eye = np.eye(int(space.n), dtype=np.uint8) * np.uint8(255)
    start = int(space.start)
    return Viewer(lambda seen: eye[int(seen) - start], eye.shape[1:], np.uint8, True)


def _flat(space: spaces.Space[Any]) -> Viewer:
    size = prod(spaces.flatten_space(space).shape or ())
    return Viewer(
        lambda seen: np.asarray(spaces.flatten(space, seen), np.float32), (size,), np.float32, False
    )


def _vector(space: spaces.Box) -> Viewer:
    size = prod(space.shape)
    dtype = np.uint8 if space.dtype == np.uint8 else np.float32
    return Viewer(
        lambda seen: np.asarray(seen, dtype).reshape(size), (size,), dtype, dtype == np.uint8
    )


def _image(space: spaces.Space[Any]) -> Viewer | None:
    """Grey levels, where the space is one of images."""
    if not isinstance(space, spaces.Box) or len(space.shape) not in (2, 3):
        return None
    first = len(space.shape) == 3 and space.shape[0] in (1, 3, 4) and space.shape[2] > 4
    sides = space.shape[1:] if first else space.shape[:2]  # channels come first, or last
    scale = _scale(space, prod(space.shape) // prod(sides), sides)
    if scale is None or min(sides) < 2:
        return None
    large = min(sides) > LARGE

    def look(seen: Any) -> NDArray[np.uint8]:
        levels = np.asarray(seen)
        if scale != 1.0 or levels.dtype != np.uint8:
            levels = (levels * np.float32(scale)).round().clip(0, 255).astype(np.uint8)
        return _grey(np.moveaxis(levels, 0, -1) if first else levels, large)

    return Viewer(look, (84, 84) if large else sides, np.uint8, True)


def _scale(space: spaces.Box, channels: int, sides: tuple[int, ...]) -> float | None:
    """What turns the numbers of an image into levels of 255; None where they are no image's."""
    if space.dtype == np.uint8:
        return 1.0
    if not np.issubdtype(space.dtype, np.floating) or channels not in (1, 3) or min(sides) < FEWEST:
        return None
    if (space.low < 0).any():
        return None
    return {1.0: 255.0, 255.0: 1.0}.get(float(space.high.max()))


def _grey(image: NDArray[Any], large: bool) -> NDArray[np.uint8]:
    if image.ndim == 3:
        image = image @ _LUMINANCE if image.shape[2] == 3 else image.mean(axis=2)
        image = image.round().astype(np.uint8)
    if large:
        from countless.envs.atari import shrink

        return shrink(image)
    return image
