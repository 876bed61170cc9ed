"""From a host's observation space to what a bonus reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from countless.bonuses.arrays import is_tensor, like, to_numpy
from countless.bonuses.protocol import Batch, Bonus, State, as_batch
from countless.bonuses.registry import make_bonus
from countless.bonuses.spec import Observations
from countless.core.errors import BadInput

SMALLEST_IMAGE = 16  # a smaller uint8 array is a code, as MiniGrid's 7 x 7 x 3, not a picture
LUMINANCE = np.array([0.299, 0.587, 0.114], dtype=np.float32)

View = Callable[[Any], Any]


class SeenBonus:
    """A bonus that sees the host's observations through a view."""

    def __init__(self, bonus: Bonus, view: View) -> None:
        self.bonus, self._view = bonus, view

    def compute(self, observations: Any, features: Any = None) -> Any:
        return self._back(self.bonus.compute(self._view(observations), features), observations)

    def update(self, batch: Any) -> dict[str, float]:
        given = as_batch(batch)
        return self.bonus.update(
            Batch(
                self._view(given.observations),
                self._seen(given.next_observations),
                given.actions,
                given.dones,
                given.features,
                given.next_features,
            )
        )

    def observe(
        self,
        observations: Any,
        features: Any = None,
        *,
        next_observations: Any = None,
        dones: Any = None,
        starts: Any = None,
    ) -> Any:
        bonus = self.bonus.observe(
            self._view(observations),
            features,
            next_observations=self._seen(next_observations),
            dones=dones,
            starts=starts,
        )
        return self._back(bonus, observations)

    def state_dict(self) -> State:
        return self.bonus.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.bonus.load_state_dict(state)

    def _seen(self, observations: Any) -> Any:
        return None if observations is None else self._view(observations)

    @staticmethod
    def _back(bonus: Any, observations: Any) -> Any:
        """As the host had its observations, where the view made other arrays of them."""
        return bonus if isinstance(observations, Mapping) else like(bonus, observations)


def make_view(space: spaces.Space[Any]) -> tuple[Observations, View | None]:
    """What the observations of a space are to a bonus, and how they are brought to it.

    Pictures become (H, W) or stacks (C, H, W), colours become grey, anything else numeric a vector.

    >>> make_view(spaces.Box(0, 255, (84, 84, 4), np.uint8))[0].shape
    (4, 84, 84)
    """
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return Observations((), int(space.n)), (lambda x: to_numpy(x) - start) if start else None
    if isinstance(space, spaces.Dict | spaces.Tuple) or space.shape is None:
        raise BadInput(
            f"a bonus cannot read {type(space).__name__} observations: give view=, a function from "
            "a batch of them to an array, and a bonus made for what it returns"
        )
    shape = space.shape
    if space.dtype == np.uint8 and len(shape) in (2, 3):
        picture = _picture(shape)
        if picture is not None:
            return picture
    width = int(np.prod(shape))
    return Observations((width,)), None if len(shape) == 1 else _flat


def _flat(observations: Any) -> Any:
    return observations.reshape(len(observations), -1)


def _picture(shape: tuple[int, ...]) -> tuple[Observations, View | None] | None:
    if len(shape) == 2:
        return (Observations(shape), None) if min(shape) >= SMALLEST_IMAGE else None
    channels_last = shape[2] < min(shape[0], shape[1])
    height, width = shape[:2] if channels_last else shape[1:]
    channels = shape[2] if channels_last else shape[0]
    if min(height, width) < SMALLEST_IMAGE:
        return None
    if channels == 3:
        return Observations((height, width)), lambda x: _grey(x, -1 if channels_last else 1)
    if channels_last:
        return Observations((channels, height, width)), lambda x: np.moveaxis(to_numpy(x), -1, 1)
    return Observations(shape), None


def _grey(observations: Any, axis: int) -> NDArray[np.uint8]:
    colours = np.moveaxis(to_numpy(observations), axis, -1)
    grey: NDArray[np.uint8] = np.rint(colours.astype(np.float32) @ LUMINANCE).astype(np.uint8)
    return grey


def bonus_for(
    bonus: str | Bonus,
    space: spaces.Space[Any],
    *,
    view: View | None = None,
    seed: int = 0,
    device: str = "cpu",
    **parameters: Any,
) -> Bonus:
    """A bonus that reads a host's observations: made by name for the space, or one of your own.

    >>> bonus_for("counts", spaces.Discrete(4)).observe([1, 1]).tolist()
    [1.0, 0.7071067811865475]
    """
    if isinstance(bonus, str):
        if view is not None:
            raise BadInput("view= goes with a bonus that was made for what the view returns")
        spec, made = make_view(space)
        part = make_bonus(bonus, spec, seed=seed, device=device, **parameters)
        return part if made is None else SeenBonus(part, made)
    if parameters:
        raise BadInput(f"{', '.join(parameters)}: parameters go with the name of a bonus")
    return bonus if view is None else SeenBonus(bonus, view)


def check_of(of: str) -> str:
    """Which observation of a transition is paid for."""
    if of not in ("departed", "reached"):
        raise BadInput(f"of must be departed or reached, not {of!r}")
    return of


def pay(
    bonus: Bonus, of: str, observations: Any, reached: Any, terminated: Any, starts: Any
) -> NDArray[np.float64]:
    """The bonus (B,) of one step: of the observations that were left, or of those reached."""
    if of == "departed":
        paid = bonus.observe(observations, next_observations=reached, dones=terminated)
    else:
        paid = bonus.observe(reached, starts=starts)
    values: NDArray[np.float64] = to_numpy(paid) if is_tensor(paid) else paid
    return values
