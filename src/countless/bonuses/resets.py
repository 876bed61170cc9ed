"""Notices a loop that takes the resets of its environments for steps.

Gymnasium's vector environments by default use the step after the end of an episode to reset. A loop
that does not leave these steps out (`active`) teaches a bonus that an episode's last observation leads
to the first one of the next.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.batches import count_rows, same_rows, take_rows
from countless.core.arrays import to_numpy

MESSAGE = (
    "an observation after which nothing follows was left again: that step only reset its environment, "
    "and was learned as a transition. Leave such steps out: "
    "bonus.observe(..., active=~(terminations | truncations) of the step before), or, where "
    "environments reset in the same step, give infos['final_obs'] as the next observations; see "
    "docs/adapters.md"
)


class ResetWatch:
    """Looks whether the observations that ended an episode are left in the next call; warns once."""

    def __init__(self) -> None:
        # Of the last call: how many rows it had, which of them ended, and what these saw.
        self._ended: tuple[int, NDArray[np.int64], Any] | None = None
        self._warned = False

    def look(
        self,
        observations: Any,
        next_observations: Any,
        ends: tuple[Any, Any],
        mask: NDArray[np.bool_] | None,
    ) -> None:
        """At one call of `observe` whose loop does not mark starts of episodes by itself.

        `ends` marks the rows that terminated and those that were cut off; either may be None.
        """
        if self._warned:
            return
        ended, self._ended = self._ended, None
        count = count_rows(observations)
        if ended is not None and ended[0] == count:  # else they are other environments
            _, rows, seen = ended
            kept = np.ones(len(rows), dtype=bool) if mask is None else mask[rows]
            self._warned = bool(kept.any()) and same_rows(
                take_rows(observations, rows[kept]), take_rows(seen, np.flatnonzero(kept))
            )
            if self._warned:
                warnings.warn(MESSAGE, stacklevel=4)
                return
        if next_observations is not None:
            given = [
                to_numpy(flags).astype(bool).reshape(-1) for flags in ends if flags is not None
            ]
            rows = np.flatnonzero(np.logical_or.reduce(given)) if given else np.zeros(0, np.int64)
            if len(rows):
                self._ended = count, rows, take_rows(next_observations, rows)
