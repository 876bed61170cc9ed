"""The first transitions that a bonus learns from, kept until it has seen enough to know its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.protocol import State
from countless.core.errors import BadInput

GROWTH = 2  # so many times as many rows make it worth while to look at them again


class FirstRows:
    """Keeps transitions, batch by batch, until there are `most` of them, and then none.

    Each time they have doubled, all of them are to be learned again: their statistics are better by
    then. So each row is learned about three times, however small the batches are.

    >>> first = FirstRows("bonus", 3)
    >>> first.keep(np.array([4, 5]), np.array([5, 6]), np.array([False, True])), first.open
    (True, True)
    >>> first.before.tolist(), [(part.start, part.stop) for part in first.batches()]
    ([4, 5], [(0, 2)])
    >>> first.keep(np.array([7]), np.array([8]), np.array([False])), first.open
    (True, False)
    """

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._parts: list[tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]] = []
        self._rows, self._looked_at = 0, 0

    @property
    def open(self) -> bool:
        """Whether more rows are kept."""
        return self._rows < self._most

    @property
    def before(self) -> NDArray[Any]:
        """The observations of all transitions."""
        return np.concatenate([part[0] for part in self._parts])

    @property
    def after(self) -> NDArray[Any]:
        """Their next observations."""
        return np.concatenate([part[1] for part in self._parts])

    @property
    def dones(self) -> NDArray[np.bool_]:
        """Whether nothing follows them."""
        return np.concatenate([part[2] for part in self._parts])

    def keep(self, before: NDArray[Any], after: NDArray[Any], dones: NDArray[np.bool_]) -> bool:
        """Take in a batch; whether all that is kept is to be learned again."""
        self._parts.append((before.copy(), after.copy(), dones.copy()))
        self._rows += len(dones)
        due = not self.open or self._rows >= GROWTH * self._looked_at
        if due:
            self._looked_at = self._rows
        return due

    def batches(self) -> Iterator[slice]:
        """Where each batch lies among the rows, in the order in which they came."""
        first = 0
        for _, _, dones in self._parts:
            yield slice(first, first + len(dones))
            first += len(dones)

    def forget(self) -> None:
        """Drop what is kept; what was counted stays."""
        self._parts = []

    def state(self) -> State:
        """What is kept; empty arrays where nothing is."""
        counts = {"first.most": self._most, "first.rows": self._rows}
        counts["first.looked_at"] = self._looked_at
        sizes = np.array([len(dones) for _, _, dones in self._parts], np.int64)
        if not self._parts:
            nothing = np.zeros(0)
            rows = {"before": nothing, "after": nothing, "dones": np.zeros(0, dtype=bool)}
        else:
            rows = {"before": self.before, "after": self.after, "dones": self.dones}
        return counts | {"first.sizes": sizes} | {f"first.{key}": v for key, v in rows.items()}

    def load(self, state: Mapping[str, Any], shape: tuple[int, ...]) -> None:
        """`shape` is that of one observation."""
        rows = int(state["first.rows"])
        before, after, dones, sizes = (
            np.array(state[f"first.{key}"]) for key in ("before", "after", "dones", "sizes")
        )
        batches = sizes.dtype.kind in "iu" and sizes.ndim == 1 and bool((sizes >= 0).all())
        kept = (rows if rows < self._most else 0, *shape)
        if not (
            batches
            and sizes.sum() == kept[0]
            and (not len(sizes) or before.shape == after.shape == kept)
            and dones.shape == kept[:1]
            and before.dtype.kind in "biuf"
            and after.dtype.kind in "biuf"
        ):
            raise BadInput(
                f"{self._name}: the first rows of this state do not fit together, or not this bonus: "
                f"after {rows} rows {kept} should be kept, not {before.shape} and {after.shape} with "
                f"flags {dones.shape}"
            )
        ends = np.cumsum(sizes)[:-1]
        parts = (np.split(part, ends) for part in (before, after, dones.astype(bool)))
        self._parts = list(zip(*parts, strict=True)) if len(sizes) else []
        self._rows, self._looked_at = rows, int(state["first.looked_at"])


UNSHAPED = dict.fromkeys(("first.before", "first.after", "first.dones", "first.sizes"))
