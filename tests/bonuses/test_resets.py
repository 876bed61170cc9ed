"""A loop that takes resets for steps is told so, once; one that does not hears nothing."""

import warnings

import gymnasium
import numpy as np
import pytest

from countless.bonuses import make_bonus
from countless.core.errors import BadInput


def run(loop, bonus, steps=60, limit=None):
    """`limit`: steps after which an episode is cut off, before a pole can fall."""
    short = {} if limit is None else {"max_episode_steps": limit}
    envs = gymnasium.make_vec("CartPole-v1", num_envs=3, **short)
    envs.action_space.seed(0)
    obs, _ = envs.reset(seed=0)
    ended = np.zeros(3, dtype=bool)  # these are only reset by the next step, Gymnasium's default
    for _ in range(steps):
        next_obs, _, terminations, truncations, _ = envs.step(envs.action_space.sample())
        assert limit is None or not terminations.any()
        loop(bonus, obs, next_obs, terminations, truncations, ended)
        obs, ended = next_obs, terminations | truncations


def forgetful(bonus, obs, next_obs, terminations, truncations, ended):
    bonus.observe(obs, next_observations=next_obs, dones=terminations, truncations=truncations)


def careful(bonus, obs, next_obs, terminations, truncations, ended):
    bonus.observe(
        obs,
        next_observations=next_obs,
        dones=terminations,
        truncations=truncations,
        active=~ended,
    )


def silent(bonus, obs, next_obs, terminations, truncations, ended):
    bonus.observe(obs, next_observations=next_obs, dones=terminations)


CUT_OFF = 6  # CartPole's pole stands this long, whatever is done


@pytest.mark.parametrize("limit", [None, CUT_OFF], ids=["terminated", "cut off"])
@pytest.mark.parametrize("scale", ["none", "standardise"])
def test_a_loop_that_forgets_active_is_warned_once(scale, limit):
    with pytest.warns(UserWarning, match="only reset its environment") as told:
        run(forgetful, make_bonus("counts", (4,), scale=scale), limit=limit)
    assert len(told) == 1


@pytest.mark.parametrize("limit", [None, CUT_OFF], ids=["terminated", "cut off"])
def test_the_loop_of_the_docs_is_not_warned(limit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(careful, make_bonus("counts", (4,)), limit=limit)


@pytest.mark.parametrize("scale", ["none", "standardise"])
def test_truncations_change_nothing_that_is_learned(scale):
    """Not told of them, a bonus learns and pays the same, and cannot warn."""
    told, untold = (make_bonus("sr-norm", (4,), scale=scale) for _ in range(2))
    with pytest.warns(UserWarning, match="only reset"):
        run(forgetful, told, limit=CUT_OFF)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(silent, untold, limit=CUT_OFF)
    for name, value in told.state_dict().items():
        np.testing.assert_array_equal(untold.state_dict()[name], value, err_msg=name)


def test_one_truncation_per_environment():
    bonus = make_bonus("counts", 3)
    with pytest.raises(BadInput, match="1 flags for 2 observations"):
        bonus.observe([0, 1], next_observations=[1, 2], truncations=[True])


@pytest.mark.parametrize("name", ["dones", "truncations", "starts"])
def test_flags_of_another_shape(name):
    told = {"active": np.array([True, False])}
    for wrong in (True, [[True], [False], [True]]):
        with pytest.raises(BadInput, match=r"observe: [13] flags for 2 observations"):
            make_bonus("counts", 3).observe(
                [0, 1], next_observations=[1, 2], **told, **{name: wrong}
            )
    flat, column = make_bonus("sr-norm", 3), make_bonus("sr-norm", 3)
    flags = np.array([True, False])
    for bonus, shape in ((flat, (2,)), (column, (2, 1))):
        bonus.observe([0, 1], next_observations=[1, 2], **told, **{name: flags.reshape(shape)})
    for key, value in flat.state_dict().items():
        np.testing.assert_array_equal(column.state_dict()[key], value, err_msg=key)


def test_other_environments_in_the_next_call():
    """Fewer than before: those that ended are not among them."""
    bonus = make_bonus("counts", 9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in ([0, 1, 2, 3], [3, 2]):
            flags = np.arange(len(rows)) == len(rows) - 1
            bonus.observe(rows, next_observations=rows, dones=~flags & False, truncations=flags)


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
