import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from countless.analysis.statistics import (
    BOOTSTRAP_RUNS,
    FEWEST_RUNS,
    interquartile_mean,
    mean_interval,
    pooled_iqm,
    probability_of_improvement,
    profile,
    rank_correlation,
    relative_change,
    summarise,
)

samples = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60).map(np.array)


@given(samples)
def test_against_other_libraries(x):
    summary = summarise(x)
    assert summary.sd == pytest.approx(statistics.stdev(x), abs=1e-6)
    assert summary.iqm == pytest.approx(stats.trim_mean(x, 0.25), abs=1e-6)
    low, high = summary.ci95
    if len(x) < FEWEST_RUNS:
        assert np.isnan([low, high]).all()
    else:
        assert x.min() - 1e-6 <= low <= high <= x.max() + 1e-6


def test_bootstrap_against_scipy():
    x = np.random.default_rng(0).lognormal(sigma=1.5, size=400)
    theirs = stats.bootstrap(
        (x,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    low, high = mean_interval(x)
    width = theirs.high - theirs.low
    assert low == pytest.approx(theirs.low, abs=0.06 * width)
    assert high == pytest.approx(theirs.high, abs=0.06 * width)


def test_the_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(300):
        low, high = mean_interval(rng.exponential(size=100))
        hits += low <= 1.0 <= high
    assert 0.90 <= hits / 300 <= 0.98


def test_the_interval_is_seeded():
    x = np.arange(50.0)
    assert mean_interval(x, 1) == mean_interval(x, 1)
    assert mean_interval(x, 1) != mean_interval(x, 2)


def test_many_runs_use_the_normal_interval():
    x = np.random.default_rng(3).normal(size=BOOTSTRAP_RUNS + 1)
    low, high = mean_interval(x)
    assert high - low == pytest.approx(2 * 1.96 * x.std(ddof=1) / len(x) ** 0.5, rel=1e-4)


def test_one_run_has_no_sd():
    summary = summarise([3.0])
    assert summary.mean == summary.median == summary.iqm == 3.0
    assert summary.to_json()["sd"] is None
    assert summary.to_json()["ci95"] is None


def test_few_runs_have_no_interval():
    few, enough = summarise([1.0, 2.0, 3.0, 4.0]), summarise([1.0, 2.0, 3.0, 4.0, 5.0])
    assert few.to_json()["ci95"] is None
    assert np.isnan(few.half)
    assert enough.half == pytest.approx((enough.ci95[1] - enough.ci95[0]) / 2)


def test_iqm_drops_the_extremes():
    assert interquartile_mean(np.array([-1e9, 1.0, 2.0, 1e9])) == 1.5


def test_rank_correlation_is_scipys():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.integers(0, 8, 30), rng.normal(size=30)
        expected = stats.spearmanr(x, x + y).statistic
        assert rank_correlation(x, x + y) == pytest.approx(expected)
    assert np.isnan(rank_correlation([1, 1, 1], [1, 2, 3]))


def test_probability_of_improvement_by_hand():
    rng = np.random.default_rng(0)
    first = [rng.integers(0, 4, 6).astype(float), rng.integers(0, 4, 5).astype(float)]
    second = [rng.integers(0, 4, 5).astype(float), rng.integers(0, 4, 7).astype(float)]
    per_task = []
    for x, y in zip(first, second, strict=True):
        points = [1.0 if a > b else 0.5 if a == b else 0.0 for a in x for b in y]
        per_task.append(sum(points) / len(points))
    value, (low, high) = probability_of_improvement(first, second)
    assert value == pytest.approx(np.mean(per_task))
    assert low < value < high
    other, _ = probability_of_improvement(second, first)
    assert other == pytest.approx(1.0 - value)
    few = [np.array([1.0, 2.0])]
    assert np.isnan(probability_of_improvement(few, few)[1]).all()


def test_relative_change_against_scipy():
    rng = np.random.default_rng(1)
    before = rng.normal(10.0, 1.0, size=40)
    after = before + rng.normal(1.0, 2.0, size=40)
    value, ends = relative_change(after, before)
    assert value == pytest.approx(after.mean() / before.mean() - 1.0)
    theirs = stats.bootstrap(
        (after, before),
        lambda x, y, axis: x.mean(axis=axis) / y.mean(axis=axis) - 1.0,
        method="percentile",
        paired=True,
        rng=np.random.default_rng(2),
    ).confidence_interval
    assert ends == pytest.approx((theirs.low, theirs.high), abs=0.01)
    assert np.isnan(relative_change(after[:4], before[:4])[1]).all()
    assert relative_change(before, before) == (0.0, (0.0, 0.0))  # what a seed does to both is none


def test_pooled_iqm_against_scipy():
    rng = np.random.default_rng(3)
    tasks = [rng.normal(size=30), rng.normal(2.0, 3.0, size=30), rng.exponential(size=50)]
    value, (low, high) = pooled_iqm(tasks)
    assert value == pytest.approx(stats.trim_mean(np.concatenate(tasks), 0.25))
    means = [
        stats.trim_mean(np.concatenate([rng.choice(x, len(x)) for x in tasks]), 0.25)
        for _ in range(3000)
    ]
    ends = np.quantile(means, (0.025, 0.975))
    np.testing.assert_allclose((low, high), ends, atol=0.1 * (ends[1] - ends[0]))


def test_pooled_iqm_keeps_its_tasks():
    # Runs of one task are alike: only a bootstrap that drew tasks too could vary.
    value, ends = pooled_iqm([np.full(6, 0.0), np.full(6, 1.0)])
    assert value == 0.5
    assert ends == (0.5, 0.5)
    assert np.isnan(pooled_iqm([np.zeros(4), np.ones(9)])[1]).all()


def test_the_band_of_a_profile_is_that_of_runs_drawn_anew_in_every_task():
    rng = np.random.default_rng(0)
    tasks = [rng.random(12), 0.5 * rng.random(7)]
    levels = np.array([0.0, 0.2, 0.4, 0.9])
    share, low, high = profile(tasks, levels)
    assert share == pytest.approx(np.mean([(x[:, None] >= levels).mean(0) for x in tasks], axis=0))
    drawn = [
        np.mean([(rng.choice(x, len(x))[:, None] >= levels).mean(0) for x in tasks], axis=0)
        for _ in range(4000)
    ]
    assert low == pytest.approx(np.quantile(drawn, 0.025, axis=0), abs=0.03)
    assert high == pytest.approx(np.quantile(drawn, 0.975, axis=0), abs=0.03)
    assert (low[0], high[0]) == (1.0, 1.0)  # every run reaches 0
    assert np.isnan(profile([tasks[0], tasks[1][:4]], levels)[1]).all()
