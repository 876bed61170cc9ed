"""Vector environments: what is paid for which observation, in both ways of resetting."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import NormalizeObservation, RecordEpisodeStatistics

from countless.adapters.gymnasium import BonusVectorEnv
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

    def observe(self, observations, features=None, *, active=None, **transition):
        told = {key: np.asarray(value).tolist() for key, value in transition.items()}
        took = np.ones(len(observations), bool) if active is None else active
        self.calls.append((observations.tolist(), told, took.tolist()))
        return np.where(took, observations, 0).astype(float)


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
        observations, transition, active = spy.calls[-1]
        if active[0]:
            after, done = transition["next_observations"][0], transition["dones"][0]
            told.append((observations[0], after, done))
    # Under NEXT_STEP the fifth step only resets: it is no transition, and pays nothing.
    if mode == AutoresetMode.SAME_STEP:
        assert told == [(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 4, 1), (0, 1, 0), (1, 2, 0)]
        assert rewards == [0, 1, 2, 3, 0, 1]
    else:
        assert told == [(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 4, 1), (0, 1, 0)]
        assert rewards == [0, 1, 2, 3, 0, 0]


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_the_reached_state_is_paid_for(mode):
    spy = Spy()
    env = BonusVectorEnv(vector(1, mode), spy, of="reached")
    env.reset(seed=0)
    paid = [env.step(np.zeros(1, int))[4]["intrinsic_reward"][0] for _ in range(6)]
    starts = [transition["starts"][0] for _, transition, active in spy.calls if active[0]]
    if mode == AutoresetMode.SAME_STEP:
        assert paid == [1, 2, 3, 4, 1, 2]
        assert starts == [1, 0, 0, 0, 1, 0]
    else:
        assert paid == [1, 2, 3, 4, 0, 1]
        assert starts == [1, 0, 0, 0, 1]


class Cycle(gymnasium.Env):
    """0, 1, 2, 0, ... for ever; a time limit cuts it."""

    observation_space = spaces.Discrete(3)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = 0
        return self.state, {}

    def step(self, action):
        self.state = (self.state + 1) % 3
        return self.state, 0.0, False, False, {}


def cut_cycle(count, mode):
    make = lambda: gymnasium.wrappers.TimeLimit(Cycle(), 4)  # noqa: E731
    return SyncVectorEnv([make] * count, autoreset_mode=mode)


@pytest.mark.parametrize("of", ["departed", "reached"])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_a_reset_is_no_transition(mode, count, of):
    """In a cycle every norm is 1 / (1 - gamma), however often a time limit cuts it."""
    env = BonusVectorEnv(cut_cycle(count, mode), "sr-norm", of=of, gamma=0.9, eta=0.1, scale="none")
    env.reset(seed=0)
    for _ in range(6000 // count):
        env.step(np.zeros(count, int))
    np.testing.assert_allclose(env.bonus.norms(), 10.0, atol=1e-3)


@pytest.mark.parametrize("of", ["departed", "reached"])
def test_both_modes_teach_the_same(of):
    """Counts, and what the SR learns, do not depend on when an environment is reset."""
    visits = {}
    for mode, steps in ((AutoresetMode.SAME_STEP, 8), (AutoresetMode.NEXT_STEP, 9)):
        env = BonusVectorEnv(vector(2, mode), "counts", of=of, scale="none")
        env.reset(seed=0)
        for _ in range(steps):
            env.step(np.zeros(2, int))
        visits[mode] = env.bonus.counts(np.arange(5)).tolist()
    # Two episodes of four steps in two environments.
    expected = [4, 4, 4, 4, 0] if of == "departed" else [0, 4, 4, 4, 4]
    assert visits == dict.fromkeys(visits, expected)


def reach_the_end(mode, bonus, **parameters):
    """The wrapper after a thousand episodes, and what each end of the corridor was paid."""
    env = BonusVectorEnv(vector(2, mode), bonus, of="reached", scale="none", **parameters)
    env.reset(seed=0)
    ends = []
    for _ in range(4_000):
        _, _, terminated, _, info = env.step(np.zeros(2, int))
        ends += info["intrinsic_reward"][terminated].tolist()
    return env, np.array(ends)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_terminal_states_that_are_reached_are_learned(mode):
    """Nothing follows them: the norm of the last cell is 1, and each cell before adds to it."""
    env, ends = reach_the_end(mode, "sr-norm", beta=1.0, gamma=0.9, eta=0.1)
    np.testing.assert_allclose(env.bonus.norms(), [0.0, 3.439, 2.71, 1.9, 1.0], atol=1e-6)
    assert ends[0] == pytest.approx(1 / (1 - 0.9**2))  # two environments: it was learned twice
    assert ends[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("bonus", "parameters"),
    [("ssr", {}), ("sr-norm", {"form": "network", "features": 16}), ("counts", {})],
)
def test_terminal_states_wear_out(bonus, parameters):
    _, ends = reach_the_end(AutoresetMode.SAME_STEP, bonus, **parameters)
    assert ends[-1] < 0.1 * ends[0]


@pytest.mark.parametrize("of", ["departed", "reached"])
@pytest.mark.parametrize("bonus", ["counts", "sr-norm"])
def test_a_saved_bonus_goes_on_in_more_environments(bonus, of):
    few, many = (
        BonusVectorEnv(vector(count, AutoresetMode.NEXT_STEP), bonus, of=of) for count in (2, 4)
    )
    few.reset(seed=0)
    few.step(np.zeros(2, int))
    many.bonus.load_state_dict(few.bonus.state_dict())
    many.reset(seed=0)
    for _ in range(3):
        assert many.step(np.zeros(4, int))[4]["intrinsic_reward"].shape == (4,)


def test_rnd_keeps_the_sums_of_environments_that_reset():
    env = BonusVectorEnv(
        cut_cycle(2, AutoresetMode.NEXT_STEP), "rnd", warm_up=0, features=8, gamma=0.5
    )
    env.reset(seed=0)
    for step in range(6):
        env.step(np.zeros(2, int))
        if step == 3:
            before = env.bonus.state_dict()["sums"]
        if step == 4:  # all were reset
            np.testing.assert_array_equal(env.bonus.state_dict()["sums"], before)
    assert (env.bonus.state_dict()["sums"] > 0).all()


class Parts(Corridor):
    """The corridor with observations of several parts."""

    def __init__(self, kind):
        cell, seen = spaces.Discrete(5), spaces.Box(0, 9, (2,))
        both = {"cell": cell, "said": spaces.Text(3), "seen": seen}
        self.kind = kind
        self.observation_space = spaces.Dict(both) if kind is dict else spaces.Tuple((cell, seen))

    def _shown(self):
        seen = np.full(2, self.cell, np.float32)
        cell = np.int64(self.cell)
        return {"cell": cell, "said": "go", "seen": seen} if self.kind is dict else (cell, seen)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._shown(), {}

    def step(self, action):
        _, *rest = super().step(action)
        return self._shown(), *rest


@pytest.mark.parametrize("of", ["departed", "reached"])
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
@pytest.mark.parametrize("kind", [dict, tuple])
def test_observations_of_several_parts(kind, mode, of):
    parts = SyncVectorEnv([lambda: Parts(kind)] * 2, autoreset_mode=mode)
    plain, env = (
        BonusVectorEnv(vector(2, mode), "counts", of=of, scale="none"),
        BonusVectorEnv(parts, "counts", of=of, scale="none"),
    )
    plain.reset(seed=0)
    env.reset(seed=0)
    for _ in range(12):
        expected = plain.step(np.zeros(2, int))[4]["intrinsic_reward"]
        np.testing.assert_allclose(env.step(np.zeros(2, int))[4]["intrinsic_reward"], expected)


def test_minigrid_needs_no_preprocessing():
    pytest.importorskip("minigrid")
    env = BonusVectorEnv(
        gymnasium.make_vec("MiniGrid-Empty-5x5-v0", num_envs=2, vectorization_mode="sync"),
        "counts",
        scale="none",
    )
    env.reset(seed=0)
    turns = [env.step(np.zeros(2, int))[4]["intrinsic_reward"].tolist() for _ in range(5)]
    # Both stand in the same place: turning left four times leads to the first view again.
    assert turns[0] == pytest.approx([1.0, 2**-0.5])
    assert turns[4] == pytest.approx([3**-0.5, 0.5])


def test_observations_are_not_overwritten_by_the_environment():
    env = BonusVectorEnv(
        gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync"),
        "counts",
        scale="none",
    )
    env.reset(seed=0)
    for _ in range(5):
        _, _, _, _, info = env.step(env.action_space.sample())
        assert (info["intrinsic_reward"] == 1.0).all()  # each observation is a new one


def test_environments_that_do_not_say_when_they_reset():
    envs = vector(2, AutoresetMode.NEXT_STEP)
    envs.metadata = {}
    with pytest.warns(UserWarning, match="do not say when they reset"):
        env = BonusVectorEnv(envs, "counts", scale="none")
    env.reset(seed=0)
    for _ in range(10):
        env.step(np.zeros(2, int))
    assert env.bonus.counts(np.arange(5)).tolist() == [4, 4, 4, 4, 0]


def test_bad_input():
    env = vector(1, AutoresetMode.NEXT_STEP)
    with pytest.raises(BadInput, match="of must be departed or reached, not 'both'"):
        BonusVectorEnv(env, "counts", of="both")
    with pytest.raises(BadInput, match="beta: parameters go with the name of a bonus"):
        BonusVectorEnv(env, make_bonus("counts", 5), beta=1.0)
    with pytest.raises(BadInput, match="reset themselves"):
        BonusVectorEnv(vector(1, AutoresetMode.DISABLED), "counts")
    with pytest.raises(BadInput, match="preprocess goes with a bonus"):
        BonusVectorEnv(env, "counts", preprocess=lambda x: x)
    for wrong in (None, object(), Corridor()):
        with pytest.raises(BadInput, match=f"not {type(wrong).__name__}: gymnasium.make_vec"):
            BonusVectorEnv(wrong, "counts")
    with pytest.raises(BadInput, match="have a BonusVectorEnv around them already"):
        BonusVectorEnv(RecordEpisodeStatistics(BonusVectorEnv(env, "counts")), "counts")
    with pytest.raises(BadInput, match="call reset before the first step"):
        BonusVectorEnv(env, "counts").step(np.zeros(1, int))
    with pytest.raises(BadInput, match="no features of your agent"):
        BonusVectorEnv(env, "sr-norm", form="features")
    with pytest.raises(BadInput, match="no parameter 'deacy'; did you mean 'decay'"):
        BonusVectorEnv(env, "counts", deacy=10)


def test_preprocessing_of_ones_own():
    env = BonusVectorEnv(
        vector(2, AutoresetMode.NEXT_STEP), make_bonus("counts", 2), preprocess=lambda x: x // 3
    )
    env.reset(seed=0)
    paid = [env.step(np.zeros(2, int))[4]["intrinsic_reward"][0] for _ in range(4)]
    assert paid == pytest.approx([1.0, 3**-0.5, 5**-0.5, 1.0])


def test_normalised_observations_are_warned_of():
    """What was seen looks new again as the normalisation learns."""
    envs = gymnasium.make_vec("CartPole-v1", num_envs=2)
    with pytest.warns(UserWarning, match="put NormalizeObservation around BonusVectorEnv"):
        BonusVectorEnv(NormalizeObservation(envs), "counts")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NormalizeObservation(BonusVectorEnv(envs, "counts"))
