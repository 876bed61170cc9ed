"""What bonuses over state indices that learn from transitions have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.base import ObservingBonus, Step
from countless.bonuses.linking import UNSHAPED, StateStream
from countless.bonuses.protocol import State, check_state
from countless.core.arrays import Floats, like
from countless.core.observations import ObservationReader

States = NDArray[np.int64]


class TabularBonus(ObservingBonus):
    """Learns from transitions between states one after the other, then looks up its bonus.

    With `next_observations`, `observe` learns first and then gives the bonus of the state that was
    left: the order of Sarsa+SR.
    """

    def __init__(self, name: str, reader: ObservationReader) -> None:
        assert reader.n_states is not None
        self.n_states = reader.n_states
        self._name, self._reader = name, reader
        self._stream = StateStream(name, reader)

    @abstractmethod
    def norms(self) -> Floats:
        """The norm of the representation of every state."""

    def compute(self, observations: Any, features: Any = None) -> Any:
        states = self._reader.read(self._name, observations)
        return like(self._bonus(states), observations)

    def update(self, batch: Any) -> dict[str, float]:
        states, after, dones = self._stream.of_batch(batch)
        self._learn(states, after, dones)
        return {"norm": float(self.norms()[states].mean())} if len(states) else {}

    def _observe(self, step: Step) -> Any:
        self._learn(*self._stream.of_step(step))
        return self.compute(step.observations)

    def state_dict(self) -> State:
        return {**self._arrays(), **self._stream.state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        check_state(self._name, state, self.state_dict() | UNSHAPED)
        self._load(state)
        self._stream.load(state)

    @abstractmethod
    def _bonus(self, states: States) -> Floats: ...

    @abstractmethod
    def _learn(self, states: States, after: States, dones: NDArray[np.bool_]) -> None: ...

    @abstractmethod
    def _arrays(self) -> dict[str, Floats]: ...

    @abstractmethod
    def _load(self, state: Mapping[str, Any]) -> None: ...
