"""MiniGrid: what is planned, what counts as success, and what the tables say of it."""

import numpy as np
import pyarrow
import pytest

from countless.envs.minigrid import PICTURES, SYMBOLS
from countless.experiments import minigrid, minigrid_plan
from countless.experiments.experiment import Plan, Records, run
from countless.experiments.minigrid_plan import (
    ALONE,
    ROWS,
    Extent,
    cell_job,
    cells,
    env_of,
    task_of,
)
from countless.runs.engine import LocalEngine
from countless.runs.hosts import HostJob
from countless.runs.job import Outcome, job_id
from countless.runs.store import Store, StoredJob

TINY = Extent(
    ("DoorKey-6x6",),
    ("DoorKey-6x6",),
    ppo=4_096,
    ppo_pictures=64,
    dqn=64,
    own_dqn=60,
    own_pictures=20,
    picture_seeds=1,
    dqn_seeds=1,
    parameters={"warmup": 20, "envs": 1, "epsilon_steps": 20},
)


def plan_of(scale="laptop", seeds=(0, 1, 2, 3, 4)):
    return Plan(scale=scale, games=minigrid.EXPERIMENT.games_at(scale), seeds=seeds)


def test_the_laptop_plan_is_what_was_asked_for():
    """Symbols in three tasks with ten seeds of PPO and three of DQN, pictures in one with three."""
    plan = plan_of(seeds=tuple(range(10)))
    assert [(task_of(env), view) for env, view in cells(plan)] == [
        ("SimpleCrossingS9N1", SYMBOLS),
        ("KeyCorridorS3R1", SYMBOLS),
        ("DoorKey-6x6", SYMBOLS),
        ("DoorKey-6x6", PICTURES),
    ]
    (jobs,) = minigrid_plan.jobs(plan, None)
    assert (
        len({job_id(job) for job in jobs}) == len(jobs) == 3 * (10 * 5 + 3 * (3 + 6)) + 3 * (6 + 6)
    )
    hosts = {job.config.bonus for job in jobs if isinstance(job, HostJob)}
    assert hosts == {"none", "counts", "sr-norm", "rnd", "cts"}
    assert {job.agent for job in jobs} == {
        "ppo", "sb3-dqn", "dqn-mmc", "dqn-counts", "dqn-mmc-sr", "dqn-rnd", "dqn-cts"
    }  # fmt: skip


def test_the_paper_plan_has_every_task_both_ways_with_every_kind_of_agent():
    plan = plan_of("paper", (0,))
    both = {(task_of(env), view) for env, view in cells(plan)}
    assert both == {
        (task, view) for task in minigrid_plan.PUBLISHED for view in (SYMBOLS, PICTURES)
    }
    (jobs,) = minigrid_plan.jobs(plan, None)
    own = [job for job in jobs if not isinstance(job, HostJob)]
    seen = {
        view: {job.config.bonus for job in own if job.config.view == view}
        for view in (SYMBOLS, PICTURES)
    }
    assert seen[SYMBOLS] == {"off", "counts", "sr-norm", "rnd", "sr"}
    assert seen[PICTURES] == seen[SYMBOLS] | {"cts"}
    assert {job.config.bonus_sees for job in own if job.config.view == PICTURES} == {"frames"}


def kept(returns, steps=10):
    records = pyarrow.table(
        {"return": np.array(returns, float), "frames": steps * np.arange(1, len(returns) + 1)}
    )
    return StoredJob({}, {}, None, Outcome(records, None, {}))


def test_success_is_of_the_last_hundred_episodes():
    lost, found = [0.0] * 120, [0.4] * 95 + [0.0] * 5
    assert minigrid.outcome(kept(lost)) == minigrid.Outcome(0.0, None, 0.0)
    # 90 of 100 in a row are there with the 90th success: episode 210, of ten steps each.
    ended = minigrid.outcome(kept(lost + found))
    assert (ended.success, ended.steps) == (0.95, 2_100)
    # Looked at every 11 episodes: 12 of them won at the 12th look, 95 of the last 100 at the 20th.
    shares = [min(max(0, 11 * k - 120), 95) for k in range(1, 21)]
    assert ended.area == pytest.approx(np.mean(shares) / 100)
    assert minigrid.outcome(kept([])) == minigrid.Outcome(0.0, None, 0.0)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(minigrid_plan.EXTENTS, "smoke", TINY)
    labels = (ALONE["PPO"], "PPO with counts", ALONE["SB3's DQN"], "DQN_e^MMC")
    few = tuple(row for row in ROWS if row.label in labels)
    for module in (minigrid_plan, minigrid):
        monkeypatch.setattr(module, "ROWS", few)


def test_it_runs_and_is_shown(tiny, tmp_path):
    plan = plan_of("smoke", (0,))
    shown = run(minigrid.EXPERIMENT, plan, tmp_path, LocalEngine())
    symbols, pictures, overall = shown.section.tables
    assert [row[0] for row in symbols.rows][:4] == [
        ALONE["PPO"], "PPO with counts", ALONE["SB3's DQN"], "DQN_e^MMC"
    ]  # fmt: skip
    assert [row[0] for row in pictures.rows] == [ALONE["PPO"], "PPO with counts", "DQN_e^MMC"]
    published = {row[0]: row[1] for row in symbols.rows if row[0].startswith("published")}
    assert published["published: A2C with SI2E"] == 97.0
    assert 0.0 <= overall.rows[1][5] <= 1.0  # of PPO with counts against PPO alone
    assert overall.rows[2][5] is overall.rows[3][5] is None  # no rivals: alone, both
    assert {figure.stem.name for figure in shown.section.figures} == {"curves", "profiles"}
    curves, profiles, success = shown.section.panels
    assert [chart.title for chart in profiles.charts] == [
        "PPO, all tasks as symbols",
        "SB3's DQN, all tasks as symbols",
        "our DQN, all tasks as symbols",
    ]
    looks = {
        (line.label, line.style)
        for chart in profiles.charts + curves.charts
        for line in chart.series
    }
    assert len(looks) == len({label for label, _ in looks}) > 1  # each line looks alike everywhere
    assert [chart.title for chart in curves.charts] == [
        "PPO in DoorKey-6x6", "SB3's DQN in DoorKey-6x6", "our DQN in DoorKey-6x6",
        "PPO in DoorKey-6x6 (pictures)", "our DQN in DoorKey-6x6 (pictures)",
    ]  # fmt: skip
    assert success.charts[0].title == "All tasks as symbols"
    (mark,) = success.charts[0].rows[ALONE["PPO"]].values()
    assert (mark.value, mark.note) == (100.0 * overall.rows[0][1], "1 seed")
    for figure in shown.section.figures:
        assert figure.stem.with_suffix(".png").stat().st_size > 5_000
    # What is half done says so.
    (tmp_path / next(p.name for p in tmp_path.glob("ppo-*")) / "finished.json").unlink()
    again = minigrid.EXPERIMENT.render(
        plan, Records(Store(tmp_path, "a test")), tmp_path / "experiments" / "minigrid"
    )
    assert any("6 of 7 runs are finished" in text for text in again.words)


def test_a_job_is_shared_by_studies_that_ask_for_it():
    row = next(row for row in ROWS if row.label == "PPO with sr-norm")
    env = env_of("DoorKey-6x6")
    one, other = (cell_job(row, env, SYMBOLS, 3, plan_of(seeds=seeds)) for seeds in ((3,), (3, 4)))
    assert job_id(one) == job_id(other)
