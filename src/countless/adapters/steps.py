"""What the adapters share: the bonus of an agent's environments, and what one step is paid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from countless.bonuses.protocol import Bonus
from countless.bonuses.registry import make_bonus
from countless.core.arrays import to_numpy
from countless.core.errors import BadInput

Preprocess = Callable[[Any], Any]
SCALE = "standardise"  # of a bonus made by name: added to a task's rewards it does no harm


class StepBonus:
    """A bonus that is paid for the steps of parallel environments.

    It is made by name for the observation space, standardised unless `scale` says otherwise; or it is
    one of your own, with `preprocess` a function from batches of the environments' observations to
    what it reads.

    >>> steps = StepBonus("counts", spaces.Discrete(4), scale="none")
    >>> steps.pay(np.array([1, 1]), np.array([2, 3]), np.zeros(2, bool), None).tolist()
    [1.0, 0.7071067811865475]
    """

    def __init__(
        self,
        bonus: str | Bonus,
        space: spaces.Space[Any],
        *,
        of: str = "departed",
        preprocess: Preprocess | None = None,
        **parameters: Any,
    ) -> None:
        if of not in ("departed", "reached"):
            raise BadInput(f"of must be departed or reached, not {of!r}")
        if isinstance(bonus, str):
            if preprocess is not None:
                raise BadInput(
                    "preprocess goes with a bonus that was made for what it returns: "
                    "make_bonus(name, ...)"
                )
            if parameters.get("form") == "features":
                raise BadInput(
                    "the adapters have no features of your agent to give a bonus with form='features'; "
                    "call its `observe(observations, features)` in a loop of your own"
                )
            bonus = make_bonus(bonus, space, **{"scale": SCALE} | parameters)
        elif not callable(getattr(bonus, "observe", None)):
            raise BadInput(
                "bonus must be a name of `countless list bonuses`, or a bonus with the calls of "
                f"docs/bonuses.md, not {bonus!r}"
            )
        elif parameters:
            raise BadInput(
                f"{', '.join(parameters)}: parameters go with the name of a bonus; around a bonus of "
                "your own, ScaledBonus(bonus, Scaling(...)) of countless.bonuses.scaled is a scale"
            )
        self.bonus, self._of, self._preprocess = bonus, of, preprocess

    def pay(
        self,
        observations: Any,
        reached: Any,
        terminated: Any,
        starts: Any,
        active: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.float64]:
        """The bonus (B,) of one step: of the observations that were left, or of those reached.

        `starts` marks steps that are the first of an episode. Environments that are not `active` were
        only reset in this step: they teach nothing and are paid 0.
        """
        # A bonus of the user's own need not know `active` unless it matters.
        only = {} if active is None or active.all() else {"active": active}
        if self._of == "departed":
            paid = self.bonus.observe(
                self._seen(observations),
                next_observations=self._seen(reached),
                dones=terminated,
                starts=starts,
                **only,
            )
        else:
            # A terminal observation is never left: unless it is learned now it stays new for ever.
            paid = self.bonus.observe(self._seen(reached), dones=terminated, starts=starts, **only)
        return to_numpy(paid).astype(np.float64)

    def look(self, observations: Any, reached: Any) -> NDArray[np.float64]:
        """The bonus (B,) of one step as things stand; teaches nothing."""
        seen = observations if self._of == "departed" else reached
        return to_numpy(self.bonus.compute(self._seen(seen))).astype(np.float64)

    def _seen(self, observations: Any) -> Any:
        return observations if self._preprocess is None else self._preprocess(observations)


def copy_batch(observations: Any) -> Any:
    """A copy of a batch: environments may write the next observations into the same arrays."""
    if isinstance(observations, Mapping):
        return {key: copy_batch(value) for key, value in observations.items()}
    if isinstance(observations, tuple):
        return tuple(copy_batch(value) for value in observations)
    return np.array(observations)


def replace_rows(observations: Any, rows: NDArray[np.int64], singles: Sequence[Any]) -> Any:
    """A batch in which some rows are other observations; texts stay as they are.

    >>> replace_rows({"cell": np.array([1, 2])}, np.array([1]), [{"cell": 9}])["cell"].tolist()
    [1, 9]
    """
    if len(rows) == 0:
        return observations
    if isinstance(observations, Mapping):
        return {
            key: replace_rows(value, rows, [single[key] for single in singles])
            for key, value in observations.items()
        }
    if isinstance(singles[0], str):
        return observations
    if isinstance(observations, tuple):
        return tuple(
            replace_rows(value, rows, [single[i] for single in singles])
            for i, value in enumerate(observations)
        )
    batch = np.array(observations)
    batch[rows] = np.stack([np.asarray(single) for single in singles])
    return batch
