"""One environment as the agent meets it: its stack of frames, its episode so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.envs.frame_env import FrameEnv, Step


@dataclass
class Episode:
    """What is counted of an episode."""

    score: float = 0.0  # sum of the game's own rewards
    steps: int = 0
    frames: int = 0
    bonus: float = 0.0  # sum of what the bonus added to the rewards
    sr_norm: float = 0.0  # sum of ||psi||


class Actor:
    """Plays one game.

    With `across`, the released code's way: the stack runs on from one episode into the next, and
    the frame after a reset is never seen.
    """

    def __init__(self, game: FrameEnv, history: int, across: bool) -> None:
        self.game, self.across = game, across
        self.stack = np.zeros((history, *game.frame_shape), game.dtype)
        self.first = True  # the newest frame hides those before it
        self.episode = Episode()

    def begin(self) -> None:
        """Start an episode."""
        frame = self.game.reset()
        self.episode = Episode()
        if not self.across:
            self.stack[:] = 0
            self.stack[-1] = frame
            self.first = True

    def act(self, action: int) -> Step:
        """Take an action; the stack then ends with the new frame."""
        step = self.game.step(action)
        self.episode.score += step.reward
        self.episode.steps += 1
        self.episode.frames += step.frames
        self.stack[:-1] = self.stack[1:]
        self.stack[-1] = step.frame
        self.first = self.across and (step.terminated or step.truncated)
        return step

    def last_stack(self) -> NDArray[Any]:
        """The stack after an episode's last step, as the replay will show it."""
        if not self.across:
            return self.stack
        alone = np.zeros_like(self.stack)
        alone[-1] = self.stack[-1]
        return alone

    def get_state(self) -> dict[str, NDArray[Any]]:
        counted = self.episode
        return {
            "stack": self.stack.copy(),
            "first": np.array(self.first),
            "counted": np.array([counted.score, counted.bonus, counted.sr_norm]),
            "taken": np.array([counted.steps, counted.frames], np.int64),
        } | {f"game.{name}": value for name, value in self.game.get_state().items()}

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        self.stack[:] = state["stack"]
        self.first = bool(state["first"])
        score, bonus, sr_norm = (float(x) for x in state["counted"])
        steps, frames = (int(x) for x in state["taken"])
        self.episode = Episode(score, steps, frames, bonus, sr_norm)
        prefix = "game."
        self.game.set_state(
            {name.removeprefix(prefix): v for name, v in state.items() if name.startswith(prefix)}
        )
