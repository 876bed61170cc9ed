"""How a cost grows: exponents of regret in steps, and polynomial against exponential in the size.

All intervals are percentile bootstraps over runs; there is none for fewer than five runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countless.analysis.statistics import FEWEST_RUNS

Array = NDArray[np.float64]
RESAMPLES = 1000
FEWEST_SIZES = 3  # for a fit of two numbers
DECADE = 10.0
NONE = (math.nan, math.nan)


@dataclass(frozen=True)
class Fitted:
    """A fitted number and its 95% interval; NaN where there is none."""

    value: float
    ci95: tuple[float, float] = NONE

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.ci95[1] - self.ci95[0]) / 2


def power(x: Array, y: Array) -> Array:
    """The exponent k of y ~ x^k, by least squares of logarithms, for y of any leading shape.

    NaN where some y is not positive.

    >>> round(float(power(np.array([1.0, 2.0, 4.0]), np.array([3.0, 12.0, 48.0]))), 6)
    2.0
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.where((y > 0).all(axis=-1, keepdims=True), np.log(y), np.nan)
    centred = np.log(x) - np.log(x).mean()
    slopes: Array = logs @ centred / (centred @ centred)
    return slopes


def last_decade_exponent(steps: Array, cost: Array, seed: int = 0) -> Fitted:
    """The exponent of the mean cost (runs, steps) in the number of steps, over the last decade.

    NaN where the cost is not above chance: where it, or more than one in twenty of its resamples,
    is not positive throughout.
    """
    late = steps >= steps[-1] / DECADE
    x, y = steps[late], cost[:, late]
    fitted = float(power(x, y.mean(axis=0)))
    if len(y) < FEWEST_RUNS or math.isnan(fitted):
        return Fitted(fitted)
    chosen = np.random.default_rng(seed).integers(0, len(y), (RESAMPLES, len(y)))
    slopes = power(x, y[chosen].mean(axis=1))
    ends = _interval(slopes)
    return Fitted(math.nan if math.isnan(ends[0]) else fitted, ends)


def settled_after(steps: Array, returns: Array, level: float) -> Array:
    """For each run the step from which on it always collects at least `level` per step.

    At each of the steps, which must be close together on a logarithmic scale, the average is that
    over the second half of the run so far. Infinite where it is below `level` at the end.

    >>> x = np.arange(1.0, 9.0)
    >>> settled_after(x, np.maximum(0.0, x - 4.0)[None], 0.5)
    array([6.])
    """
    half = np.searchsorted(steps, steps / 2.0, side="right") - 1
    begun = half >= 0
    late, early = steps[begun], steps[half[begun]]
    average = (returns[:, begun] - returns[:, half[begun]]) / (late - early)
    lasting = np.logical_and.accumulate((average >= level)[:, ::-1], axis=1)[:, ::-1]
    at_last = np.ones((len(returns), 1), dtype=bool)
    settled: Array = np.append(late, math.inf)[np.hstack([lasting, at_last]).argmax(axis=1)]
    return settled


@dataclass(frozen=True)
class Growth:
    """How a cost grows with a size N: cost ~ N^degree, or cost ~ factor^N.

    Attributes:
        degree, factor: the fitted numbers of the two laws.
        polynomial_error, exponential_error: the root mean squares of what each law leaves of the
            logarithms of the costs: 0.1 is about 10% of a cost.
        polynomial_share: of all resamples, the share in which the polynomial leaves less.
        sizes: how many sizes were fitted.
    """

    degree: Fitted
    factor: Fitted
    polynomial_error: float
    exponential_error: float
    polynomial_share: float
    sizes: int


def growth(costs: Mapping[int, Array], seed: int = 0) -> Growth | None:
    """Both laws through the median costs of the runs at each size; None below three sizes.

    A size at which the median run never gets there (an infinite cost) tells no cost and is left out.
    """
    known = {size: runs for size, runs in costs.items() if math.isfinite(median_cost(runs))}
    if len(known) < FEWEST_SIZES:
        return None
    sizes = np.array(list(known), dtype=np.float64)
    logs = np.log([median_cost(runs) for runs in known.values()])
    degree, left_by_power = _line(np.log(sizes), logs)
    rate, left_by_exponential = _line(sizes, logs)
    degrees, factors, share = NONE, NONE, math.nan
    if min(map(len, known.values())) >= FEWEST_RUNS:
        rng = np.random.default_rng(seed)
        drawn = np.stack(
            [
                _medians(runs[rng.integers(0, len(runs), (RESAMPLES, len(runs)))])
                for runs in known.values()
            ],
            axis=1,
        )
        drawn = np.log(drawn[np.isfinite(drawn).all(axis=1)])
        powers, errors = _line(np.log(sizes), drawn)
        rates, other_errors = _line(sizes, drawn)
        degrees, factors = _interval(powers), _interval(np.exp(rates))
        share = float((errors < other_errors).mean())
    return Growth(
        Fitted(float(degree), degrees),
        Fitted(float(np.exp(rate)), factors),
        float(left_by_power),
        float(left_by_exponential),
        share,
        len(known),
    )


def _line(x: Array, y: Array) -> tuple[Array, Array]:
    """Slope and root mean square residual of a line through y, of any leading shape."""
    centred = x - x.mean()
    offset = y - y.mean(axis=-1, keepdims=True)
    slope = offset @ centred / (centred @ centred)
    residual = offset - np.multiply.outer(slope, centred)
    return slope, np.sqrt((residual**2).mean(axis=-1))


def median_cost(runs: Array) -> float:
    """The median cost of runs; of an even number the lower one: half of them may be infinite."""
    return float(_medians(runs[None])[0])


def _medians(runs: Array) -> Array:
    ordered: Array = np.sort(runs, axis=1)
    return ordered[:, (runs.shape[1] - 1) // 2]


def _interval(values: Array) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if len(known) < 0.95 * len(values):
        return NONE
    low, high = np.quantile(known, (0.025, 0.975))
    return float(low), float(high)
