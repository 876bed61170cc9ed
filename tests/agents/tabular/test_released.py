"""ESSR as the released code plans: against its twin, its replay to the digit, its limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countless.agents.catalogue import make_agent
from countless.agents.tabular.essr import Essr
from countless.agents.tabular.kernels.evaluation_sweeps import (
    new_sweeps,
    sweep,
    sweep_times,
    sweep_until_stable,
)
from countless.agents.tabular.simulate import NORM, REWARD, SLOT, STATE, VALUE, simulate, trace_runs
from countless.core.errors import BadInput
from countless.envs import build_mdp, make_mdp
from countless.runs.run import run
from oracles.mdps import random_mdp
from oracles.released import released_essr_run, replayed_essr_runs


def compare(trace, twin):
    for column, field in ((STATE, "state"), (SLOT, "slot"), (REWARD, "reward")):
        np.testing.assert_array_equal(
            trace[:, column], [getattr(step, field) for step in twin], err_msg=field
        )
    scale = max(1.0, np.abs(trace[:, VALUE]).max())
    np.testing.assert_allclose(trace[:, NORM], [step.norm for step in twin], rtol=1e-7)
    np.testing.assert_allclose(trace[:, VALUE], [step.value for step in twin], atol=1e-6 * scale)


essr_agents = st.builds(
    Essr,
    beta=st.floats(0.1, 50.0),
    epsilon=st.sampled_from([0.0, 0.3]),
    gamma=st.floats(0.3, 0.9),
    planner=st.just("released"),
    variant=st.sampled_from(["paper", "authors"]),
    bonus=st.sampled_from(["ssr", "counts", "off"]),
    pseudo_counts=st.sampled_from([None, True, False]),
    bonus_at=st.sampled_from(["variant", "left", "entered"]),
    explore=st.sampled_from(["variant", "all", "ends"]),
)


@given(essr_agents, st.integers(0, 10**6), st.booleans(), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=12)
def test_twin_in_random_mdps(agent, mdp_seed, episodic, ragged, seed):
    mdp = random_mdp(mdp_seed, episodic=episodic, ragged=ragged)
    trace = trace_runs(agent, mdp, runs=1, steps=15, seed=seed)[0]
    compare(trace, released_essr_run(agent, mdp, run=0, steps=15, seed=seed))


@pytest.mark.parametrize("env", ["riverswim", "sixarms"])
def test_twin_in_the_papers_domains(env):
    agent, mdp = make_agent("essr", env), make_mdp(env)
    trace = trace_runs(agent, mdp, runs=1, steps=20, seed=3)[0]
    compare(trace, released_essr_run(agent, mdp, run=0, steps=20, seed=3))


@pytest.mark.parametrize(
    ("env", "parameters", "steps"),
    [
        ("riverswim", {}, 80),
        ("riverswim", {"epsilon": 0.2, "beta": 1.0}, 60),
        ("riverswim", {"bonus": "counts", "bonus_at": "left"}, 60),
        ("sixarms", {}, 6),
    ],
)
def test_the_replay_is_its_twin_bit_for_bit(env, parameters, steps):
    agent, mdp = make_agent("essr", env, parameters), make_mdp(env)
    traces = trace_runs(agent, mdp, runs=2, steps=steps, seed=5, rng="authors")
    twins = replayed_essr_runs(agent, mdp, runs=2, steps=steps, seed=5)
    for trace, twin in zip(traces, twins, strict=True):
        compare(trace, twin)


# What the released script itself printed for these seeds, time limits and epsilons.
SCRIPT = [
    ("riverswim", 5000, 2, 0.0, [2_670_335, 2_860_315, 3_220_310, 3_070_360]),
    ("riverswim", 500, 5, 0.1, [90_230, 190, 100_195, 195, 180_175, 200_155]),
    (
        "sixarms", 400, 2, 0.0,
        [414_588, 24_043, 193_650, 9_394, 94_100, 11_288, 1_966_850, 575_138],
    ),
    ("sixarms", 5000, 2, 0.0, [8_078_188]),
]  # fmt: skip


@pytest.mark.parametrize(("env", "steps", "seed", "epsilon", "returns"), SCRIPT)
def test_the_released_script_to_the_digit(env, steps, seed, epsilon, returns):
    result = run(
        "essr", env, runs=len(returns), steps=steps, seed=seed, rng="authors", epsilon=epsilon
    )
    assert result.returns.tolist() == returns


@pytest.mark.parametrize(
    ("env", "mean", "half"), [("riverswim", 3.05e6, 0.08e6), ("sixarms", 6.0e6, 2.0e6)]
)
def test_measured_elsewhere(env, mean, half):
    returns = simulate([make_agent("essr", env)], make_mdp(env), runs=100, steps=5000, seed=1)[0]
    assert returns.mean() == pytest.approx(mean, abs=half)


def test_variants_set_the_planner():
    assert Essr(variant="authors").plans_as_released
    assert not Essr(variant="paper").plans_as_released
    assert not Essr(variant="authors", planner="exact").plans_as_released


def test_a_chain_in_which_the_released_test_is_never_met():
    """Eighteen states of tied actions: their policy iteration would spin; its end is drawn."""
    mdp = make_mdp("chain-20")
    assert np.isfinite(
        simulate([Essr(beta=1.0, variant="authors")], mdp, runs=1, steps=50, seed=0)
    ).all()


def test_more_actions_than_states():
    mdp = build_mdp("broad", ([0, 0], [0, 1], [0, 0], [0.0, 1.0], [1.0, 1.0]), [1.0])
    with pytest.raises(BadInput, match="broad has 2 actions and 1 states"):
        simulate([Essr(variant="authors")], mdp, runs=1, steps=1, seed=0)
    simulate([Essr(planner="exact")], mdp, runs=1, steps=1, seed=0)


def test_what_a_replay_refuses():
    with pytest.raises(BadInput, match="planner='released' and explore='ends' only"):
        run("essr", "riverswim", rng="authors", planner="exact")
    agent, mdp = Essr(variant="authors"), random_mdp(3, episodic=True)
    with pytest.raises(BadInput, match="no terminal state"):
        simulate([agent], mdp, runs=1, steps=1, seed=0, rng="authors")


@given(st.integers(0, 10**6), st.integers(1, 7), st.floats(0.1, 0.97))
def test_many_sweeps_at_once(seed, states, gamma):
    rng = np.random.default_rng(seed)
    sweeps = new_sweeps(states)
    sweeps.row[:] = gamma * rng.dirichlet(np.ones(states), states)
    sweeps.reward[:] = rng.normal(size=states) * 100
    start = rng.normal(size=states) * 1000
    one_by_one, at_once = start.copy(), start.copy()
    while sweep(sweeps.row, sweeps.reward, one_by_one) > 0.01:
        pass
    assert 0.0 <= sweep_until_stable(sweeps, at_once, 0.01, 1) <= 0.01
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-9, atol=1e-9)
    sweep_times(sweeps, at_once, 37)
    for _ in range(37):
        sweep(sweeps.row, sweeps.reward, one_by_one)
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-9, atol=1e-9)
