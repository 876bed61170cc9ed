"""The substochastic SR: updates against the definition, and Theorem 1."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from countless.core.substochastic import count_visit, invert, row_residual, substochastic_sr
from countless.experiments.theorem1 import ROUNDING, check, random_counts

gammas = st.floats(0.0, 0.99)


@given(st.integers(0, 10**6), gammas)
def test_rank_one_updates_follow_the_definition(seed, gamma):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    visits, rows, inverse = np.zeros((n, n)), np.zeros((n, n)), np.eye(n)
    row, work = np.zeros(n), np.zeros(n)
    s = 0
    for _ in range(60):
        s_next = int(rng.integers(n))
        count_visit(visits, rows, gamma, inverse, s, s_next, row, work)
        s = s_next
    exact = substochastic_sr(visits, gamma)
    np.testing.assert_allclose(inverse, exact, atol=1e-9)
    assert row_residual(rows, gamma, inverse, s, inverse.sum(axis=1)) < 1e-9
    fresh = np.empty((n, n))
    invert(rows, gamma, fresh)
    np.testing.assert_allclose(fresh, exact, atol=1e-9)


@given(st.integers(0, 10**6), gammas)
def test_theorem_1(seed, gamma):
    checked = check(random_counts(np.random.default_rng(seed)), gamma)
    assert (checked["gap"] <= checked["upper"] + ROUNDING).all()
    assert (checked["gap"] >= checked["lower"] - ROUNDING).all()


@given(st.integers(1, 50), gammas)
def test_the_upper_bound_is_met_where_successors_were_never_left(n, gamma):
    counts = np.zeros((2, 2))
    counts[0, 1] = n
    checked = check(counts, gamma)
    np.testing.assert_allclose(checked["gap"], checked["upper"], atol=1e-12)
    # So the count can be read off the norm.
    if gamma > 0.01:
        assert round(gamma / checked["gap"][0] - 1) == n


def test_unvisited_states_have_norm_one():
    np.testing.assert_array_equal(substochastic_sr(np.zeros((3, 3)), 0.9), np.eye(3))
