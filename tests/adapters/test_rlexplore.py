"""RLeXplore's keys and shapes."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from countless.adapters.rlexplore import KEYS, Reward
from countless.bonuses import make_bonus
from countless.core.errors import BadInput


def samples(steps=6, envs=3):
    rng = np.random.default_rng(0)
    values = {
        "observations": torch.as_tensor(rng.integers(0, 5, (steps, envs))),
        "next_observations": torch.as_tensor(rng.integers(0, 5, (steps, envs))),
        "actions": torch.zeros(steps, envs),
        "rewards": torch.zeros(steps, envs),
        "terminateds": torch.zeros(steps, envs),
        "truncateds": torch.zeros(steps, envs),
    }
    assert set(values) == set(KEYS)
    return values


def test_compute_pays_step_by_step():
    given = samples()
    reward = Reward(spaces.Discrete(5), spaces.Discrete(2), n_envs=3, bonus="counts")
    looked = reward.compute(given, sync=False)
    assert (looked == 1.0).all()
    paid = reward.compute(given)
    assert paid.shape == (6, 3)
    assert paid.dtype == torch.float32
    bonus = make_bonus("counts", 5)
    expected = np.stack([bonus.observe(row.numpy()) for row in given["observations"]])
    np.testing.assert_allclose(paid.numpy(), expected, rtol=1e-6)


def test_weights_and_updates():
    given = samples()
    reward = Reward(spaces.Discrete(5), None, 3, beta=0.5, kappa=0.1, bonus="sr-norm")
    assert reward.weight == 0.5
    reward.watch(*(given[key][0] for key in KEYS))
    first = reward.compute(given, sync=False)
    assert reward.weight == pytest.approx(0.45)
    reward.update(given)
    assert reward.metrics["norm"] > 0
    assert (reward.compute(given, sync=False) < first).all()


def test_reached_states():
    given = samples()
    reward = Reward(spaces.Discrete(5), None, 3, bonus="counts", of="reached")
    bonus = make_bonus("counts", 5)
    expected = np.stack([bonus.observe(row.numpy()) for row in given["next_observations"]])
    np.testing.assert_allclose(reward.compute(given).numpy(), expected, rtol=1e-6)


def test_missing_keys():
    reward = Reward(spaces.Discrete(5), bonus="counts")
    with pytest.raises(BadInput, match="the samples lack actions, rewards"):
        reward.compute({"observations": torch.zeros(1, 1)})
