"""The bonus relative to what it usually is.

A bonus that is paid at every step pays for staying alive. Less its running mean it is positive in
states that are newer than usual and negative in others; less its limit it is never positive, and a
state that was never seen, whose value is about zero, looks better than all that are known.
"""

from __future__ import annotations

from typing import NamedTuple

from countless.agents.dqn.config import RewardConfig

SLOWEST = 1e-3  # step size of the statistics: after a thousand steps the oldest begin to fade
LEAST_SD = 1e-6


class Affine(NamedTuple):
    """(x - shift) scale."""

    shift: float
    scale: float


class BonusCentre:
    """Running mean and variance of what the bonus adds, and the centring that follows from them.

    >>> centre = BonusCentre(RewardConfig(bonus_centre="mean"))
    >>> for added in (0.25, 0.75):
    ...     centre.add(added)
    >>> centre.affine
    Affine(shift=0.5, scale=1.0)
    """

    def __init__(self, config: RewardConfig) -> None:
        self._config = config
        self._steps, self._mean, self._variance = 0, 0.0, 0.0

    @property
    def learns(self) -> bool:
        """Whether what it does depends on what it saw."""
        return self._config.bonus_centre in ("mean", "standardise")

    def add(self, added: float) -> None:
        """Take in what the bonus of one step adds to its reward, uncentred."""
        self._steps += 1
        rate = max(1.0 / self._steps, SLOWEST)
        error = added - self._mean
        self._mean += rate * error
        self._variance += rate * ((1.0 - rate) * error * error - self._variance)

    @property
    def affine(self) -> Affine | None:
        """What is done to the bonus of a step; None where nothing is."""
        kind = self._config.bonus_centre
        if kind == "off":
            return None
        if kind == "limit":
            return Affine(self._config.bonus_limit, 1.0)
        if kind == "mean":
            return Affine(self._mean, 1.0)
        return Affine(self._mean, self._config.beta / max(self._variance**0.5, LEAST_SD))

    def get_state(self) -> list[float]:
        """Exact as JSON."""
        return [self._steps, self._mean, self._variance]

    def set_state(self, state: list[float]) -> None:
        steps, self._mean, self._variance = state
        self._steps = int(steps)
