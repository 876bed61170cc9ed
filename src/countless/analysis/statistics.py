"""Summaries of returns that can be trusted: SD called SD, and a real confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 2000
BOOTSTRAP_RUNS = 20_000
BATCH_CELLS = 2_000_000
FEWEST_RUNS = 5  # for an interval: resamples of fewer say little about anything


@dataclass(frozen=True)
class Summary:
    """Statistics of the returns of independent runs; `ci95` is that of the mean."""

    runs: int
    mean: float
    sd: float
    median: float
    iqm: float
    ci95: tuple[float, float]
    min: float
    max: float

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.ci95[1] - self.ci95[0]) / 2

    def to_json(self) -> dict[str, Any]:
        """As a mapping; what so few runs cannot tell (SD, CI) is null."""
        content = asdict(self)
        content.pop("runs")
        content["ci95"] = None if self.ci95[0] != self.ci95[0] else list(self.ci95)
        return {key: None if value != value else value for key, value in content.items()}


def summarise(returns: ArrayLike, seed: int = 0) -> Summary:
    """Mean, sample SD, median, interquartile mean, 95% CI of the mean, extremes.

    >>> summarise([1.0, 2.0, 3.0, 10.0]).median
    2.5
    """
    x = np.asarray(returns, dtype=np.float64)
    return Summary(
        runs=len(x),
        mean=float(x.mean()),
        sd=float(x.std(ddof=1)) if len(x) > 1 else float("nan"),
        median=float(np.median(x)),
        iqm=interquartile_mean(x),
        ci95=mean_interval(x, seed),
        min=float(x.min()),
        max=float(x.max()),
    )


def interquartile_mean(x: NDArray[np.float64]) -> float:
    """The mean of the middle half: a quarter of the runs (rounded down) is cut at each end."""
    cut = len(x) // 4
    return float(np.sort(x)[cut : len(x) - cut].mean())


def mean_interval(x: NDArray[np.float64], seed: int = 0) -> tuple[float, float]:
    """The 95% interval of the mean: percentile bootstrap of 2,000 resamples.

    NaN for fewer than five runs. Above 20,000 runs the bootstrap's distribution of the mean is
    normal for all practical purposes, and the interval is mean +- 1.96 SD / sqrt(runs).
    """
    if len(x) < FEWEST_RUNS:
        return float("nan"), float("nan")
    if len(x) > BOOTSTRAP_RUNS:
        half = 1.959963984540054 * float(x.std(ddof=1)) / len(x) ** 0.5
        return float(x.mean()) - half, float(x.mean()) + half
    rng = np.random.default_rng(seed)
    means = np.empty(RESAMPLES)
    batch = max(1, BATCH_CELLS // len(x))
    for low in range(0, RESAMPLES, batch):
        size = min(batch, RESAMPLES - low)
        means[low : low + size] = x[rng.integers(0, len(x), (size, len(x)))].mean(axis=1)
    low_end, high_end = np.quantile(means, (0.025, 0.975))
    return float(low_end), float(high_end)


def pooled_iqm(
    scores: Sequence[NDArray[np.float64]], seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """The interquartile mean over all runs of all tasks, and its 95% interval (Agarwal et al. 2021).

    `scores` has the runs of each task. The bootstrap is stratified: each resample draws the runs of
    every task anew, and keeps the tasks. NaN for the interval where a task has fewer than five runs.
    """
    value = interquartile_mean(np.concatenate(scores))
    if min(map(len, scores)) < FEWEST_RUNS:
        return value, (float("nan"), float("nan"))
    rng = np.random.default_rng(seed)
    drawn = np.concatenate(
        [x[rng.integers(0, len(x), (RESAMPLES, len(x)))] for x in scores], axis=1
    )
    cut = drawn.shape[1] // 4
    means = np.sort(drawn, axis=1)[:, cut : drawn.shape[1] - cut].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return value, (float(low), float(high))


def profile(
    scores: Sequence[NDArray[np.float64]], levels: NDArray[np.float64], seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The share of runs with at least each level, mean over the tasks, and the ends of its 95% band.

    A performance profile (Agarwal et al. 2021); the bootstrap is that of `pooled_iqm`, and the band
    holds at each level by itself. NaN for the band where a task has fewer than five runs.

    >>> profile([np.array([1.0, 0.2]), np.array([0.6])], np.array([0.5]))[0]
    array([0.75])
    """
    reached = [(runs[:, None] >= levels).astype(np.float64) for runs in scores]
    share: NDArray[np.float64] = np.mean([task.mean(axis=0) for task in reached], axis=0)
    if min(map(len, scores)) < FEWEST_RUNS:
        none = np.full(len(levels), np.nan)
        return share, none, none
    rng = np.random.default_rng(seed)
    drawn = np.zeros((RESAMPLES, len(levels)))
    for task in reached:  # how often a resample has each run
        runs = len(task)
        drawn += rng.multinomial(runs, np.full(runs, 1.0 / runs), RESAMPLES) @ task / runs
    low, high = np.quantile(drawn / len(reached), (0.025, 0.975), axis=0)
    return share, low, high


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's: the correlation of ranks, ties at their mean rank; NaN where one side is constant.

    >>> rank_correlation([1.0, 2.0, 3.0], [1.0, 4.0, 9.0])
    1.0
    """
    first, second = _ranks(np.asarray(x)), _ranks(np.asarray(y))
    first, second = first - first.mean(), second - second.mean()
    norm = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / norm if norm > 0 else float("nan")


def probability_of_improvement(
    first: Sequence[NDArray[np.float64]], second: Sequence[NDArray[np.float64]], seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """How often a run of the first beats one of the second in the same task, and its 95% interval.

    Both have the runs of each task, in the same order of tasks; a tie counts half. The mean over the
    tasks, as Agarwal et al. (2021) define it; the bootstrap draws the runs of every task anew. NaN for
    the interval where a task has fewer than five runs.

    >>> probability_of_improvement([np.array([1.0, 2.0])], [np.array([1.0, 0.0])])[0]
    0.875
    """
    value = float(np.mean([_beats(x, y) for x, y in zip(first, second, strict=True)]))
    if min(map(len, (*first, *second))) < FEWEST_RUNS:
        return value, (float("nan"), float("nan"))
    rng = np.random.default_rng(seed)
    drawn = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        drawn[i] = np.mean(
            [
                _beats(x[rng.integers(0, len(x), len(x))], y[rng.integers(0, len(y), len(y))])
                for x, y in zip(first, second, strict=True)
            ]
        )
    low, high = np.quantile(drawn, (0.025, 0.975))
    return value, (float(low), float(high))


def relative_change(
    after: NDArray[np.float64], before: NDArray[np.float64], seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """By how much the mean of `after` is above that of `before`, 0.1 for 10%, and its 95% interval.

    Entry i of both is of the same seed. The bootstrap draws the seeds anew, each with both of its
    runs, so what a seed does to both does not widen the interval. NaN for fewer than five seeds.

    >>> relative_change(np.array([3.0, 3.0]), np.array([2.0, 2.0]))[0]
    0.5
    """
    value = float(after.mean() / before.mean()) - 1.0
    if len(after) < FEWEST_RUNS:
        return value, (float("nan"), float("nan"))
    drawn = np.random.default_rng(seed).integers(0, len(after), (RESAMPLES, len(after)))
    changes = after[drawn].mean(axis=1) / before[drawn].mean(axis=1) - 1.0
    low, high = np.quantile(changes, (0.025, 0.975))
    return value, (float(low), float(high))


def _beats(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """The share of pairs in which x is larger; a tie counts half."""
    return float(((x[:, None] > y).mean() + (x[:, None] >= y).mean()) / 2.0)


def _ranks(x: NDArray[np.float64]) -> NDArray[np.float64]:
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2.0)[inverse]
    return ranks
