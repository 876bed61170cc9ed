"""RLeXplore's constructor, its keys and shapes, and its loops with only the import changed."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import SyncVectorEnv

from countless.adapters.rlexplore import KEYS, Reward
from countless.bonuses import make_bonus
from countless.core.errors import BadInput


def envs(count=3, space=None):
    class Empty(gymnasium.Env):
        observation_space = space or gymnasium.spaces.Discrete(5)
        action_space = gymnasium.spaces.Discrete(2)

    return SyncVectorEnv([Empty] * count)


def samples(steps=6, count=3):
    rng = np.random.default_rng(0)
    values = {
        "observations": torch.as_tensor(rng.integers(0, 5, (steps, count))),
        "next_observations": torch.as_tensor(rng.integers(0, 5, (steps, count))),
        "actions": torch.zeros(steps, count),
        "rewards": torch.zeros(steps, count),
        "terminateds": torch.zeros(steps, count),
        "truncateds": torch.zeros(steps, count),
    }
    assert set(values) == set(KEYS)
    return values


def counting(**more):
    return Reward(envs(), bonus="counts", rwd_norm_type="none", **more)


def test_one_of_rlexplores_loops_with_only_the_import_changed():
    """The call sequence of its example with CleanRL's PPO, without the agent."""
    steps, device = 8, torch.device("cpu")
    vector = gymnasium.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")
    irs = Reward(envs=vector, device=device)
    obs = torch.zeros((steps, 4, *vector.single_observation_space.shape)).to(irs.device)
    actions, rewards, dones = (torch.zeros((steps, 4)) for _ in range(3))
    next_obs = torch.Tensor(vector.reset(seed=1)[0])
    next_done = torch.zeros(4)
    for _ in range(3):
        for step in range(steps):
            obs[step], dones[step] = next_obs, next_done
            action = vector.action_space.sample()
            actions[step] = torch.as_tensor(action)
            next_obs, reward, terminations, truncations, _ = vector.step(action)
            irs.watch(
                observations=obs[step], actions=actions[step], rewards=rewards[step],
                terminateds=dones[step], truncateds=dones[step], next_observations=next_obs,
            )  # fmt: skip
            rewards[step] = torch.tensor(reward)
            next_obs = torch.Tensor(next_obs)
            next_done = torch.Tensor(np.logical_or(terminations, truncations))
        real_next_obs = obs.clone()
        real_next_obs[:-1] = obs[1:]
        real_next_obs[-1] = next_obs
        intrinsic = irs.compute(
            samples=dict(  # noqa: C408
                observations=obs, actions=actions, rewards=rewards, terminateds=dones,
                truncateds=dones, next_observations=real_next_obs,
            )
        )  # fmt: skip
        assert intrinsic.shape == rewards.shape
        assert intrinsic.dtype == torch.float32
        assert torch.isfinite(intrinsic).all()
        rewards += intrinsic
    assert irs.batch_size > 0
    assert [step for step, _ in irs.metrics["intrinsic_rewards"]] == [1, 2, 3]
    assert len(irs.metrics["loss"]) == 3


def test_compute_pays_step_by_step():
    given = samples()
    reward = counting()
    looked = reward.compute(given, sync=False)
    assert (looked == 1.0).all()
    paid = reward.compute(given)
    assert paid.shape == (6, 3)
    assert paid.dtype == torch.float32
    bonus = make_bonus("counts", 5)
    expected = np.stack([bonus.observe(row.numpy()) for row in given["observations"]])
    np.testing.assert_allclose(paid.numpy(), expected, rtol=1e-6)


def test_samples_are_learned_once():
    given, states = samples(), np.arange(5)
    visits = np.bincount(given["observations"].ravel(), minlength=5)
    for sync in (True, False):  # learned in `compute`, or in the `update` that follows it
        reward = counting()
        for times in (1, 2):  # the same buffers, filled anew
            reward.compute(given, sync=sync)
            reward.update(given)
            np.testing.assert_array_equal(reward.bonus.counts(states), times * visits)
    reward.update(given)
    np.testing.assert_array_equal(reward.bonus.counts(states), 3 * visits)


def test_weights_decay():
    reward = Reward(envs(), "cpu", 0.5, 0.1, None, "none")
    assert reward.weight == 0.5
    reward.compute(samples(), sync=False)
    assert reward.weight == pytest.approx(0.45)


def test_normalisation():
    given = samples()
    raw = counting().compute(given).numpy()
    scaled = Reward(envs(), bonus="counts").compute(given).numpy()
    np.testing.assert_allclose(scaled, raw / raw.std(), rtol=1e-3)
    unit = Reward(envs(), bonus="counts", rwd_norm_type="minmax").compute(given).numpy()
    assert (unit.min(), unit.max()) == pytest.approx((0.0, 1.0))
    sums = Reward(envs(), bonus="counts", gamma=0.5, rwd_norm_type="none").compute(given).numpy()
    np.testing.assert_allclose(sums[1], 0.5 * raw[0] + raw[1], rtol=1e-6)


def test_reached_states():
    given = samples()
    bonus = make_bonus("counts", 5)
    expected = np.stack([bonus.observe(row.numpy()) for row in given["next_observations"]])
    np.testing.assert_allclose(counting(of="reached").compute(given).numpy(), expected, rtol=1e-6)


def test_two_rollouts_are_not_linked():
    reward = Reward(envs(1), of="reached", parameters={"eta": 0.5})
    one = {key: value[:1, :1] for key, value in samples().items()}
    for _ in range(3):
        reward.compute(one)
    assert (reward.bonus.norms() == 0).all()


def test_images_of_floats_are_images():
    space = gymnasium.spaces.Box(0.0, 1.0, (36, 36), np.float32)
    reward = Reward(envs(2, space), bonus="cts", parameters={"size": 6})
    given = samples(4, 2) | {
        key: torch.rand(4, 2, 36, 36) for key in ("observations", "next_observations")
    }
    assert (reward.compute(given) > 0).all()


def test_bad_input():
    with pytest.raises(BadInput, match="the samples lack actions, rewards"):
        counting().compute({"observations": torch.zeros(1, 1)})
    with pytest.raises(BadInput, match="rwd_norm_type must be one of rms, minmax, none"):
        Reward(envs(), rwd_norm_type="x")
