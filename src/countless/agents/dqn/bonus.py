"""Bonuses of observations, evaluated together.

A bonus does not influence acting, and an open episode is never sampled. So the SR bonus of many
observations can be evaluated in one forward pass, as long as none waits past the end of its episode
or past a target copy: then each is what it would have been at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.dqn.replay import Replay


class WaitingRoom:
    """Observations that wait for their bonus, up to `size` of them."""

    def __init__(self, evaluate: Callable[[NDArray[Any]], NDArray[Any]], size: int) -> None:
        self._evaluate, self._size = evaluate, size
        self._stacks: list[NDArray[Any]] = []
        self._slots: list[tuple[int, int]] = []

    def add(self, lane: int, slot: int, stack: NDArray[Any]) -> None:
        self._stacks.append(stack.copy())
        self._slots.append((lane, slot))

    @property
    def full(self) -> bool:
        return len(self._slots) >= self._size

    def flush(self, replay: Replay) -> list[tuple[int, float]]:
        """Evaluate all that wait and write them to the replay; (lane, bonus) of each."""
        if not self._slots:
            return []
        values = self._evaluate(np.stack(self._stacks))
        given = []
        for (lane, slot), value in zip(self._slots, values, strict=True):
            replay.set_bonus(lane, slot, float(value))
            given.append((lane, float(value)))
        self._stacks, self._slots = [], []
        return given

    def get_state(self) -> dict[str, NDArray[Any]]:
        if not self._slots:
            return {}
        return {"stacks": np.stack(self._stacks), "slots": np.array(self._slots, np.int64)}

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        self._stacks = list(state["stacks"]) if state else []
        self._slots = [(int(lane), int(slot)) for lane, slot in state["slots"]] if state else []
