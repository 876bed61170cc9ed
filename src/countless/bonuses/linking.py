"""Transitions out of consecutive observations, for bonuses that learn from transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.base import Step
from countless.bonuses.protocol import State, Transitions, as_transitions
from countless.core.arrays import check_flags
from countless.core.errors import BadInput
from countless.core.observations import ObservationReader

UNSHAPED: dict[str, None] = {"last": None, "known": None}  # of a stream: any number of rows


class Stream:
    """Remembers the last observation of each parallel environment.

    >>> stream = Stream("bonus")
    >>> stream.link(np.array([3, 5]), Step(None))
    >>> before, after, dones = stream.link(np.array([4, 6]), Step(None, starts=[False, True]))
    >>> before.tolist(), after.tolist(), dones.tolist()
    ([3], [4], [False])
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: NDArray[Any] = np.zeros(0)
        self._known = np.zeros(0, dtype=bool)  # whose last observation there is

    def link(
        self, observations: NDArray[Any], step: Step
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]] | None:
        """(before, after, dones) of what the step completes; None where it completes nothing.

        These are the transitions of rows that continue an earlier call, and then the terminal
        observations of the step: nothing comes after them, so they stand there themselves.
        """
        rows = np.arange(len(observations)) if step.rows is None else step.rows
        count = len(observations) if step.rows is None else step.total
        starts = check_flags(self._name, step.starts, len(rows))
        # Where all environments begin an episode there is nothing to link: they may be others.
        anew = count != len(self._known) and len(rows) == count and starts.all()
        if anew or not len(self._known):
            self._last = np.zeros((count, *observations.shape[1:]), observations.dtype)
            self._known = np.zeros(count, dtype=bool)
        if (count, *observations.shape[1:]) != self._last.shape:
            raise BadInput(
                f"{self._name}: {count} environments, but {len(self._last)} in the last call; "
                "give next_observations, or the same environments in each call"
            )
        continues = self._known[rows] & ~starts
        # These are terminal themselves or, in complete transitions, left for what is terminal.
        ends = check_flags(self._name, step.dones, len(rows))
        before = np.concatenate([self._last[rows][continues], observations[ends]])
        after = np.concatenate([observations[continues], observations[ends]])
        self._last[rows] = observations
        self._known[:] = False  # an environment that only resets goes on with another episode
        self._known[rows] = ~ends
        return (before, after, np.arange(len(before)) >= continues.sum()) if len(before) else None

    def state(self) -> State:
        """The remembered observations; empty arrays where there are none."""
        return {"last": self._last.copy(), "known": self._known.copy()}

    def load(self, state: Mapping[str, Any], dtype: Any = None) -> None:
        self._last = np.array(state["last"], dtype=dtype)
        self._known = np.array(state["known"], dtype=bool)


StateTransitions = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]


class StateStream:
    """Transitions between state indices: given complete, or linked from consecutive calls."""

    def __init__(self, name: str, reader: ObservationReader) -> None:
        self._name, self._reader = name, reader
        self._stream = Stream(name)

    def of_batch(self, batch: Any) -> StateTransitions:
        """(states, next states, dones) of a batch of complete transitions."""
        given = as_transitions(batch)
        if given.next_observations is None:
            raise needs_next(self._name)
        states = self._reader.read(self._name, given.observations)
        after = self._reader.read(self._name, given.next_observations)
        if len(after) != len(states):
            raise BadInput(
                f"{self._name}: {len(after)} next observations for {len(states)} observations"
            )
        return states, after, check_flags(self._name, given.dones, len(states))

    def of_step(self, step: Step) -> StateTransitions:
        """The transitions that one step of an agent's loop completes; there may be none."""
        if step.next_observations is not None:
            return self.of_batch(
                Transitions(step.observations, step.next_observations, dones=step.dones)
            )
        states = self._reader.read(self._name, step.observations)
        return self._stream.link(states, step) or (states[:0], states[:0], np.zeros(0, dtype=bool))

    def state(self) -> State:
        return self._stream.state()

    def load(self, state: Mapping[str, Any]) -> None:
        self._stream.load(state, np.int64)


def needs_next(name: str) -> BadInput:
    """The error for a batch without next observations."""
    return BadInput(f"{name} learns from transitions: the batch needs next_observations")
