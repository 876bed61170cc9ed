"""The model-based agents against plain twins, and the pieces they are made of."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import linprog

from countless.agents.catalogue import make_agent
from countless.agents.tabular import planners as planners_module
from countless.agents.tabular import task as task_module
from countless.agents.tabular.e3 import E3
from countless.agents.tabular.essr import Essr
from countless.agents.tabular.kernels.environment import open_stream
from countless.agents.tabular.kernels.optimism import optimistic
from countless.agents.tabular.kernels.psrl import log_gamma_variate, normal
from countless.agents.tabular.mbie import Mbie
from countless.agents.tabular.mbie_eb import MbieEb
from countless.agents.tabular.psrl import Psrl
from countless.agents.tabular.rmax import RMax
from countless.agents.tabular.simulate import NORM, REWARD, SLOT, STATE, VALUE, simulate, trace_runs
from countless.agents.tabular.ucrl2 import Ucrl2
from countless.core.errors import BadInput, CountlessError
from countless.core.seeding import seed_words
from countless.envs import build_mdp, make_mdp
from countless.envs.catalog import paper_domain
from countless.envs.solve import optimal_q
from oracles.mdps import random_mdp
from oracles.planning import best_in_ball, e3_run, essr_run, optimistic_run, psrl_run, ucrl2_run

TWINS = {
    "rmax": optimistic_run,
    "mbie": optimistic_run,
    "mbie-eb": optimistic_run,
    "essr": essr_run,
    "e3": e3_run,
    "ucrl2": ucrl2_run,
    "psrl": psrl_run,
}


def check(agent, mdp, steps=120, seed=3):
    trace = trace_runs(agent, mdp, runs=1, steps=steps, seed=seed)[0]
    twin = TWINS[agent.name](agent, mdp, run=0, steps=steps, seed=seed)
    for column, field in ((STATE, "state"), (SLOT, "slot"), (REWARD, "reward")):
        np.testing.assert_array_equal(
            trace[:, column], [getattr(step, field) for step in twin], err_msg=field
        )
    np.testing.assert_allclose(trace[:, NORM], [step.norm for step in twin], rtol=1e-7, atol=1e-9)
    scale = max(1.0, np.abs(trace[:, VALUE]).max())
    np.testing.assert_allclose(trace[:, VALUE], [step.value for step in twin], atol=1e-6 * scale)
    returns = simulate([agent], mdp, runs=1, steps=steps, seed=seed)[0]
    assert returns[0] == pytest.approx(sum(step.reward for step in twin))


# The reading `ssr` needs a discount below 0.5; the bounds stay clear of counts that tie with m.
COUNTS = {"counts": st.sampled_from(["true", "ssr", "ssr-low", "ssr-exact"])}
COUNTS["gamma_ssr"] = st.floats(0.001, 0.49)

planners = st.one_of(
    st.builds(RMax, m=st.integers(1, 5).map(float), gamma=st.floats(0.3, 0.95), **COUNTS),
    st.builds(Mbie, a=st.floats(0.0, 1.0), b=st.floats(0.01, 1.0), gamma=st.floats(0.3, 0.9)),
    st.builds(Ucrl2, a=st.floats(0.0, 1.0), b=st.floats(0.0, 1.0), gamma=st.floats(0.3, 0.9)),
    st.builds(Psrl, a=st.floats(0.0, 1.0), gamma=st.floats(0.3, 0.9)),
    st.builds(MbieEb, c=st.floats(0.0, 1.0), gamma=st.floats(0.3, 0.9), **COUNTS),
    st.builds(
        E3,
        m=st.integers(1, 4).map(float),
        threshold=st.floats(0.0, 0.5),
        escape=st.sampled_from(["horizon", "discounted"]),
        horizon=st.integers(1, 30).map(float),
        gamma=st.floats(0.3, 0.9),
        **COUNTS,
    ),
    st.builds(
        Essr,
        planner=st.just("exact"),
        beta=st.floats(0.0, 5.0),
        epsilon=st.sampled_from([0.0, 0.3]),
        gamma=st.floats(0.3, 0.9),
        variant=st.sampled_from(["paper", "authors"]),
        bonus=st.sampled_from(["ssr", "counts", "off"]),
        pseudo_counts=st.sampled_from([None, True, False]),
        bonus_at=st.sampled_from(["variant", "left", "entered"]),
    ),
)


@given(planners, st.integers(0, 10**6), st.booleans(), st.booleans(), st.integers(0, 2**32))
@example(  # all values below 0
    Mbie(a=4.5471558982449615e-82, b=0.24006103181306118, gamma=0.3355280412040154),
    999999, False, True, 23437,
)  # fmt: skip
@settings(max_examples=40)
def test_twins_in_random_mdps(agent, mdp_seed, episodic, ragged, seed):
    check(agent, random_mdp(mdp_seed, episodic=episodic, ragged=ragged), steps=40, seed=seed)


@pytest.mark.parametrize(
    "name", ["sarsa", "rmax", "e3", "mbie", "mbie-eb", "psrl", "ucrl2", "random", "optimal"]
)
def test_a_trace_has_no_norm_where_the_agent_has_none(name):
    trace = trace_runs(
        make_agent(name, "riverswim"), make_mdp("riverswim"), runs=1, steps=5, seed=0
    )
    assert np.isnan(trace[:, :, NORM]).all()


@pytest.mark.parametrize("env", ["riverswim", "sixarms"])
@pytest.mark.parametrize("name", list(TWINS))
def test_twins_in_the_papers_domains(name, env):
    exact = {"planner": "exact"} if name == "essr" else {}
    check(make_agent(name, env, exact), make_mdp(env), steps=30)


def test_ucrl2_plans_no_more_than_the_largest_reward_for_ever():
    """Jaksch, Ortner & Auer (2010): the rewards of a plausible MDP lie between 0 and Rmax."""
    mdp, agent = make_mdp("sixarms"), make_agent("ucrl2", "sixarms", {"a": 1.0, "b": 1.0})
    trace = trace_runs(agent, mdp, runs=1, steps=50_000, seed=0)[0]
    assert trace[:, VALUE].max() <= 6000 / (1 - agent.gamma) * (1 + 1e-9)
    tried = {(s, slot) for s, slot in trace[:, [STATE, SLOT]]}
    assert len(tried) == 42


def test_mbie_without_b_is_mbie_eb():
    mdp = make_mdp("riverswim")
    with pytest.MonkeyPatch.context() as patch:
        # The same streams: the two differ in name, hence in seed.
        patch.setattr(task_module, "configuration_key", lambda agent, mdp: (1, 2))
        mbie = trace_runs(Mbie(a=0.37, b=0.0), mdp, runs=2, steps=800, seed=0)
        bonus = trace_runs(MbieEb(c=0.37), mdp, runs=2, steps=800, seed=0)
    np.testing.assert_array_equal(mbie, bonus)


@given(
    st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any),
    st.lists(st.floats(-5, 5), min_size=4, max_size=4),
    st.floats(0.001, 2.5),
)
def test_the_inner_maximisation_is_the_linear_programme(counts, values, radius):
    """max T' V over the l1 ball: by us, by the twin, and by a solver."""
    count, value = np.array(counts, dtype=float), np.array(values)
    n, mass = count.sum(), np.zeros(3)
    best = int(value.argmax())
    gain = optimistic(
        np.arange(3, dtype=np.uint64),
        np.zeros(3, dtype=bool),
        count,
        0,
        n,
        radius,
        value,
        best,
        mass,
    )
    ours = gain * value[best] + mass @ value[:3]
    p = np.append(count / n, 0.0)
    # Variables: T' (4) and its distance from T in each state (4).
    distance = np.hstack([np.eye(4), -np.eye(4)])
    solved = linprog(
        np.append(-value, np.zeros(4)),
        A_ub=np.vstack(
            [distance, np.hstack([-np.eye(4), -np.eye(4)]), np.append(np.zeros(4), np.ones(4))]
        ),
        b_ub=np.concatenate([p, -p, [radius]]),
        A_eq=[[1.0] * 4 + [0.0] * 4],
        b_eq=[1.0],
    )
    assert ours == pytest.approx(-solved.fun, abs=1e-6)
    assert best_in_ball(p, value, radius) == pytest.approx(-solved.fun, abs=1e-6)


def test_with_all_pairs_known_rmax_plans_the_truth():
    """Deterministic and m = 1: once everything was tried the values are q*."""
    mdp = make_mdp("chain-4")
    trace = trace_runs(RMax(m=1, gamma=0.9), mdp, runs=1, steps=60, seed=0)[0]
    exact = optimal_q(mdp, 0.9)
    for row in trace[-5:]:
        assert row[VALUE] == pytest.approx(exact[int(row[STATE]), int(row[SLOT])], rel=1e-6)


def test_variates():
    stream = open_stream(seed_words(5), np.array([1, 2], dtype=np.uint32), 0)
    assert stats.kstest([normal(stream) for _ in range(4000)], "norm").pvalue > 1e-3
    for shape in (0.15, 1.0, 7.5):
        sample = np.exp([log_gamma_variate(shape, stream) for _ in range(4000)])
        assert stats.kstest(sample, stats.gamma(shape).cdf).pvalue > 1e-3


def test_psrl_settles_on_the_best():
    mdp = make_mdp("chain-3")
    returns = simulate([make_agent("psrl")], mdp, runs=50, steps=1000, seed=0)[0]
    assert np.median(returns) > 900


@pytest.mark.parametrize(
    ("name", "env", "mean", "half"),
    [
        ("rmax", "riverswim", 2.97e6, 0.1e6),
        ("mbie", "riverswim", 3.17e6, 0.08e6),
        ("mbie-eb", "riverswim", 3.11e6, 0.08e6),
        ("essr", "riverswim", 3.05e6, 0.08e6),
        ("e3", "riverswim", 2.95e6, 0.12e6),
        ("rmax", "sixarms-1660", 2.5e6, 0.5e6),
        ("mbie", "sixarms-1660", 10.0e6, 2.2e6),
        ("mbie-eb", "sixarms-1660", 10.5e6, 2.0e6),
        ("essr", "sixarms", 6.0e6, 1.8e6),
        ("e3", "sixarms-1660", 2.6e6, 0.9e6),
    ],
)
def test_measured_elsewhere(name, env, mean, half):
    mdp = make_mdp(env)
    exact = {"planner": "exact"} if name == "essr" else {}
    agent = make_agent(name, paper_domain(mdp), exact)
    returns = simulate([agent], mdp, runs=150, steps=5000, seed=1)[0]
    assert returns.mean() == pytest.approx(mean, abs=half)


@pytest.mark.parametrize(
    ("parameters", "low", "high"),
    [
        ({"variant": "paper"}, 0.4e6, 1.8e6),
        ({"beta": 0}, 0.0, 0.2e6),
        ({"bonus": "off"}, 0.0, 0.2e6),
        ({"bonus_at": "left"}, 2.9e6, 3.2e6),
        ({"pseudo_counts": False}, 0.2e6, 2.4e6),
    ],
)
def test_what_essr_needs(parameters, low, high):
    agent = make_agent("essr", "riverswim", parameters | {"planner": "exact"})
    returns = simulate([agent], make_mdp("riverswim"), runs=100, steps=5000, seed=1)[0]
    assert low <= returns.mean() <= high


def test_no_rewards_to_be_optimistic_about():
    mdp = build_mdp("dull", ([0], [0], [0], [0.0], [1.0]), [1.0])
    with pytest.raises(BadInput, match="rmax needs the largest reward, and dull has none but 0"):
        simulate([RMax()], mdp, runs=1, steps=1, seed=0)


def test_too_many_states_to_plan():
    with pytest.raises(BadInput, match="essr plans with a matrix"):
        simulate([Essr()], make_mdp("chain-6000"), runs=1, steps=1, seed=0)


def test_planning_that_does_not_converge_says_so(monkeypatch):
    monkeypatch.setattr(planners_module, "run_all", lambda *args: False)
    with pytest.raises(CountlessError, match="planning did not converge"):
        simulate([RMax()], make_mdp("riverswim"), runs=1, steps=1, seed=0)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("rmax", {"m": 0}, "m must lie in"),
        ("e3", {"threshold": 1.5}, r"threshold must lie in \[0, 1\]"),
        ("mbie", {"a": -0.1}, "a must lie in"),
        ("mbie", {"b": -0.1}, "b must lie in"),
        ("mbie-eb", {"c": -1}, "c must lie in"),
        ("essr", {"variant": "other"}, "variant must be one of paper, authors"),
        ("essr", {"beta": -1}, "beta must lie in"),
    ],
)
def test_parameters_that_make_no_sense(name, parameters, message):
    with pytest.raises(BadInput, match=message):
        make_agent(name, "riverswim", parameters)
