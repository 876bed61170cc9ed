"""When a task counts as solved, so that a run can end there.

Like the frames of a run, this says how far it goes and decides none of its bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Returns = Sequence[float] | NDArray[np.float64]
Flags = NDArray[np.bool_]


def first(held: Flags) -> int | None:
    """The first episode, counted from 1, at whose end something holds; None if it never does."""
    return int(held.argmax()) + 1 if held.any() else None


@dataclass(frozen=True)
class Solved:
    """Stable success: `share` of `window` episodes in a row, and more than `overall` of all.

    Attributes:
        least: the return of an episode that succeeds, at least.
        share: of the last `window` episodes that must succeed.
        window: episodes.
        overall: of all episodes so far, more than this share must have succeeded too; bsuite calls
            DeepSea solved from 0.1 on.

    >>> Solved(least=1.0, share=0.5, window=2).episode([0.0, 0.0, 1.0, 1.0])
    3
    """

    least: float = 0.5
    share: float = 0.9
    window: int = 100
    overall: float = 0.1

    def episode(self, returns: Returns) -> int | None:
        """The episode, counted from 1, at whose end it is solved; None if it is not."""
        return first(self.stable(returns) & self.enough(returns))

    def stable(self, returns: Returns) -> Flags:
        """At the end of which episodes `share` of the last `window` have succeeded."""
        wins = np.concatenate(([0], np.cumsum(np.asarray(returns) >= self.least)))
        held = np.zeros(len(returns), np.bool_)
        recent = wins[self.window :] - wins[: -self.window]
        held[self.window - 1 :] = recent >= self.share * self.window
        return held

    def enough(self, returns: Returns) -> Flags:
        """At the end of which episodes more than `overall` of all so far have succeeded."""
        wins = np.cumsum(np.asarray(returns) >= self.least)
        held: Flags = wins > self.overall * np.arange(1, len(returns) + 1)
        return held

    def describe(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def read_solved(described: Mapping[str, Any] | None) -> Solved | None:
    """A criterion from what `describe` made of it."""
    return None if described is None else Solved(**described)


class SolvedWatch:
    """Asks a criterion, if there is one, as the episodes of a run end."""

    def __init__(self, criterion: Solved | None, returns: Returns) -> None:
        self._criterion = criterion
        self.solved = criterion is not None and criterion.episode(returns) is not None
        self._wins = [] if criterion is None else [value >= criterion.least for value in returns]
        self._won = sum(self._wins)

    def add(self, value: float) -> None:
        """An episode ended with this return."""
        rule = self._criterion
        if rule is None:
            return
        won = value >= rule.least
        self._wins.append(won)
        self._won += won
        recent = self._wins[-rule.window :]
        stable = len(recent) == rule.window and sum(recent) >= rule.share * rule.window
        self.solved |= stable and self._won > rule.overall * len(self._wins)
