"""The call that an agent's loop makes once per step, the same for all built-in bonuses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.core.arrays import is_tensor, to_numpy
from countless.core.errors import BadInput


@dataclass(frozen=True)
class Step:
    """What a loop saw at one step, one row per environment that took a step.

    `rows` has the numbers of these environments among `count`; None stands for all of them.
    """

    observations: Any
    features: Any = None
    next_observations: Any = None
    dones: Any = None
    starts: Any = None
    rows: NDArray[np.int64] | None = None
    count: int = 0


class ObservingBonus(ABC):
    """Leaves out environments that only reset, and gives `_observe` the step of all others."""

    def observe(
        self,
        observations: Any,
        features: Any = None,
        *,
        next_observations: Any = None,
        dones: Any = None,
        starts: Any = None,
        active: Any = None,
    ) -> Any:
        mask = None if active is None else check_active(active, observations)
        if mask is None or mask.all():
            return self._observe(Step(observations, features, next_observations, dones, starts))
        rows = np.flatnonzero(mask)
        paid = self._observe(
            Step(
                take_rows(observations, rows),
                take_rows(features, rows),
                take_rows(next_observations, rows),
                take_rows(dones, rows),
                take_rows(starts, rows),
                rows,
                len(mask),
            )
        )
        if is_tensor(paid):
            spread = paid.new_zeros(len(mask))
            spread[rows] = paid
            return spread
        values = np.zeros(len(mask))
        values[rows] = paid
        return values

    @abstractmethod
    def _observe(self, step: Step) -> Any:
        """Learn from the step, and give the bonus of its rows."""


def check_active(active: Any, observations: Any) -> NDArray[np.bool_]:
    """The mask (B,) of environments that took a step, or a `BadInput` if B is not their number."""
    mask: NDArray[np.bool_] = to_numpy(active).astype(bool).reshape(-1)
    count = count_rows(observations)
    if len(mask) != count:
        raise BadInput(
            f"active must have one flag per environment: {len(mask)} flags for {count} observations"
        )
    return mask


def count_rows(batch: Any) -> int:
    """How many observations a batch holds, whatever its structure.

    >>> count_rows({"cell": [3, 4, 5]})
    3
    """
    if isinstance(batch, Mapping):
        return count_rows(next(iter(batch.values())))
    if _has_parts(batch):
        return count_rows(batch[0])
    return len(batch)


def take_rows(batch: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a batch of observations, whatever its structure.

    >>> take_rows({"cell": [3, 4, 5]}, np.array([0, 2]))["cell"].tolist()
    [3, 5]
    """
    if batch is None:
        return None
    if isinstance(batch, Mapping):
        return {key: take_rows(value, rows) for key, value in batch.items()}
    if _has_parts(batch):
        return tuple(take_rows(part, rows) for part in batch)
    return batch[rows] if is_tensor(batch) else np.asarray(batch)[rows]


def _has_parts(batch: Any) -> bool:
    """Whether a tuple holds batches of parts, and not the observations themselves."""
    return isinstance(batch, tuple) and any(np.ndim(part) > 0 for part in batch)
