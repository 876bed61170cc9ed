"""From an environment's observations to the frames that a network takes.

`countless.core.observations` says which observations are states, vectors or images. As a frame,

states    are one bright place: a cell of the MDP's grid, else an entry of a vector
images    are their newest frame, 84 x 84 if large
vectors   stay as they are; bytes count as levels of 255
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from countless.core.errors import BadInput
from countless.core.observations import ObservationReader, as_reader
from countless.envs.mdp_env import MDPEnv

LARGE = 48  # images with longer sides are shrunk to 84 x 84


@dataclass(frozen=True)
class FrameReader:
    """A function from observations to frames, and what these are.

    With `pixels`, frames hold levels of 0 to 255.
    """

    read: Callable[[Any], NDArray[Any]]
    shape: tuple[int, ...]
    dtype: Any
    pixels: bool


def frame_reader(env: gymnasium.Env[Any, Any]) -> FrameReader:
    """How the observations of `env` become frames."""
    if isinstance(env.unwrapped, MDPEnv):
        return _cells(env.unwrapped)
    name = env_name(env)
    try:
        reader = as_reader(env.observation_space)
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from None
    if reader.n_states is not None:
        return _one_hot(name, reader, reader.n_states)
    if reader.kind == "image":
        return _image(name, reader)
    levels = isinstance(env.observation_space, spaces.Box) and (
        env.observation_space.dtype == np.uint8
    )
    dtype = np.uint8 if levels else np.float32
    return FrameReader(
        lambda seen: reader.read_one(name, seen).astype(dtype), reader.shape, dtype, levels
    )


def env_name(env: gymnasium.Env[Any, Any]) -> str:
    """What an environment is called in messages."""
    return env.spec.id if env.spec else type(env).__name__


def _cells(env: MDPEnv) -> FrameReader:
    """A state outside of the grid, such as the end of an episode, is a dark image."""
    n = env.mdp.n_states
    cells = np.arange(n) if env.mdp.layout is None else env.mdp.layout
    lit = np.zeros((n, *cells.shape), np.uint8)
    for s in range(n):
        lit[s][cells == s] = 255
    return FrameReader(lambda seen: lit[int(seen)], cells.shape, np.uint8, True)


def _one_hot(name: str, reader: ObservationReader, n_states: int) -> FrameReader:
    rows = np.eye(n_states, dtype=np.uint8) * np.uint8(255)
    return FrameReader(lambda seen: rows[reader.read_one(name, seen)], (n_states,), np.uint8, True)


def _image(name: str, reader: ObservationReader) -> FrameReader:
    sides = reader.shape[-2:]
    large = min(sides) > LARGE

    def read(seen: Any) -> NDArray[np.uint8]:
        image = reader.read_one(name, seen)
        frame = image[-1] if image.ndim == 3 else image
        if large:
            from countless.envs.atari import shrink

            return shrink(np.ascontiguousarray(frame))
        return frame

    return FrameReader(read, (84, 84) if large else sides, np.uint8, True)
