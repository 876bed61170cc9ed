"""Experience as plain lists of what a game showed: no ring, no flags, nothing shared.

`episode_transitions` stacks frames of one episode only. `released_transitions` follows the
released code: one endless row of frames, the frame of a reset never in it; in a window of it all
frames before one that ended an episode are dark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Told:
    """One transition."""

    slot: int  # its place among all frames ever remembered
    stack: np.ndarray[Any, Any]
    following: np.ndarray[Any, Any]
    action: int
    reward: float
    ended: bool
    after: float  # the discounted sum of clipped rewards from here to the episode's end


@dataclass
class Script:
    """A game of given episodes that writes down what it does; frames count up from 1."""

    lengths: list[int]
    rewards: list[float]
    cut: list[bool]  # whether the episode is cut and not ended
    n_actions: int = 3
    frame_shape: tuple[int, ...] = (2,)
    dtype: Any = np.uint8
    pixels: bool = True
    episodes: list[dict[str, list[Any]]] = field(default_factory=list)
    shown: int = 0

    def _frame(self):
        self.shown += 1
        return np.array([self.shown % 251, self.shown // 251], np.uint8)

    def reset(self):
        frame = self._frame()
        self.episodes.append({"frames": [frame], "actions": [], "rewards": [], "over": []})
        return frame

    def step(self, action):
        from countless.envs.frame_env import Step

        episode = self.episodes[-1]
        number = len(self.episodes) - 1
        frame = self._frame()
        over = len(episode["actions"]) + 1 >= self.lengths[number % len(self.lengths)]
        reward = self.rewards[self.shown % len(self.rewards)]
        for name, value in (
            ("frames", frame), ("actions", action), ("rewards", reward), ("over", over),
        ):  # fmt: skip
            episode[name].append(value)
        cut = self.cut[number % len(self.cut)]
        return Step(frame, reward, over and not cut, over and cut, 1)

    def place(self):
        return None


def clip(reward: float) -> float:
    return max(-1.0, min(1.0, reward))


def _returns(rewards: list[float], gamma: float) -> list[float]:
    return [
        sum(gamma ** (k - t) * clip(rewards[k]) for k in range(t, len(rewards)))
        for t in range(len(rewards))
    ]


def _stack(frames: list[Any], last: int, history: int) -> np.ndarray[Any, Any]:
    dark = np.zeros_like(frames[0])
    return np.stack([frames[i] if i >= 0 else dark for i in range(last - history + 1, last + 1)])


def episode_transitions(game: Script, history: int, gamma: float) -> list[Told]:
    """Those of finished episodes, oldest first."""
    told, slot = [], 0
    for episode in game.episodes:
        frames, over = episode["frames"], episode["over"]
        if over and over[-1]:
            for t, after in enumerate(_returns(episode["rewards"], gamma)):
                told.append(
                    Told(
                        slot + t,
                        _stack(frames, t, history),
                        _stack(frames, t + 1, history),
                        episode["actions"][t],
                        episode["rewards"][t],
                        over[t],
                        after,
                    )
                )
        slot += len(frames)
    return told


def released_transitions(game: Script, history: int, gamma: float) -> list[Told]:
    """Those of finished episodes whose next frame can be looked up, oldest first."""
    row = [np.zeros(game.frame_shape, np.uint8)]  # nothing was seen before the first action
    ends = {0}
    for episode in game.episodes:
        for frame, over in zip(episode["frames"][1:], episode["over"], strict=True):
            row.append(frame)
            if over:
                ends.add(len(row) - 1)

    def window(last: int) -> np.ndarray[Any, Any]:
        stack = _stack(row, last, history)
        for i in range(history):
            place = last - history + 1 + i
            if any(other in ends for other in range(place + 1, last + 1)):
                stack[i] = 0
        return stack

    told, slot = [], 0
    for episode in game.episodes:
        over = episode["over"]
        if over and over[-1]:
            for t, after in enumerate(_returns(episode["rewards"], gamma)):
                told.append(
                    Told(
                        slot + t,
                        window(slot + t),
                        window(slot + t + 1),
                        episode["actions"][t],
                        episode["rewards"][t],
                        over[t],
                        after,
                    )
                )
        slot += len(over)
    # The row's newest frame is not yet remembered: it goes in with the action taken there.
    return [one for one in told if one.slot + 1 < slot]
