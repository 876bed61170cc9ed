"""RLeXplore's constructor, its keys and shapes, and its loops with only the import changed."""

import itertools

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv

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
    """The call sequence of its example with CleanRL's PPO, without the agent.

    Its flags say how the step before ended, so its environments have to reset at once.
    """
    steps, device = 40, torch.device("cpu")
    vector = gymnasium.make_vec(
        "CartPole-v1",
        num_envs=4,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
    )
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
        assert dones.any()
        assert (intrinsic > 0.0).all()  # every row is a step
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
    copied = {key: values.clone() for key, values in given.items()}
    # Learned in `compute`, or in the `update` that follows it, of the same arrays or of copies.
    for sync, then in itertools.product((True, False), (given, copied)):
        reward = counting()
        for times in (1, 2):  # the same buffers, filled anew
            reward.compute(given, sync=sync)
            reward.update(then)
            np.testing.assert_array_equal(reward.bonus.counts(states), times * visits)
    reward.update(given)
    np.testing.assert_array_equal(reward.bonus.counts(states), 3 * visits)
    reward.compute(given)
    reward.update(given | {"observations": given["observations"].flip(0)})  # others
    np.testing.assert_array_equal(reward.bonus.counts(states), 5 * visits)


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


def test_a_bonus_that_is_the_same_everywhere_does_not_explode():
    """Divided by its SD alone it was paid hundreds, and more with every call."""
    reward = Reward(envs(space=gymnasium.spaces.Box(0.0, 1.0, (1,))), bonus="counts")
    for i in range(3):
        new = torch.arange(18.0).reshape(6, 3, 1) + 18 * i  # each is seen for the first time
        paid = reward.compute(samples() | {"observations": new, "next_observations": new})
        np.testing.assert_allclose(paid.numpy(), 10.0, rtol=1e-3)


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


class Cycle(gymnasium.Env):
    """0, 1, 2, 0, ... for ever."""

    observation_space = gymnasium.spaces.Discrete(3)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return self.state, {}

    def step(self, action):
        self.state = (self.state + 1) % 3
        return self.state, 0.0, False, False, {}


def cut_cycle(mode):
    make = lambda: gymnasium.wrappers.TimeLimit(Cycle(), 4)  # noqa: E731
    return SyncVectorEnv([make] * 2, autoreset_mode=mode)


def rollouts(vector, steps, length):
    """Samples of `steps` steps in rollouts of `length`, as a loop of an agent collects them."""
    observations, _ = vector.reset(seed=0)
    rows = []
    for _ in range(steps):
        before = observations.copy()
        observations, rewards, terminated, truncated, _ = vector.step(np.zeros(2, int))
        after = observations.copy()
        rows.append((before, np.zeros(2), rewards, terminated, truncated, after))
    for i in range(0, steps, length):
        columns = zip(*rows[i : i + length], strict=True)
        yield {
            key: torch.as_tensor(np.stack(column))
            for key, column in zip(KEYS, columns, strict=True)
        }


@pytest.mark.parametrize("length", [1, 3, 5, 60])
@pytest.mark.parametrize("sync", [True, False])
def test_a_reset_is_no_step(sync, length):
    """Twelve episodes of four steps, 0 1 2 0, in two environments; each is followed by a reset."""
    vector = cut_cycle(AutoresetMode.NEXT_STEP)
    reward = Reward(vector, bonus="counts", rwd_norm_type="none")
    paid = []
    for given in rollouts(vector, 60, length):
        paid.append(reward.compute(given, sync=sync))
        reward.update(given)
    assert reward.bonus.counts(np.arange(3)).tolist() == [48, 24, 24]
    resets = np.arange(60) % 5 == 4
    assert ((torch.cat(paid) == 0.0).all(dim=1).numpy() == resets).all()


@pytest.mark.parametrize("settings", [{"rwd_norm_type": "minmax"}, {"gamma": 0.9}])
def test_resets_stay_out_of_the_scale(settings):
    """What the steps are paid is what they are paid where there are no resets between them."""
    paid = {}
    for mode, steps in ((AutoresetMode.NEXT_STEP, 20), (AutoresetMode.SAME_STEP, 16)):
        vector = cut_cycle(mode)
        (given,) = rollouts(vector, steps, steps)
        paid[mode] = Reward(vector, bonus="counts", **settings).compute(given)
    resets = torch.arange(20) % 5 == 4
    assert (paid[AutoresetMode.NEXT_STEP][resets] == 0.0).all()
    torch.testing.assert_close(
        paid[AutoresetMode.NEXT_STEP][~resets], paid[AutoresetMode.SAME_STEP]
    )


@pytest.mark.parametrize("of", ["departed", "reached"])
def test_a_reset_is_no_transition(of):
    """In a cycle every norm is 1 / (1 - gamma), however often a time limit cuts it."""
    vector = cut_cycle(AutoresetMode.NEXT_STEP)
    reward = Reward(vector, bonus="sr-norm", of=of, parameters={"gamma": 0.9, "eta": 0.1})
    for given in rollouts(vector, 3_000, 100):
        reward.compute(given)
    np.testing.assert_allclose(reward.bonus.norms(), 10.0, atol=1e-3)


def test_where_the_end_is_the_reset_every_row_is_a_step():
    vector = cut_cycle(AutoresetMode.SAME_STEP)
    reward = Reward(vector, bonus="counts", rwd_norm_type="none")
    for given in rollouts(vector, 48, 6):
        reward.compute(given)
    assert reward.bonus.counts(np.arange(3)).tolist() == [48, 24, 24]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": -1.0}, r"beta must lie in \[0, inf\), not -1"),
        ({"kappa": 1.5}, r"kappa must lie in \[0, 1\], not 1.5"),
        ({"gamma": "0.9"}, r"gamma must be a number in \[0, 1\], not '0.9'"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(BadInput, match=message):
        Reward(envs(), **settings)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"observations": torch.zeros(6)}, r"\['observations'\] must have shape \(6, 3, ...\)"),
        ({"rewards": torch.zeros(3, 6)}, r"\['rewards'\] must have shape \(6, 3, ...\)"),
        ({"truncateds": torch.zeros(6, 3, 2)}, r"\['truncateds'\] must have shape \(6, 3\), one"),
        ({"next_observations": torch.zeros(6, 3, 4)}, r"must have the shape \(6, 3\) of the"),
    ],
)
def test_samples_of_other_shapes(changed, message):
    with pytest.raises(BadInput, match=message):
        counting().compute(samples() | changed)
    with pytest.raises(BadInput, match=message):
        counting().update(samples() | changed)


def test_what_it_is_made_for():
    with pytest.raises(BadInput, match=r"Reward takes vector environments, such as gymnasium.make"):
        Reward(gymnasium.make("CartPole-v1"))
    with pytest.raises(BadInput, match="device 'nothing' cannot be used"):
        Reward(envs(), device="nothing")


def test_bad_input():
    with pytest.raises(BadInput, match="the samples lack actions, rewards"):
        counting().compute({"observations": torch.zeros(1, 1)})
    with pytest.raises(BadInput, match="rwd_norm_type must be one of rms, minmax, none"):
        Reward(envs(), rwd_norm_type="x")
