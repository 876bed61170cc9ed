"""Growth laws against costs whose law is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countless.analysis.growth import (
    growth,
    last_decade_exponent,
    median_cost,
    power,
    settled_after,
)

STEPS = np.unique(np.floor(10**6 * 2.0 ** (-np.arange(60) / 4)))
SIZES = (5, 10, 20, 40)


@given(st.floats(-2, 3), st.floats(0.01, 100))
def test_power_of_a_power(exponent, scale):
    assert power(STEPS, scale * STEPS**exponent) == pytest.approx(exponent, abs=1e-9)


def test_power_needs_positive_values():
    assert np.isnan(power(np.array([1.0, 2.0]), np.array([1.0, 0.0])))


def test_exponent_is_of_the_last_decade():
    cost = np.where(STEPS < 1e5, STEPS, 1e5 * (STEPS / 1e5) ** 0.5)
    rng = np.random.default_rng(0)
    runs = cost * rng.lognormal(sigma=0.2, size=(40, 1))
    fitted = last_decade_exponent(STEPS, runs)
    assert fitted.value == pytest.approx(0.5, abs=1e-9)
    walk = runs + rng.normal(scale=1e3, size=runs.shape)
    fitted = last_decade_exponent(STEPS, walk)
    assert fitted.ci95[0] < 0.5 < fitted.ci95[1]
    assert fitted.half < 0.05


def test_no_exponent_of_noise():
    noise = np.random.default_rng(1).normal(0.5, size=(20, len(STEPS)))
    assert np.isnan(last_decade_exponent(STEPS, noise).value)
    few = last_decade_exponent(STEPS, np.tile(STEPS, (3, 1)))
    assert few.value == pytest.approx(1.0)
    assert np.isnan(few.half)


def plain_settled(steps, returns, level):
    """Word by word: the first step from which on no average is below the level."""
    good = []
    for t, value in zip(steps, returns, strict=True):
        earlier = [k for k, u in enumerate(steps) if u <= t / 2]
        if earlier:
            k = earlier[-1]
            good.append((t, (value - returns[k]) / (t - steps[k]) >= level))
    for i, (t, _) in enumerate(good):
        if all(fine for _, fine in good[i:]):
            return t
    return np.inf


@given(st.lists(st.floats(0, 2), min_size=4, max_size=40), st.floats(0.1, 1.9))
def test_settled_against_its_words(rates, level):
    steps = np.unique(np.floor(1000 * 2.0 ** (-np.arange(len(rates)) / 4)))
    returns = np.cumsum(np.array(rates)[: len(steps)] * np.diff(steps, prepend=0.0))
    (found,) = settled_after(steps, returns[None], level)
    assert found == plain_settled(steps, returns, level)


def test_settled_forgets_a_lucky_beginning():
    returns = np.minimum(STEPS, 100.0)[None]  # one per step, and then no more
    assert np.isinf(settled_after(STEPS, returns, 0.5)).all()
    late = np.maximum(0.0, STEPS - 1e4)[None]
    (found,) = settled_after(STEPS, late, 0.5)
    assert 1.3e4 < found < 1.8e4


@pytest.mark.parametrize(
    ("law", "degree", "factor"),
    [(lambda n: 7 * n**2.5, 2.5, None), (lambda n: 3 * 1.3**n, None, 1.3)],
)
def test_the_law_is_found(law, degree, factor):
    rng = np.random.default_rng(2)
    costs = {n: law(n) * rng.lognormal(sigma=0.1, size=25) for n in SIZES}
    found = growth(costs)
    assert found.sizes == 4
    if degree is not None:
        assert found.degree.ci95[0] < degree < found.degree.ci95[1]
        assert found.polynomial_error < found.exponential_error
        assert found.polynomial_share > 0.95
    else:
        assert found.factor.ci95[0] < factor < found.factor.ci95[1]
        assert found.exponential_error < found.polynomial_error
        assert found.polynomial_share < 0.05


def test_sizes_that_are_never_reached_are_left_out():
    costs = {n: np.full(6, float(n)) for n in SIZES}
    costs[40][:3] = np.inf
    assert growth(costs).sizes == 4  # half of them get there
    costs[40][:4] = np.inf
    found = growth(costs)
    assert found.sizes == 3
    assert found.degree.value == pytest.approx(1.0)
    costs[20][:] = np.inf
    assert growth(costs) is None
    assert median_cost(costs[20]) == np.inf


def test_few_runs_have_no_interval():
    found = growth({n: np.full(4, float(n)) for n in SIZES})
    assert found.degree.value == pytest.approx(1.0)
    assert np.isnan(found.degree.half)
    assert np.isnan(found.polynomial_share)
