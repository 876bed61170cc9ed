"""What must not change a bit, what must, and the agents that do not learn."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countless.agents.catalogue import make_agent
from countless.agents.tabular import TABULAR_AGENTS
from countless.agents.tabular import sarsa_family as module
from countless.agents.tabular.kernels import mdp_arrays
from countless.agents.tabular.optimal import OptimalAgent
from countless.agents.tabular.sarsa import Sarsa
from countless.agents.tabular.sarsa_dr import SarsaDR
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.agents.tabular.simulate import STATE, simulate, trace_runs
from countless.agents.tabular.uniform_random import RandomAgent
from countless.core.errors import BadInput, CountlessError
from countless.envs import build_mdp, make_mdp
from countless.envs.catalog import DOMAINS
from countless.envs.solve import greedy_policy, optimal_q, policy_return, uniform_policy

RIVERSWIM = make_mdp("riverswim")


@given(
    threads=st.integers(1, 4),
    chunk=st.integers(50, 20_000),
    lanes=st.integers(1, 40),
    kind=st.sampled_from([SarsaSR, partial(SarsaSR, norm=2.0), SarsaDR]),
)
@settings(max_examples=25, deadline=None)
def test_threads_chunks_and_lanes_change_nothing(threads, chunk, lanes, kind):
    agents = [kind(), kind(beta=10)]
    expected = simulate(agents, RIVERSWIM, runs=23, steps=200, seed=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_LANES", lanes)
        got = simulate(
            agents, RIVERSWIM, runs=23, steps=200, seed=5, threads=threads, chunk_steps=chunk
        )
    np.testing.assert_array_equal(got, expected)


def test_a_run_is_the_same_alone_and_among_others():
    agents = [SarsaSR(), SarsaSR(alpha=0.5), SarsaSR(beta=1)]
    together = simulate(agents, RIVERSWIM, runs=10, steps=300, seed=1)
    for i, agent in enumerate(agents):
        alone = simulate([agent], RIVERSWIM, runs=4, steps=300, seed=1, first_run=6)[0]
        np.testing.assert_array_equal(alone, together[i, 6:])


def test_seeds_runs_and_settings_all_differ():
    agents = [SarsaSR(epsilon=1.0), SarsaSR(epsilon=1.0, beta=1.0)]
    walks = {
        walk[:, STATE].tobytes()
        for seed in (0, 1)
        for agent in agents
        for walk in trace_runs(agent, RIVERSWIM, runs=50, steps=100, seed=seed)
    }
    assert len(walks) == 200


def test_progress_adds_up():
    seen = []
    simulate(
        [Sarsa()], RIVERSWIM, runs=50, steps=100, seed=0, chunk_steps=700, progress=seen.append
    )
    assert sum(seen) == 5000
    assert len(seen) > 1


@pytest.mark.parametrize("env", ["riverswim", "sixarms", "deepsea-5", "FrozenLake-v1"])
def test_agents_that_do_not_learn_meet_the_exact_return(env):
    mdp = make_mdp(env)
    exact = {
        RandomAgent(): uniform_policy(mdp),
        OptimalAgent(): greedy_policy(optimal_q(mdp, 0.95)),
    }
    for agent, policy in exact.items():
        returns = simulate([agent], mdp, runs=4000, steps=200, seed=0)[0]
        error = returns.std(ddof=1) / np.sqrt(4000)
        if mdp.episode_limit is None:
            assert returns.mean() == pytest.approx(
                policy_return(mdp, policy, 200), abs=4 * error + 1e-9
            )
        else:
            assert np.isfinite(returns).all()


def test_optimal_is_the_ceiling():
    mdp = make_mdp("sixarms-1660")
    returns = simulate([OptimalAgent()], mdp, runs=2000, steps=5000, seed=0)[0]
    assert returns.mean() == pytest.approx(29.40e6, abs=0.05e6)


EVERYWHERE = [
    *(domain.name if domain.make else f"{domain.name}-4" for domain in DOMAINS),
    "FrozenLake-v1",
    "CliffWalking-v1",
    max(name for name in gymnasium.registry if name.startswith("Taxi-v")),
]


@pytest.fixture
def looped(monkeypatch):
    """Tables as arrays: one compiled kernel then serves MDPs of every shape."""
    monkeypatch.setattr(mdp_arrays, "UNROLLED", 0)


@pytest.mark.parametrize("env", EVERYWHERE)
@pytest.mark.parametrize("name", [kind.name for kind in TABULAR_AGENTS])
def test_every_agent_in_every_environment(name, env, looped):
    mdp = make_mdp(env)
    agent = make_agent(name, env)
    steps = 300 if mdp.n_states < 100 else 20
    first = simulate([agent], mdp, runs=5, steps=steps, seed=0, threads=1)
    again = simulate([agent], mdp, runs=5, steps=steps, seed=0, threads=3, chunk_steps=2 * steps)
    np.testing.assert_array_equal(first, again)
    alone = simulate([agent], mdp, runs=2, steps=steps, seed=0, first_run=3)
    np.testing.assert_array_equal(alone, first[:, 3:])
    low, high = mdp.reward.min() * steps, mdp.reward.max() * steps
    assert ((first >= low) & (first <= high)).all()


def test_unrolled_and_looped_tables_give_the_same_bits(monkeypatch):
    agents = [make_agent(name, "riverswim") for name in ("sarsa-sr", "rmax", "essr")]
    unrolled = [simulate([a], RIVERSWIM, runs=3, steps=300, seed=0) for a in agents]
    monkeypatch.setattr(mdp_arrays, "UNROLLED", 0)
    looped = [simulate([a], RIVERSWIM, runs=3, steps=300, seed=0) for a in agents]
    np.testing.assert_array_equal(unrolled, looped)


def test_an_episode_limit_restarts(looped):
    """A state that cannot be left but by the limit: one reward an episode."""
    once = build_mdp(
        "once", ([0, 1], [0, 0], [1, 1], [1.0, 0.0], [1.0, 1.0]), [1.0, 0.0], episode_limit=10
    )
    for agent in (RandomAgent(), OptimalAgent(), Sarsa(), make_agent("rmax")):
        assert simulate([agent], once, runs=1, steps=95, seed=0)[0, 0] == 10


@pytest.mark.parametrize("norm", [200.0, 1e6])
def test_large_norms_do_not_underflow(norm):
    large = simulate([SarsaSR(norm=norm)], RIVERSWIM, runs=400, steps=5000, seed=0).mean()
    limit = simulate([SarsaSR(norm=float("inf"))], RIVERSWIM, runs=400, steps=5000, seed=0).mean()
    assert large == pytest.approx(limit, rel=0.1)


@pytest.mark.parametrize("rng", ["countless", "authors"])
def test_values_beyond_all_numbers_are_said(rng):
    with pytest.raises(CountlessError, match="the values grew beyond all numbers"):
        simulate([SarsaSR(beta=1e308)], RIVERSWIM, runs=2, steps=500, seed=0, rng=rng)


def test_replayed_runs_are_the_same_in_slices():
    options = {"runs": 9, "steps": 200, "seed": 2, "rng": "authors"}
    whole = simulate([SarsaSR()], RIVERSWIM, **options)
    sliced = simulate([SarsaSR()], RIVERSWIM, **options, chunk_steps=400)
    np.testing.assert_array_equal(sliced, whole)


def test_the_released_scripts_take_seeds_of_32_bits():
    with pytest.raises(BadInput, match="takes seeds up to"):
        simulate([Sarsa()], RIVERSWIM, runs=1, steps=1, seed=2**32, rng="authors")


def test_a_matrix_has_a_limit():
    with pytest.raises(BadInput, match="keeps a matrix"):
        simulate([SarsaSR(norm=2)], make_mdp("chain-20000"), runs=1, steps=1, seed=0)
    with pytest.raises(BadInput, match="chain-6000 has 12,000 pairs, the most is 10,000"):
        simulate([SarsaDR()], make_mdp("chain-6000"), runs=1, steps=1, seed=0)


def test_what_the_default_representation_refuses():
    for temperature in (0.0, -1.0, float("nan"), 0.001):
        with pytest.raises(BadInput, match=r"lambda_dr must lie in \[0.01, inf\)"):
            SarsaDR(lambda_dr=temperature)
    with pytest.raises(BadInput, match="seen_rewards"):
        SarsaDR(seen_rewards="raw")
    idle = build_mdp("idle", ([0], [0], [0], [0.0], [1.0]), [1.0])
    with pytest.raises(
        BadInput, match="sarsa-dr needs the largest reward, and idle has none but 0"
    ):
        simulate([SarsaDR()], idle, runs=1, steps=1, seed=0)
    blind = simulate([SarsaDR(seen_rewards="none")], idle, runs=1, steps=1, seed=0)
    assert blind.tolist() == [[0.0]]


def test_actions_with_gaps():
    """State 0 offers actions 1 and 3 only; the reward is behind 3."""
    mdp = build_mdp(
        "gaps", ([0, 0, 1], [1, 3, 0], [0, 1, 0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]), [1.0, 0.0]
    )
    best = simulate([OptimalAgent()], mdp, runs=1, steps=100, seed=0)
    assert best[0, 0] == 50
    with pytest.raises(BadInput, match="state 0 offers actions 1, 3; they must be 0, 1"):
        simulate([Sarsa()], mdp, runs=1, steps=10, seed=0, rng="authors")


def test_what_the_released_scripts_cannot_run():
    with pytest.raises(BadInput, match="which have sarsa, sarsa-sr, sarsa-dr and essr, not"):
        simulate([RandomAgent()], RIVERSWIM, runs=1, steps=10, seed=0, rng="authors")
    with pytest.raises(BadInput, match="cannot run FrozenLake-v1"):
        simulate([Sarsa()], make_mdp("FrozenLake-v1"), runs=1, steps=10, seed=0, rng="authors")


def test_mixed_settings_are_refused():
    with pytest.raises(BadInput, match="must agree in agent, norm"):
        simulate([SarsaSR(), SarsaSR(norm=2)], RIVERSWIM, runs=1, steps=10, seed=0)


def test_the_bonus_is_what_makes_it_explore():
    """Without its bonus Sarsa+SR is Sarsa: the same updates, hence far less return."""
    agents = [make_agent("sarsa-sr", "riverswim", given) for given in ({}, {"beta": 0})]
    on, off = simulate(agents, RIVERSWIM, runs=200, steps=5000, seed=0).mean(axis=1)
    assert on > 5 * off


def test_lanes_shrink_with_the_tables():
    few = make_mdp("chain-100000")
    returns = simulate([SarsaSR(epsilon=1.0)], few, runs=2, steps=100, seed=0)
    assert returns.shape == (1, 2)
