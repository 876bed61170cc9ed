"""MiniGrid's two views: the codes of the cells before the agent, or a picture of them."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium import spaces

VIEWS = SYMBOLS, PICTURES = ("symbols", "pictures")
TILE = 8  # pixels of a cell's side: 7 x 7 cells are a picture of 56 x 56


def is_minigrid(env: gymnasium.Env[Any, Any]) -> bool:
    """Whether it shows cells as MiniGrid does, beside a mission in words."""
    space = env.observation_space
    return isinstance(space, spaces.Dict) and {"image", "mission"} <= set(space.spaces)


def as_pictures(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """The same environment, showing the cells before the agent in colour."""
    from minigrid.wrappers import ImgObsWrapper, RGBImgPartialObsWrapper

    pictures = RGBImgPartialObsWrapper(env, tile_size=TILE)  # type: ignore[no-untyped-call]
    return ImgObsWrapper(pictures)  # type: ignore[no-untyped-call]
