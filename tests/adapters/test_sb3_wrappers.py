"""BonusVecEnv among the other wrappers of Stable-Baselines3, each with the real library."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    SubprocVecEnv,
    VecFrameStack,
    VecNormalize,
)

from countless.adapters.sb3 import BonusVecEnv, load_bonus, save

SMALL_PPO = {"n_steps": 32, "batch_size": 32, "n_epochs": 1, "device": "cpu", "seed": 0}


class Walk(gymnasium.Env):
    """A corridor of seven cells as a vector: it ends at the right, and is cut after 12 steps."""

    observation_space = spaces.Box(0.0, 6.0, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.steps = 3, 0
        return self._seen(), {}

    def step(self, action):
        self.at = max(self.at + 2 * int(action) - 1, 0)
        self.steps += 1
        return self._seen(), float(self.at == 6), self.at == 6, self.steps == 12, {}

    def _seen(self):
        return np.array([self.at], np.float32)


class Frames(Walk):
    """The same as a picture."""

    observation_space = spaces.Box(0, 255, (36, 36, 1), np.uint8)

    def _seen(self):
        frame = np.zeros((36, 36, 1), np.uint8)
        frame[:, self.at * 5 : self.at * 5 + 5] = 255
        return frame


class Parts(Walk):
    """The same in two parts."""

    observation_space = spaces.Dict(
        {"cell": spaces.Discrete(7), "late": spaces.Box(0.0, 1.0, (1,), np.float32)}
    )

    def _seen(self):
        return {"cell": self.at, "late": np.array([self.steps > 6], np.float32)}


def corridors(count, kind=Walk, vec_env=DummyVecEnv, **options):
    env = vec_env([lambda: Monitor(kind())] * count, **options)
    env.seed(0)
    return env


def walk(env, steps=40, count=2):
    """The bonuses of a fixed walk."""
    rng = np.random.default_rng(0)
    env.reset()
    paid = []
    for _ in range(steps):
        _, _, _, infos = env.step(rng.integers(0, 2, count))
        paid.append([info["intrinsic_reward"] for info in infos])
    env.close()
    return np.array(paid)


@pytest.mark.parametrize("of", ["departed", "reached"])
def test_environments_in_processes_of_their_own(of):
    in_one = walk(BonusVecEnv(corridors(2), "sr-norm", of=of, features=8, scale="none"))
    apart = corridors(2, vec_env=SubprocVecEnv, start_method="fork")
    in_several = walk(BonusVecEnv(apart, "sr-norm", of=of, features=8, scale="none"))
    np.testing.assert_array_equal(in_one, in_several)
    assert in_one.min() > 0.0


def test_one_environment():
    env = BonusVecEnv(corridors(1), "counts", scale="none")
    assert PPO("MlpPolicy", env, **SMALL_PPO).learn(64).num_timesteps == 64
    assert env.bonus.counts(np.array([[3.0]], np.float32)).item() > 1


def test_under_vec_normalize_the_bonus_sees_what_the_environment_shows():
    inner = BonusVecEnv(corridors(2), "counts", scale="none")
    PPO("MlpPolicy", VecNormalize(inner), **SMALL_PPO).learn(128)
    cells = np.arange(7, dtype=np.float32)[:, None]
    # Each of the 128 steps leaves one of the cells 0 to 5: the episode ends in the last one.
    visits = inner.bonus.counts(cells)
    assert visits.sum() == 128
    assert visits[6] == 0


def test_normalised_observations_are_no_place_for_a_bonus():
    with pytest.warns(UserWarning, match="put VecNormalize around BonusVecEnv"):
        BonusVecEnv(VecNormalize(corridors(2)), "counts")


def test_saved_and_loaded_beside_vec_normalize(tmp_path):
    """Its statistics are saved as always; the bonus goes on with its own."""
    first = VecNormalize(BonusVecEnv(corridors(2), "counts"))
    model = PPO("MlpPolicy", first, **SMALL_PPO).learn(640)
    path = save(model, tmp_path / "agent")
    first.save(str(tmp_path / "normaliser.pkl"))
    second = VecNormalize.load(
        str(tmp_path / "normaliser.pkl"), BonusVecEnv(corridors(2), "counts")
    )
    load_bonus(path, second)
    for env in (first, second):
        env.training = False
    np.testing.assert_array_equal(walk(first), walk(second))
    assert PPO.load(path, env=second).learn(64).num_timesteps == 64


def test_agents_are_evaluated_by_the_task_alone(tmp_path):
    """`EvalCallback` wants the same wrappers: a bonus of beta 0 adds nothing there."""
    learning = VecNormalize(BonusVecEnv(corridors(2), "counts"))
    alike = VecNormalize(
        BonusVecEnv(corridors(1), "counts", beta=0.0), training=False, norm_reward=False
    )
    callback = EvalCallback(
        alike, eval_freq=32, n_eval_episodes=2, log_path=str(tmp_path), verbose=0
    )
    PPO("MlpPolicy", learning, **SMALL_PPO).learn(128, callback=callback)
    scores = np.load(tmp_path / "evaluations.npz")["results"]
    assert scores.size
    assert set(scores.ravel()) <= {0.0, 1.0}  # the task pays 1, at most once per episode
    np.testing.assert_array_equal(alike.obs_rms.mean, learning.obs_rms.mean)


def test_frame_stacks_on_either_side():
    inside = BonusVecEnv(VecFrameStack(corridors(2, Frames), 4), "cts", size=6, scale="none")
    outside = VecFrameStack(BonusVecEnv(corridors(2, Frames), "cts", size=6, scale="none"), 4)
    # The density is that of the newest frame, so both are the same bonus.
    np.testing.assert_allclose(walk(inside), walk(outside), rtol=1e-12)
    stacked = VecFrameStack(BonusVecEnv(corridors(2, Frames), "counts"), 4)
    PPO("CnnPolicy", stacked, policy_kwargs={"normalize_images": True}, **SMALL_PPO).learn(64)


def test_observations_of_several_parts():
    env = BonusVecEnv(corridors(2, Parts), "counts", scale="none")
    PPO("MultiInputPolicy", env, **SMALL_PPO).learn(64)
    assert len(env.bonus.state_dict()["visits"]) > 3


def test_the_scale_is_saved_and_loaded(tmp_path):
    env = BonusVecEnv(corridors(2), "counts", scale="standardise", decay=5_000)
    model = PPO("MlpPolicy", env, **SMALL_PPO).learn(640)
    path = save(model, tmp_path / "agent")
    again = BonusVecEnv(corridors(2), "counts", scale="standardise", decay=5_000)
    load_bonus(path, again)
    before, after = env.bonus.state_dict(), again.bonus.state_dict()
    assert before.keys() == after.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(value, after[name])
    np.testing.assert_array_equal(walk(env), walk(again))
