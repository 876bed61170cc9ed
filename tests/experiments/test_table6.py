"""The published sweep: its size, where the paper's settings lie in it, and what importance means."""

import numpy as np
import pytest

from countless.agents.tabular.sarsa_sr import SarsaSR
from countless.envs import make_mdp
from countless.experiments import table6
from countless.runs.tabular import TabularJob


def test_importance_of_a_parameter_that_does_everything():
    settings = tuple(SarsaSR(alpha=a, beta=b) for a in (0.1, 0.2, 0.3) for b in (1.0, 10.0))
    job = TabularJob(settings, make_mdp("riverswim"), 1, 1, 0)
    shares = table6.importance(job.configs, np.array([1.0, 1.0, 2.0, 2.0, 5.0, 5.0]))
    assert shares["alpha"] == pytest.approx(1.0)
    assert shares["beta"] == pytest.approx(0.0)


def test_the_published_setting_is_in_each_sweep():
    for sweep in table6.SWEEPS:
        job = sweep.job(0)
        assert len(job.settings) == 1500
        assert 0 <= sweep.published_index(job) < 1500


def test_the_published_sweep_is_four_and_a_half_billion_steps():
    assert sum(sweep.job(0).units for sweep in table6.SWEEPS) == 4_500_000_000


def test_rounds_take_the_best_and_fresh_seeds():
    sweep = table6.SWEEPS[0]
    job = sweep.job(0)
    rng = np.random.default_rng(0)
    returns = rng.normal(size=(1500, 3))
    second = table6.shortlist(sweep, job, returns)
    assert second.chosen[0] == sweep.published_index(job)
    assert returns.mean(axis=1).argmax() in second.chosen
    assert returns.mean(axis=1).argmin() not in second.chosen
    again = rng.normal(size=(len(second.chosen), 3))
    third = table6.final(sweep, job, second, again, 7)
    assert second.chosen[again.mean(axis=1).argmax()] in third.chosen
    assert len(third.chosen) in (table6.FINALISTS, table6.FINALISTS + 1)
    assert third.job.runs == 7
    assert len({job.seed, second.job.seed, third.job.seed}) == 3
