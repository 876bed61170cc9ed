"""Stable-Baselines3's PPO as a job: kept, found again, the same wherever it runs."""

import json

import numpy as np
import pytest

from countless.core.errors import BadInput
from countless.runs import hosts, messages
from countless.runs.engine import LocalEngine
from countless.runs.groups import groups_of
from countless.runs.hosts import HostConfig, HostJob, make_env
from countless.runs.job import Execution, Stopped, job_id
from countless.runs.store import Store

ROOM = "minigrid:MiniGrid-Empty-5x5-v0"
SHORT = {"scale": "none", "envs": 2, "rollout": 16, "batch": 16, "epochs": 1}


def job(bonus="counts", seed=0, frames=320, **config):
    return HostJob(ROOM, seed, frames, HostConfig(bonus=bonus, **SHORT | config))


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


def test_what_a_worker_is_told(tmp_path):
    message = json.dumps(messages.describe(job(bonus="rnd"), Store(tmp_path, "a test")))
    same, store = messages.read(json.loads(message))
    assert same == job(bonus="rnd")
    assert job_id(same) == job_id(job(bonus="rnd"))
    assert store.folder == tmp_path


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
    with pytest.raises(BadInput, match="PPO needs stable_baselines3"):
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
        HostConfig(**settings)
