"""Tiny problems whose answers are known on paper."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countless.agents.catalogue import resolve
from countless.agents.tabular.sarsa import Sarsa
from countless.agents.tabular.sarsa_dr import SarsaDR
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.agents.tabular.simulate import NORM, SLOT, STATE, VALUE, trace_runs
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


def line(rewards, *, closed):
    """One action, always on to the next state: round a cycle, or to a terminal state."""
    if not closed:
        rewards = [*rewards, 0.0]
    n = len(rewards)
    states = np.arange(n)
    columns = (states, np.zeros(n), (states + 1) % n, rewards, np.ones(n))
    return build_mdp("line", columns, np.eye(n)[0], terminal=() if closed else (n - 1,))


# From 0 to the largest: what the DR sees is (r - 4) / 4.
REWARDS, LAMBDA = np.array([0.0, 4.0, 1.0, 3.0]), 1.5
WEIGHTS = np.exp((REWARDS - 4.0) / 4.0 / LAMBDA)


def learned_dr_norms(mdp, **options):
    agent = SarsaDR(eta=0.5, lambda_dr=LAMBDA, time_limit="truncation", **options)
    trace = trace_runs(resolve(agent, mdp), mdp, runs=1, steps=4000, seed=0)[0]
    return {int(row[STATE]): row[NORM] for row in trace}


def test_dr_of_a_chain():
    """To an end: Z(i, j) is the product of exp(r / lambda) over the states from i to j."""
    exact = np.array([[WEIGHTS[i : j + 1].prod() * (j >= i) for j in range(4)] for i in range(4)])
    norms = learned_dr_norms(line(REWARDS, closed=False))
    assert norms == pytest.approx(dict(enumerate(np.linalg.norm(exact, axis=1))), rel=1e-9)


def test_dr_of_a_cycle_is_the_inverse():
    exact = np.linalg.inv(np.diag(1.0 / WEIGHTS) - np.roll(np.eye(4), 1, axis=1))
    # By hand: once round the cycle is the product of all weights.
    assert exact[1, 1] == pytest.approx(WEIGHTS[1] / (1.0 - WEIGHTS.prod()))
    norms = learned_dr_norms(line(REWARDS, closed=True))
    assert norms == pytest.approx(dict(enumerate(np.linalg.norm(exact, axis=1))), rel=1e-9)


def test_dr_that_sees_no_reward_is_an_sr():
    """All rewards -1: exp(-1 / lambda) times the SR with that as its discount."""
    mdp, weight = line(REWARDS, closed=True), np.exp(-1.0 / LAMBDA)
    sr = successor_representation(mdp, np.ones((4, 1)), weight)
    norms = learned_dr_norms(mdp, seen_rewards="none")
    assert norms == pytest.approx(dict(enumerate(weight * np.linalg.norm(sr, axis=1))), rel=1e-9)


def test_dr_is_of_pairs_and_starts_as_the_identity():
    """Eta 1: an action's first step leaves exp(r / lambda) (1_sa + Z(s', a')), Z(s', a') = 1_s'a'."""
    mdp = build_mdp("two", ([0, 0], [0, 1], [0, 0], [0.0, 2.0], [1.0, 1.0]), [1.0])
    agent = SarsaDR(eta=1.0, epsilon=1.0, beta=1.0, initial_value=0.0, time_limit="truncation")
    for run in trace_runs(agent, mdp, runs=20, steps=1, seed=0, rng="countless"):
        weight = np.exp(-1.0) if run[0, SLOT] == 0 else 1.0
        # a' is the action itself, or the other one.
        options = (2.0 * weight, np.sqrt(2.0) * weight)
        assert min(abs(run[0, NORM] - norm) for norm in options) < 1e-12


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
