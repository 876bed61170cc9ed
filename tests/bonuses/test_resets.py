"""A loop that takes resets for steps is told so, once; one that does not hears nothing."""

import warnings

import gymnasium
import numpy as np
import pytest

from countless.bonuses import make_bonus


def run(loop, bonus, steps=60):
    envs = gymnasium.make_vec("CartPole-v1", num_envs=3)  # resets in the step after an end
    envs.action_space.seed(0)
    obs, _ = envs.reset(seed=0)
    ended = np.zeros(3, dtype=bool)
    for _ in range(steps):
        next_obs, _, terminations, truncations, _ = envs.step(envs.action_space.sample())
        loop(bonus, obs, next_obs, terminations, ended)
        obs, ended = next_obs, terminations | truncations


def forgetful(bonus, obs, next_obs, terminations, ended):
    bonus.observe(obs, next_observations=next_obs, dones=terminations)


def careful(bonus, obs, next_obs, terminations, ended):
    bonus.observe(obs, next_observations=next_obs, dones=terminations, active=~ended)


@pytest.mark.parametrize("scale", ["none", "standardise"])
def test_a_loop_that_forgets_active_is_warned_once(scale):
    with pytest.warns(UserWarning, match="only reset its environment") as told:
        run(forgetful, make_bonus("counts", (4,), scale=scale))
    assert len(told) == 1


def test_the_loop_of_the_docs_is_not_warned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(careful, make_bonus("counts", (4,)))


def test_observations_of_several_parts():
    space = gymnasium.spaces.Dict(
        {"a": gymnasium.spaces.Discrete(5), "b": gymnasium.spaces.Box(0, 1, (2,))}
    )
    bonus = make_bonus("counts", space)
    last = {"a": np.array([1, 2]), "b": np.zeros((2, 2), np.float32)}
    other = {"a": np.array([3, 4]), "b": np.ones((2, 2), np.float32)}
    bonus.observe(other, next_observations=last, dones=np.array([False, True]))
    with pytest.warns(UserWarning, match="only reset"):
        bonus.observe(last, next_observations=other, dones=np.array([False, False]))


def test_marked_starts_are_trusted():
    """An episode may begin where the last one ended."""
    bonus = make_bonus("sr-norm", 3)
    flags = {"dones": np.array([True]), "starts": np.array([True])}
    for _ in range(3):
        bonus.observe(np.array([0]), next_observations=np.array([0]), **flags)
