"""Transitions out of consecutive observations, for bonuses that learn from transitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.arrays import check_flags, check_states
from countless.bonuses.protocol import Batch, as_batch
from countless.core.errors import BadInput


class Stream:
    """Remembers the last observation of each parallel environment.

    >>> stream = Stream("bonus")
    >>> stream.link(np.array([3, 5]), None)
    >>> before, after = stream.link(np.array([4, 6]), [False, True])
    >>> before.tolist(), after.tolist()
    ([3], [4])
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: NDArray[Any] | None = None

    def link(
        self, observations: NDArray[Any], starts: Any
    ) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """(before, after) of the rows that go on from the last call; None where none does."""
        last, self._last = self._last, observations.copy()
        if last is None:
            return None
        if last.shape != observations.shape:
            raise BadInput(
                f"{self._name}: {len(observations)} environments, but {len(last)} in the last call; "
                "give next_observations, or the same environments in each call"
            )
        goes_on = ~check_flags(self._name, starts, len(observations))
        return (last[goes_on], observations[goes_on]) if goes_on.any() else None

    def state(self) -> NDArray[Any]:
        """The remembered observations; of length 0 where there are none."""
        return np.zeros(0) if self._last is None else self._last.copy()

    def load(self, state: NDArray[Any]) -> None:
        self._last = np.array(state) if len(state) else None


Transitions = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]


class StateStream:
    """Transitions between state indices, given whole or linked from consecutive calls."""

    def __init__(self, name: str, n_states: int) -> None:
        self._name, self._n_states = name, n_states
        self._stream = Stream(name)

    def of_batch(self, batch: Any) -> Transitions:
        """(states, next states, dones) of a batch of whole transitions."""
        given = as_batch(batch)
        if given.next_observations is None:
            raise BadInput(
                f"{self._name} learns from transitions: the batch needs next_observations"
            )
        states = check_states(self._name, given.observations, self._n_states)
        after = check_states(self._name, given.next_observations, self._n_states)
        if len(after) != len(states):
            raise BadInput(
                f"{self._name}: {len(after)} next observations for {len(states)} observations"
            )
        return states, after, check_flags(self._name, given.dones, len(states))

    def of_step(
        self, observations: Any, next_observations: Any, dones: Any, starts: Any
    ) -> Transitions:
        """The transitions that one step of an agent's loop completes; there may be none."""
        if next_observations is not None:
            return self.of_batch(Batch(observations, next_observations, dones=dones))
        states = check_states(self._name, observations, self._n_states)
        before, after = self._stream.link(states, starts) or (states[:0], states[:0])
        return before, after, np.zeros(len(before), dtype=bool)

    def state(self) -> NDArray[Any]:
        return self._stream.state()

    def load(self, state: Any) -> None:
        self._stream.load(np.asarray(state, dtype=np.int64))
