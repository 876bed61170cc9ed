"""Tiny problems whose answers are known on paper."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countless.agents.tabular.sarsa import Sarsa
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.agents.tabular.simulate import NORM, STATE, VALUE, trace_runs
from countless.envs import build_mdp, make_mdp
from countless.envs.solve import (
    expected_reward,
    policy_values,
    successor_representation,
    transition_matrix,
    uniform_policy,
)
from oracles.mdps import mdps


def test_sr_of_a_chain():
    """Always right: from i the walk is at j after j - i steps, then stays at the end."""
    n, gamma = 6, 0.9
    mdp = make_mdp(f"chain-{n}")
    policy = np.tile([0.0, 1.0], (n, 1))
    expected = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            expected[i, j] = gamma ** (j - i) / (1 - gamma if j == n - 1 else 1)
    np.testing.assert_allclose(successor_representation(mdp, policy, gamma), expected)


@given(mdps, st.floats(0.0, 0.99))
def test_sr_is_the_inverse_and_gives_the_values(mdp, gamma):
    policy = uniform_policy(mdp)
    psi = successor_representation(mdp, policy, gamma)
    matrix = transition_matrix(mdp, policy)
    np.testing.assert_allclose(psi, np.eye(mdp.n_states) + gamma * matrix @ psi, atol=1e-8)
    np.testing.assert_allclose(
        psi @ expected_reward(mdp, policy), policy_values(mdp, policy, gamma), atol=1e-8
    )
    if not mdp.terminated.any():
        np.testing.assert_allclose(psi.sum(axis=1), 1 / (1 - gamma))


@given(mdps)
@settings(max_examples=20, deadline=None)
def test_learned_norm_stays_below_its_limit(mdp):
    """From zero the norm approaches 1 / (1 - gamma) from below and never passes it."""
    agent = SarsaSR(eta=0.3, gamma_sr=0.8, epsilon=1.0, beta=1.0)
    trace = trace_runs(agent, mdp, runs=2, steps=2000, seed=0)
    norms = trace[:, :, NORM]
    assert norms.min() >= 0.3 - 1e-12
    assert norms.max() <= 1 / (1 - 0.8) + 1e-9


def test_learned_norm_reaches_its_limit():
    mdp = make_mdp("riverswim")
    agent = SarsaSR(eta=0.5, gamma_sr=0.8, epsilon=1.0, beta=0.0, time_limit="truncation")
    trace = trace_runs(agent, mdp, runs=1, steps=20_000, seed=0)[0]
    assert trace[-1, NORM] == pytest.approx(5.0, rel=1e-3)
    # Visited once, a state's norm is eta (1 + gamma n(s')), with n(s') = 0 at first.
    assert trace[0, NORM] == 0.5
    assert trace[0, STATE] in (1, 2)


def test_sr_matrix_converges_to_the_inverse():
    """With a decided policy and no noise the l2 norm of each learned row is that of (I - gP)^-1."""
    n = 4
    states = np.arange(n)
    cycle = build_mdp(
        "cycle", (states, np.zeros(n), (states + 1) % n, np.zeros(n), np.ones(n)), np.eye(n)[0]
    )
    agent = SarsaSR(norm=2.0, eta=0.5, gamma_sr=0.7, time_limit="truncation")
    trace = trace_runs(agent, cycle, runs=1, steps=2000, seed=0)[0]
    exact = successor_representation(cycle, np.ones((n, 1)), 0.7)
    for row in trace[-n:]:
        assert row[NORM] == pytest.approx(np.linalg.norm(exact[int(row[STATE])]), rel=1e-12)


def test_sarsa_learns_the_values_of_a_chain():
    """One action, reward 1 a step: q must reach 1 / (1 - gamma)."""
    loop = build_mdp("loop", ([0], [0], [0], [1.0], [1.0]), [1.0])
    agent = Sarsa(alpha=0.5, epsilon=0.0, gamma=0.9, time_limit="truncation")
    trace = trace_runs(agent, loop, runs=1, steps=1000, seed=0)[0]
    assert trace[-1, VALUE] == pytest.approx(10.0)


@pytest.mark.parametrize(("time_limit", "last"), [("terminal", 1.0), ("truncation", 1.9)])
def test_time_limit_switch(time_limit, last):
    """With alpha 1 the last update shows whether it bootstraps: 1 or 1 + 0.9."""
    loop = build_mdp("loop", ([0], [0], [0], [1.0], [1.0]), [1.0])
    agent = Sarsa(alpha=1.0, epsilon=0.0, gamma=0.9, time_limit=time_limit)
    trace = trace_runs(agent, loop, runs=1, steps=2, seed=0)[0]
    assert trace[:, VALUE].tolist() == [1.0, last]
