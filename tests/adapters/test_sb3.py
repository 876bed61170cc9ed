"""Stable-Baselines3: both kinds of agent learn from the sum, and both parts are logged and saved."""

import gymnasium
import numpy as np
import pytest
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.logger import KVWriter, Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecCheckNan

import countless.envs  # noqa: F401 (registers the ids)
from countless.adapters.sb3 import BonusCallback, BonusVecEnv, load_bonus, save
from countless.core.errors import BadInput


class Keep(KVWriter):
    """Keeps the lines that would be logged."""

    def __init__(self):
        self.lines = []

    def write(self, key_values, key_excluded, step=0):
        self.lines.append(dict(key_values))

    def close(self):
        pass


def plain_deepsea(count):
    env = DummyVecEnv([lambda: Monitor(gymnasium.make("countless/DeepSea-v0", size=4))] * count)
    env.seed(0)
    return env


def deepsea(count, bonus="counts", **more):
    return BonusVecEnv(plain_deepsea(count), bonus, **{"scale": "none"} | more)


def test_steps_are_those_of_the_environment_plus_the_bonus():
    plain = plain_deepsea(3)
    env = deepsea(3, beta=2.0)
    np.testing.assert_array_equal(plain.reset(), env.reset())
    visits = np.zeros(17)
    last = np.zeros(3, int)
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = rng.integers(0, 2, 3)
        observations, rewards, dones, _ = plain.step(actions)
        seen, sums, ends, infos = env.step(actions)
        np.testing.assert_array_equal(observations, seen)
        np.testing.assert_array_equal(dones, ends)
        for i, s in enumerate(last):
            visits[s] += 1
            assert infos[i]["intrinsic_reward"] == pytest.approx(2.0 / np.sqrt(visits[s]))
            assert infos[i]["extrinsic_reward"] == pytest.approx(float(rewards[i]))
        expected = [info["intrinsic_reward"] + info["extrinsic_reward"] for info in infos]
        np.testing.assert_allclose(sums, expected, rtol=1e-6)
        assert sums.dtype == np.float32
        last = observations


@pytest.mark.parametrize(
    ("agent", "options"),
    [
        (DQN, {"learning_starts": 20, "buffer_size": 200, "batch_size": 8, "train_freq": 4}),
        (PPO, {"n_steps": 32, "batch_size": 32, "n_epochs": 1}),
    ],
)
@pytest.mark.parametrize("bonus", ["counts", "sr-norm", "rnd"])
def test_agents_of_both_kinds(agent, options, bonus, tmp_path):
    more = {"warm_up": 0, "features": 16} if bonus == "rnd" else {}
    env = deepsea(2, bonus, **more)
    kept = Keep()
    model = agent("MlpPolicy", env, seed=0, device="cpu", **options)
    model.set_logger(Logger(None, [kept]))
    model.learn(128, callback=BonusCallback(), log_interval=1)
    logged = {key: value for line in kept.lines for key, value in line.items()}
    assert logged["bonus/intrinsic_reward"] > 0
    assert "bonus/extrinsic_reward" in logged
    # Monitor is underneath: the task's own reward, which DeepSea(4) keeps in [-0.01, 1].
    assert -0.02 <= logged["rollout/ep_rew_mean"] <= 1.0
    path = save(model, tmp_path / "model")
    assert path.name == "model.zip"
    fresh = deepsea(2, bonus, seed=9, **more)
    load_bonus(tmp_path / "model", fresh)
    states = np.arange(16)
    np.testing.assert_array_equal(env.bonus.compute(states), fresh.bonus.compute(states))
    again = agent.load(path, env=fresh, device="cpu")
    again.learn(64)
    assert save(again, path) == path


def test_the_replay_holds_the_sum():
    env = deepsea(1, beta=3.0)
    model = DQN("MlpPolicy", env, buffer_size=50, learning_starts=40, device="cpu")
    model.learn(20)
    assert model.replay_buffer.rewards[0, 0] == pytest.approx(3.0, abs=0.01)


class Picture(gymnasium.Env):
    """A white block on black, where it is given by the step; cut after five steps."""

    observation_space = gymnasium.spaces.Box(0, 255, (36, 36, 1), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._frame(), {}

    def step(self, action):
        self.t += 1
        return self._frame(), 0.0, False, self.t == 5, {}

    def _frame(self):
        frame = np.zeros((36, 36, 1), np.uint8)
        frame[:, self.t * 6 : self.t * 6 + 6] = 255
        return frame


def test_pictures_and_cut_episodes():
    env = BonusVecEnv(DummyVecEnv([Picture] * 2), "cts", of="reached", size=6, scale="none")
    env.reset()
    first = [env.step(np.zeros(2, int))[3][0]["intrinsic_reward"] for _ in range(5)]
    second = [env.step(np.zeros(2, int))[3][0]["intrinsic_reward"] for _ in range(5)]
    assert np.mean(second) < np.mean(first)
    model = DQN("CnnPolicy", env, buffer_size=50, device="cpu")
    before = env.bonus.updates
    model.learn(20)
    assert env.bonus.updates >= before + 20


def test_a_cut_episode_is_no_end():
    class Spy:
        def observe(self, observations, features=None, **transition):
            self.dones = transition["dones"]
            return np.zeros(len(observations))

    spy = Spy()
    env = BonusVecEnv(DummyVecEnv([Picture]), spy)
    env.reset()
    for _ in range(5):
        _, _, dones, _ = env.step(np.zeros(1, int))
    assert dones.tolist() == [True]
    assert spy.dones.tolist() == [False]


def test_by_default_a_bonus_is_standardised():
    env = BonusVecEnv(plain_deepsea(2), "counts")
    assert (env.bonus.scaling.scale, env.bonus.scaling.beta) == ("standardise", 0.3)


def test_what_cannot_be_saved_or_loaded(tmp_path):
    plain = plain_deepsea(1)
    model = DQN("MlpPolicy", plain, buffer_size=10, device="cpu")
    with pytest.raises(BadInput, match="has no BonusVecEnv around it"):
        save(model, tmp_path / "model")
    assert not (tmp_path / "model.zip").exists()  # nor is a good file overwritten
    with pytest.raises(BadInput, match="has no BonusVecEnv around it"):
        load_bonus(tmp_path / "model", plain)
    model.save(tmp_path / "plain")
    with pytest.raises(BadInput, match=r"plain.zip holds no bonus: was it written by model.save"):
        load_bonus(tmp_path / "plain", deepsea(1))
    with pytest.raises(BadInput, match="holds no bonus"):
        load_bonus(tmp_path / "nothing", deepsea(1))


def test_an_end_without_its_last_observation():
    env = deepsea(1)
    env.reset()
    wait = env.venv.step_wait
    env.venv.step_wait = lambda: (*wait()[:3], [{}])  # as wrappers of others may do

    def play():
        for _ in range(20):
            env.step(np.zeros(1, np.int64))

    with pytest.raises(BadInput, match="environment 0 ended an episode without its last obs"):
        play()


@pytest.mark.parametrize("wrong", [None, object(), 3])
def test_what_is_no_bonus(wrong):
    with pytest.raises(BadInput, match="bonus must be a name of `countless list bonuses`"):
        BonusVecEnv(plain_deepsea(1), wrong)


def test_what_goes_around_vector_environments():
    for wrong in (None, object(), gymnasium.make("CartPole-v1")):
        with pytest.raises(BadInput, match=f"not {type(wrong).__name__}: make_vec_env"):
            BonusVecEnv(wrong, "counts")
    with pytest.raises(BadInput, match="have a BonusVecEnv around them already"):
        BonusVecEnv(VecCheckNan(deepsea(1)), "counts")
    with pytest.raises(BadInput, match="call reset before the first step"):
        deepsea(1).step(np.zeros(1, np.int64))
