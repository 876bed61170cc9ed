"""The tabular SR norm against Eq. 4 written out, and its streams."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countless.bonuses import Batch, make_bonus
from countless.core.errors import BadInput


def literal_sr(n, transitions, eta, gamma):
    """Eq. 4 of the paper, entry by entry."""
    psi = np.zeros((n, n))
    for s, s_next, done in transitions:
        old = psi.copy()
        for j in range(n):
            follow = 0.0 if done else gamma * old[s_next, j]
            psi[s, j] = old[s, j] + eta * (float(s == j) + follow - old[s, j])
    return psi


@given(st.integers(0, 10**6), st.sampled_from([1.0, 2.0, 3.5, np.inf]))
def test_it_is_equation_4(seed, norm):
    rng = np.random.default_rng(seed)
    bonus = make_bonus("sr-norm", 5, norm=norm, eta=0.3, gamma=0.9, beta=2.0)
    states, after, dones = rng.integers(0, 5, 60), rng.integers(0, 5, 60), rng.random(60) < 0.1
    bonus.update(Batch(states, after, dones=dones))
    psi = literal_sr(5, zip(states, after, dones, strict=True), 0.3, 0.9)
    norms = np.linalg.norm(psi, ord=norm, axis=1)
    np.testing.assert_allclose(bonus.norms(), norms, rtol=1e-9, atol=1e-12)
    visited = np.unique(states)
    np.testing.assert_allclose(bonus.compute(visited), 2.0 / norms[visited], rtol=1e-9)


def test_first_visit_pays_beta_over_eta():
    bonus = make_bonus("sr-norm", 4, beta=100.0, eta=0.01)
    assert bonus.observe([2], next_observations=[3]).tolist() == [10_000.0]
    assert bonus.compute([0]).tolist() == [10_000.0]


@pytest.mark.parametrize("name", ["sr-norm", "ssr"])
def test_a_stream_is_its_transitions(name):
    linked, whole = make_bonus(name, 6), make_bonus(name, 6)
    path = np.random.default_rng(0).integers(0, 6, (40, 3))
    starts = np.random.default_rng(1).random((40, 3)) < 0.2
    for t in range(40):
        linked.observe(path[t], starts=starts[t])
        goes_on = ~starts[t]
        if t and goes_on.any():
            whole.update(Batch(path[t - 1][goes_on], path[t][goes_on]))
    np.testing.assert_array_equal(linked.compute(np.arange(6)), whole.compute(np.arange(6)))


@pytest.mark.parametrize("name", ["sr-norm", "ssr"])
def test_transitions_must_be_whole(name):
    bonus = make_bonus(name, 6)
    with pytest.raises(BadInput, match="the batch needs next_observations"):
        bonus.update([1, 2])
    with pytest.raises(BadInput, match="1 next observations for 2 observations"):
        bonus.update(Batch([1, 2], [3]))
    with pytest.raises(BadInput, match="3 flags for 2 observations"):
        bonus.update(Batch([1, 2], [3, 4], dones=[True, False, True]))
    bonus.observe([1, 2])
    with pytest.raises(BadInput, match="3 environments, but 2 in the last call"):
        bonus.observe([1, 2, 3])


def test_ssr_is_the_papers_penalty_up_to_a_constant():
    bonus = make_bonus("ssr", 5, gamma=0.9, beta=3.0)
    rng = np.random.default_rng(0)
    bonus.update(Batch(rng.integers(0, 5, 50), rng.integers(0, 5, 50)))
    penalty = np.array([bonus.ssr.bonus(s) for s in range(5)])
    np.testing.assert_allclose(bonus.compute(np.arange(5)), 3.0 * (10.0 + penalty))
