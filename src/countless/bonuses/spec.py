"""What the observations of a bonus are: state indices, vectors, or images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.arrays import check_finite, check_states, to_numpy
from countless.core.errors import BadInput


@dataclass(frozen=True)
class Observations:
    """The shape of one observation; with `n_states` it is a state index and has no shape.

    Images are (H, W), or stacks (C, H, W) with the newest frame last, of values 0 to 255.
    """

    shape: tuple[int, ...]
    n_states: int | None = None

    @property
    def kind(self) -> str:
        if self.n_states is not None:
            return "states"
        return "vector" if len(self.shape) == 1 else "image"

    def check(self, name: str, observations: Any) -> NDArray[Any]:
        """A batch of these as a NumPy array (B, ...), or a `BadInput` that says what is wrong."""
        if self.n_states is not None:
            return check_states(name, observations, self.n_states)
        values = to_numpy(observations)
        if values.shape[1:] != self.shape or values.ndim != len(self.shape) + 1:
            wanted = ", ".join(["B", *map(str, self.shape)])
            raise BadInput(f"{name}: observations must have shape ({wanted}), not {values.shape}")
        if values.dtype.kind not in "biuf":
            raise BadInput(f"{name}: observations must be numbers, not {values.dtype}")
        check_finite(name, values)
        if self.kind == "image" and values.dtype != np.uint8:
            self._check_range(name, values)
        return values

    @staticmethod
    def _check_range(name: str, values: NDArray[Any]) -> None:
        if values.size and (values.min() < 0 or values.max() > 255):
            raise BadInput(f"{name}: pixels are 0 to 255, not {values.min():g} to {values.max():g}")


def as_observations(given: Any) -> Observations:
    """From a number of states, the shape of one observation, or a Gymnasium space.

    >>> as_observations(104).kind, as_observations((4, 84, 84)).kind, as_observations((3,)).kind
    ('states', 'image', 'vector')
    """
    if isinstance(given, Observations):
        return given
    if hasattr(given, "n") and getattr(given, "shape", None) == ():
        return as_observations(int(given.n))
    shape = getattr(given, "shape", given)
    high = getattr(given, "high", None)
    if high is not None and len(shape) > 1 and np.max(high) <= 1:
        raise BadInput("a bonus reads pixels of 0 to 255; this space has them at most 1")
    if isinstance(shape, int | np.integer) and not isinstance(shape, bool) and shape >= 1:
        return Observations((), int(shape))
    if isinstance(shape, tuple | list) and 1 <= len(shape) <= 3 and all(n >= 1 for n in shape):
        return Observations(tuple(int(n) for n in shape))
    raise BadInput(
        "observations must be a number of states, a shape such as (4, 84, 84) or (8,), or a "
        f"Discrete or Box space, not {given!r}"
    )
