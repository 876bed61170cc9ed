"""Batches of observations, whatever their structure: arrays, tensors, dictionaries, tuples of parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.core.arrays import is_tensor, to_numpy


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


def same_rows(first: Any, second: Any) -> bool:
    """Whether two batches of the same structure hold the same observations."""
    if isinstance(first, Mapping):
        return all(same_rows(first[key], second[key]) for key in first)
    if _has_parts(first):
        return all(map(same_rows, first, second))
    return np.array_equal(to_numpy(first), to_numpy(second))


def _has_parts(batch: Any) -> bool:
    """Whether a tuple holds batches of parts, and not the observations themselves."""
    return isinstance(batch, tuple) and any(np.ndim(part) > 0 for part in batch)
