"""The kernels against their plain-Python twins: same draws, same trajectory, step by step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countless.agents.catalogue import make_agent, resolve
from countless.agents.tabular.agent import TabularAgent
from countless.agents.tabular.released.sarsa import pairwise_sum
from countless.agents.tabular.sarsa import Sarsa
from countless.agents.tabular.sarsa_counts import SarsaCounts
from countless.agents.tabular.sarsa_dr import SarsaDR
from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.agents.tabular.simulate import NORM, REWARD, SLOT, STATE, VALUE, simulate, trace_runs
from countless.agents.tabular.spie import Spie
from countless.envs import make_mdp
from countless.envs.mdp import MDP, build_mdp
from oracles.mdps import mdps, random_mdp
from oracles.sarsa import countless_run, released_runs


def assert_same(trace, twin):
    """A trace (steps, 5) is what the twin did."""
    assert len(twin) > 0
    for column, field in ((STATE, "state"), (SLOT, "slot"), (REWARD, "reward")):
        np.testing.assert_array_equal(
            trace[: len(twin), column], [getattr(step, field) for step in twin], err_msg=field
        )
    np.testing.assert_allclose(
        trace[: len(twin), VALUE], [step.value for step in twin], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        trace[: len(twin), NORM], [step.norm for step in twin], rtol=1e-9, atol=1e-12
    )


def check_against_twin(
    agent: TabularAgent, mdp: MDP, steps: int = 400, runs: int = 3, seed: int = 7
):
    agent = resolve(agent, mdp)
    trace = trace_runs(agent, mdp, runs=runs, steps=steps, seed=seed)
    returns = simulate([agent], mdp, runs=runs, steps=steps, seed=seed)[0]
    for run in range(runs):
        twin = countless_run(agent, mdp, run=run, steps=steps, seed=seed)
        assert len(twin) == steps
        assert_same(trace[run], twin)
        assert returns[run] == pytest.approx(sum(step.reward for step in twin))


agents = st.one_of(
    st.builds(
        Sarsa,
        alpha=st.floats(0.01, 1.0),
        epsilon=st.floats(0.0, 1.0),
        gamma=st.floats(0.0, 0.99),
        update=st.sampled_from(["resampled", "executed"]),
        time_limit=st.sampled_from(["terminal", "truncation"]),
    ),
    st.builds(
        SarsaSR,
        alpha=st.floats(0.01, 1.0),
        eta=st.floats(0.01, 1.0),
        gamma_sr=st.floats(0.0, 0.99),
        beta=st.floats(0.0, 100.0),
        epsilon=st.floats(0.0, 1.0),
        initial_value=st.sampled_from([0.0, 0.5, 100.0]),
        norm=st.sampled_from([1.0, 2.0]),
        update=st.sampled_from(["resampled", "executed"]),
        time_limit=st.sampled_from(["terminal", "truncation"]),
    ),
    st.builds(
        SarsaDR,
        alpha=st.floats(0.01, 1.0),
        eta=st.floats(0.01, 1.0),
        lambda_dr=st.floats(0.01, 10.0),
        beta=st.floats(0.0, 100.0),
        epsilon=st.floats(0.0, 1.0),
        initial_value=st.sampled_from([0.0, 0.5, 100.0]),
        seen_rewards=st.sampled_from(["scaled", "none"]),
        update=st.sampled_from(["resampled", "executed"]),
        time_limit=st.sampled_from(["terminal", "truncation"]),
    ),
    st.builds(
        SarsaCounts,
        alpha=st.floats(0.01, 1.0),
        beta=st.floats(0.0, 100.0),
        epsilon=st.floats(0.0, 1.0),
        update=st.sampled_from(["resampled", "executed"]),
    ),
    st.builds(
        Spie,
        alpha=st.floats(0.01, 1.0),
        eta=st.floats(0.01, 1.0),
        gamma_sr=st.floats(0.0, 0.99),
        beta=st.floats(0.0, 100.0),
        epsilon=st.floats(0.0, 1.0),
        update=st.sampled_from(["resampled", "executed"]),
        time_limit=st.sampled_from(["terminal", "truncation"]),
    ),
)


@given(agents, mdps, st.integers(0, 2**63 - 1))
@settings(max_examples=60, deadline=None)
def test_random_mdps(agent, mdp, seed):
    check_against_twin(agent, mdp, steps=150, runs=2, seed=seed)


@pytest.mark.parametrize("env", ["riverswim", "sixarms"])
@pytest.mark.parametrize("name", ["sarsa", "sarsa-sr", "sarsa-dr", "sarsa-counts", "spie"])
def test_the_papers_domains(env, name):
    check_against_twin(make_agent(name, env), make_mdp(env), steps=3000, runs=2)


@pytest.mark.parametrize("norm", [1.5, 3.0, float("inf")])
def test_any_norm(norm):
    check_against_twin(make_agent("sarsa-sr", "riverswim", {"norm": norm}), make_mdp("riverswim"))


def test_restarts():
    check_against_twin(SarsaSR(), make_mdp("deepsea-4"))
    check_against_twin(SarsaSR(update="executed"), make_mdp("FrozenLake-v1"))
    check_against_twin(SarsaDR(), make_mdp("deepsea-4"))


def test_many_actions_and_outcomes():
    """More than eight of either: the tables are then looped over, not unrolled."""
    rng = np.random.default_rng(0)
    rows = [
        (s, a, to, rng.normal(), p)
        for s in range(10)
        for a in range(9)
        for to, p in enumerate(rng.dirichlet(np.ones(10)))
    ]
    columns = tuple(np.array(column) for column in zip(*rows, strict=True))
    dense = build_mdp("dense", columns, rng.dirichlet(np.ones(10)))
    check_against_twin(SarsaSR(norm=2.0, epsilon=0.2), dense)


replayable = st.one_of(
    st.builds(Sarsa, alpha=st.floats(0.01, 1.0), epsilon=st.floats(0.0, 1.0)),
    st.builds(
        SarsaSR,
        alpha=st.floats(0.01, 1.0),
        eta=st.floats(0.01, 1.0),
        gamma_sr=st.floats(0.0, 0.99),
        epsilon=st.floats(0.0, 1.0),
        norm=st.sampled_from([1.0, 2.0]),
        update=st.sampled_from(["resampled", "executed"]),
        time_limit=st.sampled_from(["terminal", "truncation"]),
    ),
    st.builds(
        SarsaDR,
        alpha=st.floats(0.01, 1.0),
        eta=st.floats(0.01, 1.0),
        lambda_dr=st.floats(0.1, 10.0),
        epsilon=st.floats(0.0, 1.0),
        seen_rewards=st.sampled_from(["scaled", "none"]),
        time_limit=st.sampled_from(["terminal", "truncation"]),
    ),
)


@given(replayable, st.integers(0, 10**6), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_replay_of_the_released_scripts(agent, mdp_seed, episodic, seed):
    mdp = random_mdp(mdp_seed, episodic=episodic)
    agent = resolve(agent, mdp)
    trace = trace_runs(agent, mdp, runs=3, steps=120, seed=seed, rng="authors")
    returns = simulate([agent], mdp, runs=3, steps=120, seed=seed, rng="authors")[0]
    twins = released_runs(agent, mdp, runs=3, steps=120, seed=seed)
    for run, twin in enumerate(twins):
        assert_same(trace[run], twin)
        assert returns[run] == pytest.approx(sum(step.reward for step in twin))


def test_replay_keeps_numpys_order_of_sums():
    """With many states the order in which a norm is added up shows in the last bit."""
    rng = np.random.default_rng(0)
    for n in [*range(1, 140), 256, 1000, 5001]:
        x = rng.random(n)
        assert pairwise_sum(x) == np.add.reduce(x)
    mdp = make_mdp("chain-200")
    agent = resolve(SarsaSR(epsilon=0.5, alpha=0.5), mdp)
    trace = trace_runs(agent, mdp, runs=1, steps=2000, seed=3, rng="authors")[0]
    twin = released_runs(agent, mdp, runs=1, steps=2000, seed=3)[0]
    assert trace[:, NORM].tolist() == [step.norm for step in twin]
