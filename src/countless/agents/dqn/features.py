"""Whether the features still tell observations apart.

How many features are active in one observation says little: a one-hot code has one and is
perfect. Features have collapsed when they are the same for every observation; then values and
bonus are the same everywhere too.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Features have collapsed where they vary in at most one direction, or by less than a hundredth.
LEAST_RANK, LEAST_SPREAD = 2.0, 0.01
# Singular values below this share of the norm of all features are float32's rounding.
ROUNDING = 1e-5


@dataclass(frozen=True)
class FeatureHealth:
    """Measured on a batch of observations.

    Attributes:
        active: features of an observation that are not zero, on average.
        ever_active: features that are not zero in at least one of the observations.
        of: features of the network.
        spread: root mean square distance of phi from its mean, relative to the root mean square
            of phi: 0 where all observations look the same, at most 1.
        rank: effective rank, the participation ratio (sum s)^2 / sum s^2 of the singular values s
            of the centred phi: 0 where all observations look the same.
        bonus_cv: standard deviation over mean of the bonus as it is added to the reward; None
            without a bonus.
    """

    active: float
    ever_active: int
    of: int
    spread: float
    rank: float
    bonus_cv: float | None

    @property
    def collapsed(self) -> bool:
        """Whether observations are hardly told apart any more."""
        return self.rank < LEAST_RANK or self.spread < LEAST_SPREAD

    def describe(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def measure_features(phi: NDArray[Any], bonus: NDArray[Any] | None = None) -> FeatureHealth:
    """The health of features phi (B, D), and of the bonus (any number,) beside them.

    >>> one_hot = measure_features(np.eye(8))
    >>> one_hot.active, one_hot.ever_active, round(one_hot.rank, 6), one_hot.collapsed
    (1.0, 8, 7.0, False)
    >>> constant = measure_features(np.ones((8, 3)))
    >>> constant.active, constant.spread, constant.rank, constant.collapsed
    (3.0, 0.0, 0.0, True)
    """
    exact = np.asarray(phi, np.float64)
    whole = float(np.linalg.norm(exact))
    centred = exact - exact.mean(0)
    singular = np.linalg.svd(centred, compute_uv=False)
    singular = singular[singular > ROUNDING * whole]
    power = float((singular**2).sum())
    return FeatureHealth(
        active=float((exact != 0.0).sum(1).mean()),
        ever_active=int((exact != 0.0).any(0).sum()),
        of=exact.shape[1],
        spread=power**0.5 / whole if whole > 0.0 else 0.0,
        rank=float(singular.sum()) ** 2 / power if power > 0.0 else 0.0,
        bonus_cv=None if bonus is None else _variation(np.asarray(bonus, np.float64)),
    )


def _variation(values: NDArray[np.float64]) -> float | None:
    mean = float(values.mean())
    return float(values.std()) / mean if mean > 0.0 else None
