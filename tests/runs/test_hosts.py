"""Stable-Baselines3's PPO and DQN as jobs: kept, found again, the same wherever they run."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
import pytest

from countless.core.errors import BadInput
from countless.runs import hosts, messages
from countless.runs.engine import LocalEngine
from countless.runs.groups import groups_of
from countless.runs.host_agents import PPOConfig, SB3DQNConfig
from countless.runs.hosts import HostJob, make_env
from countless.runs.job import Execution, Outcome, Stopped, job_id
from countless.runs.store import Store

ROOM = "minigrid:MiniGrid-Empty-5x5-v0"
SHORT = {"scale": "none", "envs": 2, "rollout": 16, "batch": 16, "epochs": 1}


def job(bonus="counts", seed=0, frames=320, **config):
    return HostJob(ROOM, seed, frames, PPOConfig(bonus=bonus, **SHORT | config))


def test_a_job_is_kept_and_found_again(tmp_path):
    store = Store(tmp_path, "a test")
    (done,) = LocalEngine().run([job()], store)
    assert store.find(job()) is not None
    assert store.find(job(beta=0.7)) is None
    assert store.find(job(frames=640)) is None  # PPO does not go on to the bit
    records = done.records.to_pydict()
    assert set(records["bonus"]) == {"counts"}
    assert set(records["lane"]) == {0, 1}
    assert max(records["frames"]) <= 320
    assert any(value != 0.0 for value in records["mean_bonus"])
    (group,) = groups_of([done])
    assert (group.engine, group.agent, group.length) == ("host", "ppo", "320 frames")
    assert group.curve.y.shape[0] == 1


def test_a_curve_begins_when_every_environment_has_ended_an_episode(tmp_path):
    (done,) = LocalEngine().run([job()], Store(tmp_path))
    episodes = done.records.to_pydict()
    first_ends = [episodes["frames"][episodes["lane"].index(lane)] for lane in (0, 1)]
    (group,) = groups_of([done])
    begins = group.curve.x[np.isfinite(group.curve.y[0])][0]
    assert begins - 320 / 50 < max(first_ends) <= begins
    one_lane = done.records.filter(pc.equal(done.records["lane"], 0))
    (half,) = groups_of([replace(done, outcome=Outcome(one_lane, None, {}))])
    assert np.isnan(half.curve.y).all()


def test_a_curve_goes_on_where_no_episode_ended(tmp_path):
    """Else the mean over several runs would be that of the others there."""
    (done,) = LocalEngine().run([job()], Store(tmp_path))
    episodes = done.records.to_pydict()
    last = max(episodes["frames"][episodes["lane"].index(lane)] for lane in (0, 1))
    early = done.records.filter(pc.less_equal(done.records["frames"], last))
    (group,) = groups_of([replace(done, outcome=Outcome(early, None, {}))])
    after = group.curve.y[0][group.curve.x >= last]
    assert len(after) > 1
    assert (after == after[0]).all()
    # A partial run has no end to go on to.
    (half,) = groups_of([replace(done, finished=None, outcome=Outcome(early, None, {}))])
    assert np.isnan(half.curve.y[0][group.curve.x >= last + 320 / 50]).all()


def test_the_task_is_what_is_recorded_and_not_the_bonus():
    paid = job(frames=96).execute(None, Execution()).records
    returns = paid["return"].to_numpy()
    assert ((returns >= 0.0) & (returns <= 1.0)).all()


def test_in_a_worker_it_has_the_same_bits(tmp_path):
    jobs = [job(seed=seed) for seed in (0, 1)]
    apart = LocalEngine().run(jobs, Store(tmp_path, "a test"))
    for one, found in zip(jobs, apart, strict=True):
        here = one.execute(None, Execution()).records
        assert here.equals(found.records.replace_schema_metadata(None))
    assert not apart[0].records["return"].equals(apart[1].records["return"])


def off_policy(seed=0):
    return HostJob(ROOM, seed, 320, SB3DQNConfig(bonus="counts", envs=2, warmup=50, batch=8))


@pytest.mark.parametrize("sent", [job(bonus="rnd"), off_policy()], ids=["ppo", "dqn"])
def test_what_a_worker_is_told(tmp_path, sent):
    message = json.dumps(messages.describe(sent, Store(tmp_path, "a test")))
    same, store = messages.read(json.loads(message))
    assert same == sent
    assert job_id(same) == job_id(sent)
    assert store.folder == tmp_path


def test_dqn_is_kept_with_its_parameters_and_learns_the_same_again(tmp_path):
    (done,) = LocalEngine().run([off_policy()], Store(tmp_path))
    again = off_policy().execute(None, Execution()).records
    assert again.equals(done.records.replace_schema_metadata(None))
    assert set(done.records["agent"].to_pylist()) == {"sb3-dqn"}
    assert set(done.records["target_period"].to_pylist()) == {100}
    assert not again.equals(off_policy(seed=1).execute(None, Execution()).records)


def test_a_scale_around_a_warm_up_has_a_version_of_its_own():
    """Jobs of other bonuses, and of unscaled ones, keep the ids that they had."""
    assert job("rnd", scale="standardise").identity()["scaled_bits"] == 2
    for other in (job("rnd"), job("sr-norm", scale="std"), job("counts", scale="standardise")):
        assert "scaled_bits" not in other.identity()


def test_asked_to_stop_it_leaves_nothing(tmp_path):
    store = Store(tmp_path, "a test")
    with pytest.raises(Stopped):
        store.execute(job(frames=100_000), Execution(stop=lambda: True))
    assert store.find(job(frames=100_000)) is None


@pytest.mark.parametrize(("view", "shape"), [("symbols", (147,)), ("pictures", (56, 56, 3))])
def test_what_a_host_sees(view, shape):
    env = make_env(ROOM, view)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.shape == observation.shape == shape
    assert observation.dtype == np.uint8
    assert make_env("CartPole-v1", view).observation_space.shape == (4,)


def test_missing_packages(monkeypatch):
    monkeypatch.setattr(hosts, "find_spec", lambda name: None if name == "minigrid" else name)
    with pytest.raises(BadInput, match="needs minigrid, which is not installed: pip install"):
        job().check(None)
    monkeypatch.setattr(hosts, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="ppo needs stable_baselines3"):
        job().check(None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"view": "words"}, "view must be one of symbols, pictures"),
        ({"beta": -1.0}, "beta must lie in"),
        ({"scale": "unit"}, "scale must be one of none, std, standardise"),
    ],
)
def test_bad_input(settings, message):
    with pytest.raises(BadInput, match=message):
        PPOConfig(**settings)
