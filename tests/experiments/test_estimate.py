"""What an experiment would cost: the sums, and that speeds are measured."""

import json

import pytest

from countless.agents.dqn.bonus import make_exploration_bonus
from countless.agents.dqn.device import Device
from countless.agents.dqn.learner import Learner
from countless.agents.dqn.network import Spec
from countless.cli.main import main
from countless.core.errors import BadInput
from countless.core.progress import SILENT
from countless.experiments import estimate as module
from countless.experiments.catalogue import EXPERIMENTS
from countless.experiments.estimate import HOUR, Speed, estimate
from countless.experiments.experiment import Plan
from countless.runs.engines import Where
from countless.runs.host_agents import PPOConfig, SB3DQNConfig
from countless.runs.hosts import HostJob
from countless.runs.job import Execution, job_id
from countless.runs.run import Budget, jobs_of
from countless.runs.store import Store
from small_runs import deep_job


def test_a_tabular_experiment(capsys, tmp_path):
    out = tmp_path / "store"
    arguments = ["reproduce", "table1", "--runs", "50", "--estimate", "-o", str(out)]
    assert main([*arguments, "--json"]) == 0
    (content,) = json.loads(capsys.readouterr().out)["estimates"]
    plan = Plan(runs=50)
    jobs = [job for listed in EXPERIMENTS["table1"].jobs(plan, None) for job in listed]
    assert (content["jobs"], content["finished"], content["whole"]) == (len(jobs), 0, True)
    assert content["steps"] == sum(job.units for job in jobs)
    assert (content["frames"], content["gpu_hours"]) == (0, 0)
    # Steps per second of any machine, however busy: hours are hours.
    assert 1e4 < content["steps"] / (content["core_hours"] * HOUR) < 1e9
    assert not out.exists()
    Store(out).execute(jobs[0], Execution())
    assert main(arguments) == 0
    assert f"{len(jobs) - 1} jobs to run, 1 finished already." in capsys.readouterr().out


def test_jobs_that_depend_on_results_are_not_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_tabular_speed", lambda job: Speed(1e-6))
    made = estimate(EXPERIMENTS["table6"], Plan(), Store(tmp_path), SILENT, 8)
    assert not made.whole
    sweeps = next(iter(EXPERIMENTS["table6"].jobs(Plan(), None)))
    assert made.core_hours == pytest.approx(sum(job.units for job in sweeps) * 1e-6 / HOUR)
    assert "Further jobs depend on the results of these" in made.words()


def test_a_measurement_costs_what_its_run_does(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_deep_speed", lambda job: Speed(0.5))
    plan = Plan(scale="smoke", games=("fourrooms",), seeds=(0, 1, 2))
    made = estimate(EXPERIMENTS["figure2-deep"], plan, Store(tmp_path), SILENT, 8)
    assert {(line.agent, line.jobs, line.frames) for line in made.lines} == {
        ("dqn-mmc-sr", 3, 1_200), ("dqn-mmc", 3, 1_200)
    }  # fmt: skip
    assert made.core_hours == pytest.approx(sum(line.steps for line in made.lines) * 0.5 / HOUR)
    assert all(line.memory and line.disk is None for line in made.lines)


def test_a_deep_experiment(monkeypatch, tmp_path):
    """Ten seeds, or two on eight GPUs, where the longest run decides."""
    monkeypatch.setattr(module, "_deep_speed", lambda job: Speed(0.5, 0.01))
    games = ("Freeway", "Venture")
    plan = Plan(scale="paper", games=games, seeds=tuple(range(10)))
    made = estimate(EXPERIMENTS["table4"], plan, Store(tmp_path), SILENT, 8)
    deep = [line for line in made.lines if line.core_hours is not None]
    assert [line.jobs for line in deep] == [20, 20]
    assert made.to_json()["frames"] == 40 * 100_000_000
    steps = 20_000_000 + 10_000  # of five frames, and the warm-up
    assert made.core_hours == pytest.approx(40 * steps * 0.5 / HOUR, rel=0.01)
    assert made.gpu_hours == pytest.approx(40 * steps * 0.01 / HOUR, rel=0.01)
    assert made.hours_on_gpus == pytest.approx(made.gpu_hours / 8)
    few = estimate(
        EXPERIMENTS["table4"], Plan(scale="paper", games=games[:1]), Store(None), SILENT, 8
    )
    assert few.hours_on_gpus == pytest.approx(steps * 0.01 / HOUR, rel=0.01)
    assert 7 < deep[0].memory < deep[0].disk < 20
    assert "Not timed: cost-of-a-step in MontezumaRevenge." in made.words()


def test_the_speed_of_a_deep_agent_is_measured():
    speed = module._deep_speed(deep_job())
    assert 1e-5 < speed.core < 10
    assert speed.gpu > 1.5e-3


@pytest.mark.parametrize(
    "config",
    [PPOConfig(rollout=8, batch=8, bonus="counts"), SB3DQNConfig(batch=8, gradients=1)],
    ids=["ppo", "dqn"],
)
def test_the_speed_of_a_host_is_measured(config):
    speed = module._host_speed(HostJob("CartPole-v1", 0, 10**9, config))
    assert 1e-6 < speed.core < 1
    assert speed.gpu is None


def test_jobs_of_one_agent_are_told_apart(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_deep_speed", lambda job: Speed(0.5))
    monkeypatch.setattr(module, "_host_speed", lambda job: Speed(0.1))
    plan = Plan(scale="laptop", games=("CartPole-v1",), seeds=(0,))
    made = estimate(EXPERIMENTS["harm"], plan, Store(tmp_path), SILENT, 8)
    told = [(line.agent, line.settings) for line in made.lines]
    assert len(set(told)) == len(told) == 8
    assert ("sb3-dqn", "bonus sr-norm") in told
    assert [row[1] for row in made.table().rows] == [line.settings for line in made.lines]


def test_a_bonus_is_measured_beyond_its_warm_up():
    """There RND does not learn yet, and a step costs a fraction of what it does later."""
    config, spec = deep_job("dqn-rnd").config, Spec((5, 5), 2, True)
    learner = Learner(spec, config, Device(), 0)
    bonus = make_exploration_bonus(config, spec, learner, 0, warm=True)
    assert bonus.bonus.parameters.warm_up == 0
    assert make_exploration_bonus(config, spec, learner, 0).bonus.parameters.warm_up > 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["table3", "--gpus", "4"], "--gpus goes with --estimate"),
        (["table3", "--gpus", "0", "--estimate"], "--gpus must be a whole number from 1"),
        (["deepsea", "--device", "cuda"], "deepsea runs on the CPU: leave --device out"),
        (["table3", "--device", "tpu"], "--device must be one of cpu, cuda"),
        (["table1", "--engine", "mesos"], "--engine must be one of local, ray"),
    ],
)
def test_bad_input(capsys, argv, message, tmp_path):
    assert main(["reproduce", *argv, "-o", str(tmp_path / "store")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_a_gpu_of_another_machine_is_looked_for_there():
    where = Where("ray", gpus_per_job=0.25)
    (job,) = jobs_of("dqn", "deepsea-5", Budget(elsewhere=where.device), {})
    assert job.device.name == "cuda"
    with pytest.raises(BadInput, match="there is no device 'cuda' here"):
        job.check(None)
    (plain,) = jobs_of("dqn", "deepsea-5", Budget(elsewhere=Where("ray").device), {})
    (here,) = jobs_of("dqn", "deepsea-5", Budget(device="cpu"), {})
    assert job_id(plain) == job_id(here) != job_id(job)
