"""What a deep agent acts in: frames out, actions in, and a state that can be saved and restored."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from countless.envs.places import Place


class Step(NamedTuple):
    """What follows an action."""

    frame: NDArray[Any]
    reward: float
    terminated: bool
    truncated: bool
    frames: int  # emulator frames it took


class FrameEnv(Protocol):
    """An environment with discrete actions whose observations are frames of one shape.

    `screen` is what a person would look at; `get_state` and `set_state` save and restore it.
    """

    n_actions: int
    frame_shape: tuple[int, ...]
    dtype: Any
    pixels: bool  # frames are grey levels 0 to 255

    def reset(self) -> NDArray[Any]: ...

    def step(self, action: int) -> Step: ...

    def screen(self) -> NDArray[Any]:
        """What a person would look at, (height, width, 3)."""
        ...

    def place(self) -> Place | None:
        """Where the player is, where that is known."""
        ...

    def get_state(self) -> dict[str, NDArray[Any]]: ...

    def set_state(self, state: dict[str, NDArray[Any]]) -> None: ...
