"""How large should beta be: what is planned, and what is shown of it."""

import numpy as np
import pytest

from countless.experiments import beta
from countless.experiments.experiment import Plan, Records, run
from countless.runs.engine import LocalEngine
from countless.runs.job import job_id
from countless.runs.store import Store


def plan_of(scale="laptop", games=beta.EXPERIMENT.games, seeds=(0, 1)):
    return Plan(scale=scale, games=games, seeds=seeds)


def test_the_plan_has_each_beta_once_and_ppo_alone():
    (jobs,) = beta.jobs(plan_of(), None)
    assert len({job_id(job) for job in jobs}) == len(jobs) == 2 * 3 * (1 + 5)
    assert {job.config.beta for job in jobs if job.config.bonus == "sr-norm"} == {
        0.03, 0.1, 0.3, 1.0, 3.0
    }  # fmt: skip
    assert {job.config.bonus for job in jobs} == {"none", "sr-norm"}


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(beta.EXTENTS, "smoke", beta.Extent(1_024, (3.0,)))


def test_it_runs_and_is_shown(tiny, tmp_path):
    plan = plan_of("smoke", (beta.DENSE,))
    shown = run(beta.EXPERIMENT, plan, tmp_path, LocalEngine()).section
    (table,) = shown.tables
    assert [row[:2] for row in table.rows] == [
        (beta.ALONE, None), ("with sr-norm", 3.0)
    ]  # fmt: skip
    records = Records(Store(tmp_path))
    returns = [
        records[beta.cell_job(beta.DENSE, "sr-norm", 3.0, seed, plan)].records["return"].to_numpy()
        for seed in plan.seeds
    ]
    assert table.rows[-1][2] == pytest.approx(np.mean([runs[-100:].mean() for runs in returns]))
    assert table.rows[-1][3] <= table.rows[-1][2] <= table.rows[-1][4]
    (figure,) = shown.figures
    assert figure.stem.with_suffix(".png").stat().st_size > 5_000
    ((chart,),) = (panel.charts for panel in shown.panels)
    assert [series.label for series in chart.series] == [
        beta.ALONE, "with sr-norm"
    ]  # fmt: skip


def test_what_is_missing_is_said(tiny, tmp_path):
    plan = plan_of("smoke", (beta.DENSE,), seeds=(0,))
    (jobs,) = beta.jobs(plan, None)
    LocalEngine().run(jobs[:1], Store(tmp_path))
    shown = beta.render(plan, Records(Store(tmp_path)), tmp_path)
    assert shown.words[0].startswith("1 of 2 runs are finished")
    assert shown.tables[0].rows[0][2] > 0
    assert shown.tables[0].rows[1][2] is None
