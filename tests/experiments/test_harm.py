"""Does a bonus hurt: what is planned, and what is shown of it."""

import numpy as np
import pytest

from countless.experiments import harm
from countless.experiments.experiment import Plan, Records, run
from countless.runs.engine import LocalEngine
from countless.runs.groups import performance
from countless.runs.job import job_id
from countless.runs.store import Store


def plan_of(scale="laptop", games=harm.EXPERIMENT.games, seeds=(0, 1)):
    return Plan(scale=scale, games=games, seeds=seeds)


def test_the_plan_has_both_hosts_with_each_bonus_in_both_tasks():
    (jobs,) = harm.jobs(plan_of(), None)
    assert len({job_id(job) for job in jobs}) == len(jobs) == 2 * 2 * 2 * 4
    assert {job.agent for job in jobs} == {"ppo", "sb3-dqn"}
    assert {job.config.bonus for job in jobs} == {"none", "counts", "sr-norm", "rnd"}
    assert {(job.config.scale, job.config.beta) for job in jobs} == {("standardise", 0.3)}


def test_only_the_noisy_task_is_run_with_many_seeds():
    (jobs,) = harm.jobs(plan_of(seeds=tuple(range(20))), None)
    seeds = {env: {job.seed for job in jobs if job.env == env} for env in harm.EXPERIMENT.games}
    assert seeds == {harm.EASY: set(range(5)), harm.DENSE: set(range(20))}


def test_a_change_is_that_of_the_seeds_with_both_runs():
    own = {"none": np.array([np.nan, 2.0, 4.0, 2.0]), "counts": np.array([9.0, 3.0, 6.0, np.nan])}
    change = harm._change(own, "counts")
    assert (change.value, change.note) == (50.0, "2 seeds")
    assert harm._change({"none": own["none"], "counts": own["none"] * np.nan}, "counts") is None


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(harm.STEPS, "smoke", 1_024)
    monkeypatch.setattr(harm, "BONUSES", ("counts",))


def test_it_runs_and_is_shown(tiny, tmp_path):
    plan = plan_of("smoke", (harm.DENSE,))
    shown = run(harm.EXPERIMENT, plan, tmp_path, LocalEngine()).section
    (table,) = shown.tables
    assert [row[0] for row in table.rows] == [
        "PPO alone", "PPO with counts", "DQN alone", "DQN with counts"
    ]  # fmt: skip
    records = Records(Store(tmp_path))
    means = {
        bonus: np.mean(
            [
                performance(records[harm.cell_job("sb3-dqn", harm.DENSE, bonus, seed, plan)])
                for seed in plan.seeds
            ]
        )
        for bonus in ("none", "counts")
    }
    assert table.rows[2][1] == pytest.approx(means["none"])
    assert table.rows[3][1] == pytest.approx(means["counts"])
    assert table.rows[3][5] == pytest.approx(100.0 * (means["counts"] / means["none"] - 1.0))
    assert table.rows[2][5] is table.rows[3][6] is None  # two seeds have no interval
    ((chart,),) = (panel.charts for panel in shown.panels)
    assert list(chart.rows) == ["PPO with counts", "DQN with counts"]


def test_what_is_missing_is_said(tiny, tmp_path):
    plan = plan_of("smoke", (harm.DENSE,), seeds=(0,))
    (jobs,) = harm.jobs(plan, None)
    LocalEngine().run(jobs[:1], Store(tmp_path))
    shown = harm.render(plan, Records(Store(tmp_path)), tmp_path)
    assert shown.words[0].startswith("1 of 4 runs are finished")
    assert shown.tables[0].rows[0][1] > 0
    assert shown.tables[0].rows[1][1:6] == (None, None, None, 0, None)
