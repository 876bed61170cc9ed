"""Exact visit counts as a bonus, beta / sqrt(n): the control with which the others are compared."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.base import ObservingBonus, Step
from countless.bonuses.protocol import Bonus, State, as_transitions, check_state
from countless.bonuses.registry import BonusKind
from countless.core.arrays import like
from countless.core.errors import BadInput
from countless.core.observations import ObservationReader
from countless.core.parameters import real, validate

DIGEST = 16


@dataclass(frozen=True)
class CountsParameters:
    """beta / sqrt(n), n the visits of the observation up to and including this one."""

    beta: float = real(1.0, "scale of the bonus", "[0, inf)")

    def __post_init__(self) -> None:
        validate(self)


class Counts(ObservingBonus):
    """Counts observations by a digest of their values, or by a key of the user's.

    `compute` gives what `observe` would: the visit that is asked about is counted in. Two
    observations in one batch are two visits, in the order of the batch.
    """

    def __init__(
        self,
        observations: ObservationReader,
        parameters: CountsParameters,
        key: Callable[[Any], Any] | None = None,
    ) -> None:
        self.parameters = parameters
        self._reader = observations
        self._key = key
        self._visits: dict[bytes, int] = {}
        # What is counted: a number of states, or a shape.
        self._of = np.array(observations.n_states or observations.shape, dtype=np.int64)

    def counts(self, observations: Any) -> NDArray[np.int64]:
        """How often each observation was seen so far."""
        return np.array([self._visits.get(key, 0) for key in self._keys(observations)], np.int64)

    def compute(self, observations: Any, features: Any = None) -> Any:
        return like(self._bonus(self.counts(observations) + 1), observations)

    def update(self, batch: Any) -> dict[str, float]:
        self._count(as_transitions(batch).observations)
        return {"distinct": float(len(self._visits))}

    def _observe(self, step: Step) -> Any:
        return like(self._bonus(self._count(step.observations)), step.observations)

    def state_dict(self) -> State:
        keys = np.frombuffer(b"".join(self._visits), dtype=np.uint8)
        return {
            "digests": keys.reshape(-1, DIGEST).copy(),
            "visits": np.array(list(self._visits.values()), dtype=np.int64),
            "of": self._of.copy(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        of = np.asarray(state.get("of", self._of))  # older states do not say
        check_state("counts", {**state, "of": of}, {"of": None, "digests": None, "visits": None})
        if not np.array_equal(of, self._of):
            raise BadInput(f"counts: this state counts {_name(of)}, this bonus {_name(self._of)}")
        keys, visits = np.asarray(state["digests"], np.uint8), np.asarray(state["visits"], np.int64)
        if keys.shape != (len(visits), DIGEST):
            raise BadInput(f"counts: {keys.shape} bytes of keys for {len(visits)} counts")
        self._visits = {bytes(key): int(n) for key, n in zip(keys, visits, strict=True)}

    def _bonus(self, visits: Iterable[int]) -> NDArray[np.float64]:
        return np.array([self.parameters.beta / math.sqrt(n) for n in visits], dtype=np.float64)

    def _count(self, observations: Any) -> list[int]:
        known, visits = self._visits, []
        for key in self._keys(observations):
            known[key] = count = known.get(key, 0) + 1
            visits.append(count)
        return visits

    def _keys(self, observations: Any) -> list[bytes]:
        values = self._reader.read("counts", observations)
        if self._key is not None:
            rows = [_key_bytes(self._key(row)) for row in values]
        else:
            rows = _bytes_of(values)
        return [hashlib.blake2b(row, digest_size=DIGEST).digest() for row in rows]


def _name(of: NDArray[np.int64]) -> str:
    return f"observations of shape {tuple(of.tolist())}" if of.ndim else f"{of} states"


def _bytes_of(values: NDArray[Any]) -> list[bytes]:
    """Equal observations as equal bytes, in whichever type of number they came."""
    if values.ndim < 3:
        doubles = np.add(values, 0.0, dtype=np.float64)  # -0.0 and 0.0 are one observation
        each, whole = doubles.itemsize * math.prod(doubles.shape[1:]), doubles.tobytes()
        return [whole[first : first + each] for first in range(0, len(whole), each)]
    if values.dtype == np.uint8:
        return [row.tobytes() for row in np.ascontiguousarray(values)]
    levels = values.astype(np.uint8)
    return [
        (level if np.array_equal(level, row) else row.astype(np.float64)).tobytes()
        for level, row in zip(levels, values, strict=True)
    ]


def _key_bytes(key: Any) -> bytes:
    if isinstance(key, bytes):
        return key
    return key.tobytes() if isinstance(key, np.ndarray) else repr(key).encode()


def _make(
    observations: ObservationReader,
    parameters: CountsParameters,
    *,
    seed: int,
    device: str,
    key: Callable[[Any], Any] | None = None,
) -> Bonus:
    return Counts(observations, parameters, key)


KIND = BonusKind(
    "counts", "exact visit counts, beta / sqrt(n): the control", CountsParameters, _make
)
