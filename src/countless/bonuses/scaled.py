"""Any bonus at a scale that is safe to add to the rewards of a task.

A bonus that is positive at every step pays for not ending the episode, and its size says nothing
about the size of the task's rewards. So it can be divided by the SD of the sums that an agent would
see of it, made zero on average, and brought to nothing over a number of steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.bonuses.base import check_active
from countless.bonuses.kernels.scale import add_up, scale_to
from countless.bonuses.protocol import Bonus, State, is_warming
from countless.core.arrays import Floats, check_flags, like, to_numpy
from countless.core.errors import BadInput
from countless.core.parameters import choice, real, switch, validate, whole

NAME = "the scaled bonus"
PREFIX = "scaled."
COUNTED, KIND = PREFIX + "counted", PREFIX + "kind"
KINDS = ("none", "std", "standardise")
SETTLE = 500  # first rows in the statistics: they are paid nothing
SLOWEST = 1e-4  # rate of the mean: after ten thousand rows the oldest begin to fade
MOST = 5.0  # of a bonus in units of the SD


@dataclass(frozen=True)
class Scaling:
    """How a bonus is scaled before it is added."""

    scale: str = choice(
        "none",
        "std: divided by the SD of its discounted sums so far; standardise: its recent mean is taken "
        "out first; none: as it is",
        KINDS,
    )
    beta: float = real(1.0, "factor on the scaled bonus", "[0, inf)")
    gamma: float = real(0.99, "discount of the sums", "[0, 1)")
    decay: int = whole(
        0,
        "steps, of all environments together, over which beta falls to 0; 0: it stays",
        "[0, inf)",
    )
    episodic: bool = switch(False, "the sums begin anew with each episode, as `starts` marks them")

    def __post_init__(self) -> None:
        validate(self)


class Scale:
    """The statistics of a bonus, and what is added for it.

    The SD is that of all steps so far, so that a bonus that wears out is worn out; the mean is that
    of the last ten thousand or so.
    """

    def __init__(self, scaling: Scaling) -> None:
        self.scaling = scaling
        self.rows = 0  # seen so far: beta falls with them
        self._counted = 0  # of these, rows in the statistics: those after a warm-up
        self._mean = 0.0  # of recent bonuses
        self._sums: Floats = np.zeros(0)  # discounted, one per environment
        self._all = np.arange(0)  # their numbers
        self._sum_mean, self._sum_squares = 0.0, 0.0  # of all sums: mean, squared differences

    @property
    def beta(self) -> float:
        """The factor as it stands."""
        decay = self.scaling.decay
        return self.scaling.beta * (max(0.0, 1.0 - self.rows / decay) if decay else 1.0)

    @property
    def deviation(self) -> float:
        """The SD of the discounted sums so far."""
        return math.sqrt(self._sum_squares / self._counted) if self._counted else 0.0

    def scaled(self, raw: Floats) -> Floats:
        """What is added for bonuses (B,)."""
        if self.scaling.scale == "none":
            return self.beta * raw
        deviation = self.deviation
        if self._counted < SETTLE or deviation == 0.0:
            return np.zeros_like(raw)
        shift = self._mean if self.scaling.scale == "standardise" else 0.0
        paid: Floats = np.empty(len(raw))
        scale_to(raw, shift, deviation, MOST, self.beta, paid)
        return paid

    def learn(self, raw: Floats, rows: NDArray[np.int64] | None, starts: Any) -> None:
        """Take in the bonuses of the rows that took a step; None: of all of them.

        `starts` marks the first steps of episodes (B,); None: there are none.
        """
        if len(self._sums) != len(raw):
            self._sums, self._all = np.zeros(len(raw)), np.arange(len(raw))
        took = self._all if rows is None else rows
        count = len(took)
        if count == 0:
            return
        if self.scaling.episodic:
            self._sums[took[check_flags(NAME, starts, len(raw))[took]]] = 0.0
        total = self._counted + count
        rate = min(1.0, max(count / total, count * SLOWEST))
        centred = self.scaling.scale == "standardise"
        self._mean, sum_mean, squares = add_up(
            raw, took, self._mean, rate, centred, self.scaling.gamma, self._sums
        )
        delta = sum_mean - self._sum_mean
        self._sum_squares += squares
        self._sum_squares += delta**2 * self._counted * count / total
        self._sum_mean += delta * count / total
        self._counted = total

    def state(self) -> State:
        return {
            KIND: KINDS.index(self.scaling.scale),
            PREFIX + "rows": self.rows,
            COUNTED: self._counted,
            PREFIX + "mean": self._mean,
            PREFIX + "sums": self._sums.copy(),
            PREFIX + "sum_mean": self._sum_mean,
            PREFIX + "sum_squares": self._sum_squares,
        }

    def check(self, state: Mapping[str, Any]) -> None:
        """Refuse what is not the state of such a scale. Older states lack `COUNTED` and `KIND`."""
        expected = self.state()
        missing = [name for name in expected if name not in state and name not in (COUNTED, KIND)]
        if missing:
            raise BadInput(f"{NAME}: this state lacks {missing[0]!r}; it was saved without scaling")
        for name in (name for name in expected if name in state):
            value = np.asarray(state[name])
            dimensions = 1 if name == PREFIX + "sums" else 0
            numbers = value.dtype.kind in "iuf" and np.isfinite(value).all()
            if not numbers or value.ndim != dimensions:
                what = "a row of numbers" if dimensions else "a number"
                raise BadInput(f"{NAME}: {name!r} is not {what} in this state")
        kind = int(state.get(KIND, expected[KIND]))
        if kind != expected[KIND]:
            saved = KINDS[kind] if kind in range(len(KINDS)) else str(kind)
            raise BadInput(
                f"{NAME}: this state was saved with scale={saved!r}, and this bonus has "
                f"scale={self.scaling.scale!r}"
            )

    def load(self, state: Mapping[str, Any], *, warming: bool = False) -> None:
        """`warming`: the bonus was still warming up when the state was taken."""
        self.check(state)
        self.rows = int(state[PREFIX + "rows"])
        # Older states have no such entry: all rows were counted, those of a warm-up as zeros.
        self._counted = int(state.get(COUNTED, 0 if warming else self.rows))
        self._mean = float(state[PREFIX + "mean"])
        self._sums = np.array(state[PREFIX + "sums"], dtype=np.float64)
        self._all = np.arange(len(self._sums))
        self._sum_mean = float(state[PREFIX + "sum_mean"])
        self._sum_squares = float(state[PREFIX + "sum_squares"])


class ScaledBonus:
    """A bonus around another one: the same calls, and a state that holds both.

    `compute` gives what `observe` would without learning. Statistics are taken of what `observe`
    sees: batches for `update` hold no environment's steps in their order. While the bonus inside is
    warming up nothing is paid, and what it gives stays out of the statistics: they would take its
    first real values for outliers.

    >>> from countless.bonuses.registry import make_bonus
    >>> bonus = make_bonus("counts", 3, decay=4, beta=1.0)
    >>> bonus.observe([0, 1]).tolist(), bonus.observe([2, 2]).tolist()
    ([1.0, 1.0], [0.5, 0.35355339059327373])
    """

    def __init__(self, bonus: Bonus, scaling: Scaling) -> None:
        self.bonus, self.scaling = bonus, scaling
        self._scale = Scale(scaling)
        self._updated = False  # whether `update` was called

    @property
    def beta(self) -> float:
        """The factor as it stands."""
        return self._scale.beta

    @property
    def deviation(self) -> float:
        """The SD of the discounted sums so far."""
        return self._scale.deviation

    def compute(self, observations: Any, features: Any = None) -> Any:
        if self._updated and self._scale.rows == 0 and self.scaling.scale != "none":
            raise BadInput(
                f"{NAME} has no statistics: `update` was called, but never `observe`, which takes "
                "them; call `observe` once per step, or make the bonus with scale='none'"
            )
        raw = to_numpy(self.bonus.compute(observations, features)).astype(np.float64)
        return like(self._scale.scaled(raw), observations)

    def update(self, batch: Any) -> dict[str, float]:
        self._updated = True
        return self.bonus.update(batch)

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
        # A bonus of the user's own need not know what is not given.
        only = {} if active is None else {"active": active}
        if truncations is not None:
            only["truncations"] = truncations
        given = self.bonus.observe(
            observations,
            features,
            next_observations=next_observations,
            dones=dones,
            starts=starts,
            **only,
        )
        raw = to_numpy(given).astype(np.float64, copy=False)
        if raw.ndim != 1:
            raise BadInput(f"{NAME}: the bonus inside must give (B,), not {raw.shape}")
        rows = None if active is None else np.flatnonzero(check_active(active, raw))
        if is_warming(self.bonus):
            paid = np.zeros_like(raw)
        else:
            paid = self._scale.scaled(raw)
            self._scale.learn(raw, rows, starts)
        self._scale.rows += len(raw) if rows is None else len(rows)
        return like(paid if active is None else np.where(to_numpy(active), paid, 0.0), given)

    def state_dict(self) -> State:
        return dict(self.bonus.state_dict()) | self._scale.state()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        inner = {k: v for k, v in state.items() if not k.startswith(PREFIX)}
        if len(inner) == len(state):
            raise BadInput(f"{NAME}: this state was saved without scaling")
        self._scale.check(state)
        self.bonus.load_state_dict(inner)
        self._scale.load(state, warming=is_warming(self.bonus))
