"""Counts that are read off the norm of the substochastic SR: equations, bounds, and agents."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countless.agents.catalogue import make_agent
from countless.agents.tabular.kernels.ssr_counts import (
    EXACT,
    LOWER,
    ROUNDING,
    UPPER,
    count_from_norm,
)
from countless.agents.tabular.simulate import NORM, SLOT, STATE, VALUE, trace_runs
from countless.agents.tabular.task import configuration_key
from countless.core.errors import BadInput, naming_options
from countless.core.substochastic import substochastic_sr
from countless.envs import make_mdp
from countless.experiments.theorem1 import random_counts
from countless.runs.job import job_id
from countless.runs.tabular import TabularJob
from oracles.planning import e3_run, optimistic_run

AGENTS = {"rmax": optimistic_run, "mbie-eb": optimistic_run, "e3": e3_run}


@given(st.integers(0, 10**6), st.floats(1e-4, 0.99))
def test_the_exact_reading_gives_the_counts_back(seed, gamma):
    counts = random_counts(np.random.default_rng(seed))
    norms, n = substochastic_sr(counts, gamma).sum(axis=1), counts.sum(axis=1)
    for s in np.flatnonzero(n):
        read = count_from_norm(EXACT, gamma, norms[s], counts[s] @ norms / n[s])
        assert read == pytest.approx(n[s], rel=1e-6)


@given(st.integers(0, 10**6), st.floats(1e-4, 0.99))
def test_the_bounds_hold_the_count_between_them(seed, gamma):
    """Theorem 1, solved for n."""
    counts = random_counts(np.random.default_rng(seed))
    norms, n = substochastic_sr(counts, gamma).sum(axis=1), counts.sum(axis=1)
    for norm, visits in zip(norms, n, strict=True):
        low = count_from_norm(LOWER, gamma, norm, math.nan)
        high = count_from_norm(UPPER, gamma, norm, math.nan)
        assert low - 1e-6 * visits - 1e-9 <= visits <= high * (1 + 1e-6) + 1e-9


@given(st.integers(0, 10**6), st.floats(0.01, 0.95))
def test_the_gap_is_a_discounted_sum_over_what_lies_ahead(seed, gamma):
    """1/(1-gamma) - ||Psi~(s)||_1 = gamma/(1-gamma) sum over s' of Psi~(s, s') / (n(s') + 1)."""
    counts = random_counts(np.random.default_rng(seed))
    ssr = substochastic_sr(counts, gamma)
    ahead = ssr @ (1 / (counts.sum(axis=1) + 1))
    np.testing.assert_allclose(
        1 / (1 - gamma) - ssr.sum(axis=1), gamma / (1 - gamma) * ahead, rtol=1e-8
    )


@given(st.integers(0, 10**6), st.integers(1, 40), st.floats(0.01, 1.0))
def test_below_one_over_m_squared_the_upper_bound_reaches_m_with_the_mth_visit(seed, m, share):
    """(n + 1) / (1 - n x) < m + 1 for n < m: the mean norm ahead is 1 + x, x < gamma / (1 - gamma)."""
    gamma = share * min(1 / m**2, 0.49)
    counts = random_counts(np.random.default_rng(seed))
    for norm, n in zip(
        substochastic_sr(counts, gamma).sum(axis=1), counts.sum(axis=1), strict=True
    ):
        read = count_from_norm(UPPER, gamma, norm, math.nan)
        assert (read >= m * (1 - ROUNDING)) == (n >= m)


def test_check_values():
    """Two visits to a state whose successors were never left: norm 1 + 2 gamma / 3."""
    assert count_from_norm(UPPER, 0.3, 1 + 0.2, 1.0) == pytest.approx(2.0)
    assert count_from_norm(EXACT, 0.3, 1 + 0.2, 1.0) == pytest.approx(2.0)
    assert count_from_norm(LOWER, 0.3, 1 + 0.2, 1.0) == pytest.approx(0.3 / (10 / 7 - 1.2) - 1)
    assert count_from_norm(LOWER, 0.3, 1.0, 1.0) == 0.0
    assert count_from_norm(UPPER, 0.3, 1.3, 1.2) == math.inf


@pytest.mark.parametrize("gamma_ssr", [1e-6, 0.01, 0.9])
@pytest.mark.parametrize("env", ["riverswim", "sixarms", "deepsea-4", "FrozenLake-v1"])
@pytest.mark.parametrize("name", AGENTS)
def test_agents_that_invert_exactly_run_as_if_they_counted(name, env, gamma_ssr):
    mdp = make_mdp(env)
    exact = {"counts": "ssr-exact", "gamma_ssr": gamma_ssr}
    counted = trace_runs(make_agent(name, mdp), mdp, runs=2, steps=3000, seed=5)
    read = trace_runs(make_agent(name, mdp, exact), mdp, runs=2, steps=3000, seed=5)
    np.testing.assert_array_equal(read[:, :, [STATE, SLOT]], counted[:, :, [STATE, SLOT]])
    scale = np.abs(counted[:, :, VALUE]).max()
    np.testing.assert_allclose(read[:, :, VALUE], counted[:, :, VALUE], atol=1e-6 * scale)
    assert (read[:, :, NORM] > 1).all()
    assert np.isnan(counted[:, :, NORM]).all()


@pytest.mark.parametrize("counts", ["ssr", "ssr-low"])
@pytest.mark.parametrize("name", AGENTS)
def test_twins_in_the_papers_domains(name, counts):
    for env in ("riverswim", "sixarms"):
        mdp = make_mdp(env)
        agent = make_agent(name, mdp, {"counts": counts, "gamma_ssr": 0.1})
        trace = trace_runs(agent, mdp, runs=1, steps=120, seed=2)[0]
        twin = AGENTS[name](agent, mdp, run=0, steps=120, seed=2)
        np.testing.assert_array_equal(trace[:, STATE], [step.state for step in twin])
        np.testing.assert_array_equal(trace[:, SLOT], [step.slot for step in twin])
        np.testing.assert_allclose(trace[:, NORM], [step.norm for step in twin], rtol=1e-10)
        np.testing.assert_allclose(trace[:, VALUE], [step.value for step in twin], rtol=1e-6)


@pytest.mark.parametrize("name", AGENTS)
def test_runs_are_paired_and_ids_stay(name):
    mdp = make_mdp("riverswim")
    plain, read = make_agent(name, mdp), make_agent(name, mdp, {"counts": "ssr"})
    assert configuration_key(plain, mdp) == configuration_key(read, mdp)
    jobs = [TabularJob((agent,), mdp, 10, 100, 0) for agent in (plain, read)]
    assert job_id(jobs[0]) != job_id(jobs[1])
    assert "counts" not in jobs[0].identity()["settings"][0]
    assert jobs[1].identity()["settings"][0]["counts"] == "ssr"
    assert "gamma_ssr" not in jobs[1].identity()["settings"][0]
    assert jobs[0].configs[0]["counts"] == "true"


@pytest.mark.parametrize(
    ("name", "id_of_job"),
    [
        ("rmax", "5f2e62046ce3eb426d6237dcc148f5fc"),
        ("mbie-eb", "45048b0feb1af6c4f7fc7f173b15b21d"),
        ("e3", "1f073619048f48cb0222f8c77af79942"),
    ],
)
def test_jobs_of_agents_that_count_keep_their_ids(name, id_of_job):
    mdp = make_mdp("riverswim")
    assert job_id(TabularJob((make_agent(name, mdp),), mdp, 10, 100, 0)) == id_of_job


def test_discounts_that_call_pairs_known_too_early():
    with naming_options():
        agent = make_agent("rmax", "sixarms", {"counts": "ssr", "gamma_ssr": 0.05})
        assert agent.caution.startswith("--gamma-ssr 0.05 is above 1/m² = 0.02778: the norm")
    for fine in ({"gamma_ssr": 0.001}, {"counts": "ssr-low"}, {"counts": "true"}):
        parameters = {"counts": "ssr", "gamma_ssr": 0.05} | fine
        assert not make_agent("rmax", "sixarms", parameters).caution
    assert not make_agent("mbie-eb", "sixarms", {"counts": "ssr", "gamma_ssr": 0.05}).caution


def test_discounts_from_which_no_count_can_be_read():
    with naming_options(), pytest.raises(BadInput) as error:
        make_agent("rmax", "riverswim", {"counts": "ssr", "gamma_ssr": 0.5})
    message = str(error.value)
    assert message.startswith("--gamma-ssr must be below 0.5 for --counts ssr, not 0.5: Theorem 1")
    assert "\n" not in message
    for counts in ("ssr-low", "ssr-exact", "true"):
        make_agent("rmax", "riverswim", {"counts": counts, "gamma_ssr": 0.5})
    for gamma_ssr in (0.0, 1e-7, 1.0):
        with pytest.raises(BadInput, match=r"gamma_ssr must lie in \[1e-06, 1\)"):
            make_agent("e3", "riverswim", {"counts": "ssr", "gamma_ssr": gamma_ssr})
    with pytest.raises(BadInput, match="counts must be one of true, ssr, ssr-low, ssr-exact"):
        make_agent("mbie-eb", "riverswim", {"counts": "norm"})
