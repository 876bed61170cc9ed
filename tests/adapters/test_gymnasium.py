"""Vector environments: what is paid for which observation, in both ways of resetting."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from countless.adapters.gymnasium import BonusVectorEnv
from countless.adapters.view import SeenBonus, bonus_for, make_view
from countless.bonuses import make_bonus
from countless.core.errors import BadInput


class Corridor(gymnasium.Env):
    """0, 1, 2, 3, end: the observation is the cell; reward 1 at the end."""

    observation_space = spaces.Discrete(5)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return self.cell, {}

    def step(self, action):
        self.cell += 1
        return self.cell, float(self.cell == 4), self.cell == 4, False, {}


class Spy:
    """A bonus that keeps what it was told and pays the observation's number."""

    def __init__(self):
        self.calls = []

    def observe(self, observations, features=None, **transition):
        told = {key: np.asarray(value).tolist() for key, value in transition.items()}
        self.calls.append((observations.tolist(), told))
        return observations.astype(float)


def vector(count, mode):
    return SyncVectorEnv([Corridor] * count, autoreset_mode=mode)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_the_departed_state_is_paid_for(mode):
    spy = Spy()
    env = BonusVectorEnv(vector(2, mode), spy)
    env.reset(seed=0)
    rewards, told = [], []
    for _ in range(6):
        _, reward, _, _, info = env.step(np.zeros(2, int))
        np.testing.assert_array_equal(reward, info["extrinsic_reward"] + info["intrinsic_reward"])
        rewards.append(info["intrinsic_reward"][0])
        observations, transition = spy.calls[-1]
        told.append((observations[0], transition["next_observations"][0], transition["dones"][0]))
    if mode == AutoresetMode.SAME_STEP:
        assert told == [(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 4, 1), (0, 1, 0), (1, 2, 0)]
        assert rewards == [0, 1, 2, 3, 0, 1]
    else:  # the fifth step only resets: it pays nothing, and the end stays an end
        assert told == [(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 4, 1), (4, 0, 1), (0, 1, 0)]
        assert rewards == [0, 1, 2, 3, 0, 0]


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_the_reached_state_is_paid_for(mode):
    spy = Spy()
    env = BonusVectorEnv(vector(1, mode), spy, of="reached")
    env.reset(seed=0)
    paid = [env.step(np.zeros(1, int))[4]["intrinsic_reward"][0] for _ in range(6)]
    starts = [transition["starts"][0] for _, transition in spy.calls]
    if mode == AutoresetMode.SAME_STEP:
        assert paid == [1, 2, 3, 4, 1, 2]
        assert starts == [0, 0, 0, 0, 1, 0]
    else:
        assert paid == [1, 2, 3, 4, 0, 1]
        assert starts == [0, 0, 0, 0, 1, 0]


def test_observations_are_not_overwritten_by_the_environment():
    env = BonusVectorEnv(
        gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync"), "counts"
    )
    env.reset(seed=0)
    for _ in range(5):
        _, _, _, _, info = env.step(env.action_space.sample())
        assert (info["intrinsic_reward"] == 1.0).all()  # each observation is a new one


def test_bad_input():
    env = vector(1, AutoresetMode.NEXT_STEP)
    with pytest.raises(BadInput, match="of must be departed or reached, not 'both'"):
        BonusVectorEnv(env, "counts", of="both")
    with pytest.raises(BadInput, match="beta: parameters go with the name of a bonus"):
        BonusVectorEnv(env, make_bonus("counts", 5), beta=1.0)
    with pytest.raises(BadInput, match="reset themselves"):
        BonusVectorEnv(vector(1, AutoresetMode.DISABLED), "counts")
    with pytest.raises(BadInput, match="cannot read Dict observations: give view="):
        make_view(spaces.Dict({"a": spaces.Discrete(3)}))
    with pytest.raises(BadInput, match="view= goes with a bonus"):
        bonus_for("counts", spaces.Discrete(3), view=lambda x: x)


@pytest.mark.parametrize(
    ("space", "shape"),
    [
        (spaces.Box(0, 255, (84, 84, 4), np.uint8), (4, 84, 84)),
        (spaces.Box(0, 255, (4, 84, 84), np.uint8), (4, 84, 84)),
        (spaces.Box(0, 255, (60, 80, 3), np.uint8), (60, 80)),
        (spaces.Box(0, 255, (3, 60, 80), np.uint8), (60, 80)),
        (spaces.Box(0, 255, (84, 84), np.uint8), (84, 84)),
        (spaces.Box(0, 255, (7, 7, 3), np.uint8), (147,)),
        (spaces.Box(-1, 1, (2, 3)), (6,)),
        (spaces.Box(-1, 1, (5,)), (5,)),
        (spaces.MultiDiscrete([3, 4]), (2,)),
        (spaces.Discrete(4, start=10), ()),
    ],
)
def test_spaces_become_what_a_bonus_reads(space, shape):
    spec, _ = make_view(space)
    assert spec.shape == shape
    bonus = bonus_for("counts", space)
    batch = np.stack([space.sample() for _ in range(3)])
    assert bonus.observe(batch).shape == (3,)
    assert bonus.compute(batch).dtype == np.float64


def test_colours_become_grey_and_the_newest_frame_stays_last():
    spec, view = make_view(spaces.Box(0, 255, (20, 20, 3), np.uint8))
    colours = np.zeros((1, 20, 20, 3), np.uint8)
    colours[..., 1] = 255
    assert view(colours).shape == (1, *spec.shape)
    assert int(view(colours)[0, 0, 0]) == 150
    _, view = make_view(spaces.Box(0, 255, (20, 20, 4), np.uint8))
    frames = np.zeros((1, 20, 20, 4), np.uint8)
    frames[..., 3] = 7
    assert (view(frames)[:, -1] == 7).all()


def test_a_view_of_ones_own():
    bonus = bonus_for(make_bonus("counts", 5), spaces.Dict({}), view=lambda x: x["cell"])
    assert isinstance(bonus, SeenBonus)
    assert bonus.observe({"cell": np.array([1, 1])}).tolist() == pytest.approx([1.0, 0.5**0.5])
    again = bonus_for(make_bonus("counts", 5), spaces.Dict({}), view=lambda x: x["cell"])
    again.load_state_dict(bonus.state_dict())
    assert again.compute({"cell": np.array([1])}).tolist() == pytest.approx([3**-0.5])
    again.update({"observations": {"cell": np.array([1])}})
    assert again.compute({"cell": np.array([1])}).tolist() == pytest.approx([0.5])
