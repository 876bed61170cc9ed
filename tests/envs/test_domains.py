"""The built-in domains against what is printed of them."""

import re

import numpy as np
import pytest

from countless.core.errors import BadInput
from countless.envs import build_mdp, make_mdp
from countless.envs.catalog import DOMAINS
from countless.envs.solve import (
    greedy_policy,
    optimal_gain,
    optimal_q,
    optimal_return,
    policy_return,
    policy_values,
    successor_representation,
    transition_matrix,
    uniform_policy,
)

NAMES = [
    "riverswim", "riverswim-9", "sixarms", "sixarms-1660", "chain-7", "deepsea-6", "bsuite-deepsea-6",
    "gridworld-5", "fourrooms",
]  # fmt: skip


def test_every_domain_of_the_catalogue_is_tested():
    stems = {name if name.endswith("1660") else re.sub(r"-\d+$", "", name) for name in NAMES}
    assert stems == {domain.name for domain in DOMAINS}


@pytest.mark.parametrize("name", NAMES)
def test_solutions_agree_with_each_other(name):
    mdp = make_mdp(name)
    q = optimal_q(mdp, 0.9)
    v = policy_values(mdp, greedy_policy(q), 0.9)
    np.testing.assert_allclose(q.max(axis=1), v, rtol=1e-8, atol=1e-8)
    uniform = uniform_policy(mdp)
    psi = successor_representation(mdp, uniform, 0.9)
    np.testing.assert_allclose(
        psi @ (np.eye(mdp.n_states) - 0.9 * transition_matrix(mdp, uniform)),
        np.eye(mdp.n_states),
        atol=1e-9,
    )
    best = optimal_return(mdp, 60)
    assert policy_return(mdp, greedy_policy(q), 60) <= best + 1e-9
    assert policy_return(mdp, uniform, 60) <= best + 1e-9


def test_riverswim_reference_values():
    mdp = make_mdp("riverswim")
    q = optimal_q(mdp, 0.95)
    np.testing.assert_allclose(q.max(axis=1), [6138, 7215, 8839, 10932, 13547, 16796], atol=0.6)
    assert (q.argmax(axis=1) == 0).all()  # always right
    assert optimal_return(mdp, 5000) == pytest.approx(3.336e6, abs=600)
    assert mdp.start.tolist() == [0, 0.5, 0.5, 0, 0, 0]


def test_six_states_are_the_paper_s_river():
    assert make_mdp("riverswim-6").fingerprint == make_mdp("riverswim").fingerprint
    assert make_mdp("riverswim-6").name == "riverswim"  # and so its jobs


@pytest.mark.parametrize("size", [3, 9, 50])
def test_a_longer_river_has_more_of_the_same_states(size):
    mdp, paper = make_mdp(f"riverswim-{size}"), make_mdp("riverswim")

    def moves(of, s):
        rows = of.state == s
        steps = of.next_state[rows] - s
        return list(zip(of.action[rows], steps, of.reward[rows], of.probability[rows], strict=True))

    assert mdp.n_states == size
    assert moves(mdp, 0) == moves(paper, 0)
    assert moves(mdp, size - 1) == moves(paper, 5)
    for s in range(1, size - 1):
        assert moves(mdp, s) == moves(paper, 2)
    assert mdp.start.tolist() == [0, 0.5, 0.5] + [0] * (size - 3)


@pytest.mark.parametrize("size", [4, 6, 25, 50])
def test_gain_of_riverswim_by_balance(size):
    """Always right is best; what flows right over each border flows back left."""
    share = [1.0]
    for s in range(size - 1):
        share.append(share[-1] * 0.3 / (0.7 if s + 1 == size - 1 else 0.1))
    gain = 10_000 * 0.3 * share[-1] / sum(share)
    assert optimal_gain(make_mdp(f"riverswim-{size}")) == pytest.approx(gain, rel=1e-7)


@pytest.mark.parametrize("name", ["sixarms", "chain-7", "fourrooms", "gridworld-5", "riverswim-9"])
def test_gain_is_what_long_returns_grow_by(name):
    mdp = make_mdp(name)
    grown = optimal_return(mdp, 4000) - optimal_return(mdp, 2000)
    assert optimal_gain(mdp) == pytest.approx(grown / 2000, rel=2e-3)


def test_gain_of_episodes_of_one_length():
    for size in (3, 10):
        assert optimal_gain(make_mdp(f"deepsea-{size}")) == pytest.approx(0.99 / size, rel=1e-7)


def test_no_gain_where_it_depends_on_the_start(monkeypatch):
    monkeypatch.setattr("countless.envs.solve.MOST_SWEEPS", 500)
    mdp = build_mdp("two ponds", ([0, 1], [0, 0], [0, 1], [1.0, 2.0], [1.0, 1.0]), [0.5, 0.5])
    with pytest.raises(BadInput, match="two ponds: the best average reward is not the same"):
        optimal_gain(mdp)


def test_sixarms_reference_values():
    mdp = make_mdp("sixarms-1660")
    q = optimal_q(mdp, 0.95)
    np.testing.assert_allclose(
        q.max(axis=1), [19160, 18202, 18202, 18202, 18202, 33200, 120000], atol=0.6
    )
    np.testing.assert_allclose(q[0], [17292, 18065, 18111, 18156, 18602, 19160], atol=0.6)
    assert optimal_return(mdp, 5000) == pytest.approx(29.40e6, abs=5000)


def test_sixarms_switch():
    released, printed = make_mdp("sixarms"), make_mdp("sixarms-1660")
    assert sorted(set(released.reward)) == [0, 50, 133, 300, 800, 1666, 6000]
    assert sorted(set(printed.reward)) == [0, 50, 133, 300, 800, 1660, 6000]
    assert released.fingerprint != printed.fingerprint


def test_sixarms_state_1_leaves_on_action_4_only():
    mdp = make_mdp("sixarms")
    rows = (mdp.state == 1) & (mdp.next_state == 0)
    assert mdp.action[rows].tolist() == [4]


def test_deepsea_pays_for_the_dive():
    mdp = make_mdp("deepsea-10")
    # Ten steps right cost 0.01 in all and find 1.
    assert optimal_return(mdp, 10) == pytest.approx(0.99)
    assert optimal_return(mdp, 9) == pytest.approx(0.0)
    assert optimal_return(mdp, 25) == pytest.approx(2 * 0.99)


def test_fourrooms_has_four_rooms():
    mdp = make_mdp("fourrooms")
    assert mdp.n_states == 104
    q = optimal_q(mdp, 0.9)
    # The shortest way from corner to corner takes 20 steps.
    assert q[0].max() == pytest.approx(0.9**19)


def test_gridworld_and_chain_distances():
    assert optimal_q(make_mdp("gridworld-5"), 0.9)[0].max() == pytest.approx(0.9**7)
    chain = optimal_q(make_mdp("chain-5"), 0.5)
    assert chain[4].max() == pytest.approx(2.0)
    assert chain[0].max() == pytest.approx(2.0 * 0.5**4)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("riverswin", "unknown environment 'riverswin'; did you mean 'riverswim'"),
        ("deepsea", "needs a size: deepsea-10"),
        ("deepsea-x", "needs a size"),
        ("riverswim-x", "needs a size: riverswim-10"),
        ("riverswim-2", "riverswim: the size must be from 3 to 1,000, not 2"),
        ("deepsea-1", "the size must be from 2 to 300, not 1"),
        ("Nonsense-v0", "unknown Gymnasium environment"),
        ("CartPole-v1", "CartPole-v1: exposes no model"),
        ("no/such.mdp", "cannot be read"),
    ],
)
def test_names_that_are_none(name, message):
    with pytest.raises(BadInput, match=message):
        make_mdp(name)


def test_matrices_have_a_limit():
    mdp = make_mdp("chain-5000")
    with pytest.raises(BadInput, match="matrices are made for"):
        transition_matrix(mdp, uniform_policy(mdp))
