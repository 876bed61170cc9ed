"""The call that an agent's loop makes once per step, the same for all built-in bonuses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.batches import count_rows, take_rows
from countless.bonuses.resets import ResetWatch
from countless.core.arrays import check_flags, is_tensor, to_numpy
from countless.core.errors import BadInput


class Step(NamedTuple):
    """What a loop saw at one step, one row per environment that took a step.

    `rows` has the numbers of these environments among `total`; None stands for all of them.
    """

    observations: Any
    features: Any = None
    next_observations: Any = None
    dones: Any = None
    starts: Any = None
    rows: NDArray[np.int64] | None = None
    total: int = 0


class ObservingBonus(ABC):
    """Leaves out environments that only reset, and gives `_observe` the step of all others."""

    reads_features = False  # of an agent, beside or in place of observations

    @cached_property
    def _resets(self) -> ResetWatch:
        return ResetWatch()

    def observe(
        self,
        observations: Any,
        features: Any = None,
        *,
        next_observations: Any = None,
        dones: Any = None,
        starts: Any = None,
        active: Any = None,
        truncations: Any = None,
    ) -> Any:
        if features is not None and not self.reads_features:
            raise BadInput(
                "observe: this bonus reads no features; the observations that came next are "
                "next_observations="
            )
        mask = None if active is None else check_active(active, observations)
        count = count_rows(observations)
        dones, starts, truncations = (
            _one_each(dones, count), _one_each(starts, count), _one_each(truncations, count)
        )  # fmt: skip
        if starts is None:
            self._resets.look(observations, next_observations, (dones, truncations), mask)
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


def _one_each(flags: Any, count: int) -> Any:
    """Flags (B,), arrays or tensors as they are; None stays."""
    if flags is None or getattr(flags, "shape", None) == (count,):
        return flags
    return check_flags("observe", flags, count)


def check_active(active: Any, observations: Any) -> NDArray[np.bool_]:
    """The mask (B,) of environments that took a step, or a `BadInput` if B is not their number."""
    mask: NDArray[np.bool_] = to_numpy(active).astype(bool).reshape(-1)
    count = count_rows(observations)
    if len(mask) != count:
        raise BadInput(
            f"active must have one flag per environment: {len(mask)} flags for {count} observations"
        )
    return mask
