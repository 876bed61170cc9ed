"""Gymnasium environments for deep agents: frames, actions, seeds of episodes, saved states."""

from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from countless.core.errors import BadInput
from countless.envs import MDPEnv, build_mdp
from countless.envs.atari import AtariFrameEnv, shrink
from countless.envs.gymnasium import GymnasiumFrameEnv
from countless.envs.make import MDP_STEPS, canonical_name, folder_name, make_frame_env


class Shown(gymnasium.Env):
    """Shows given observations one after the other."""

    metadata: ClassVar[dict] = {"render_modes": []}

    def __init__(self, space, observations, action_space=None):
        self.observation_space = space
        self.action_space = action_space or spaces.Discrete(3)
        self.observations, self.at, self.taken = observations, 0, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self.observations[0], {}

    def step(self, action):
        self.taken.append(action)
        self.at = (self.at + 1) % len(self.observations)
        return self.observations[self.at], 1.0, False, False, {}


def images(*shape, n=4):
    return np.random.default_rng(0).integers(256, size=(n, *shape), dtype=np.uint8)


def box(*shape):
    return spaces.Box(0, 255, shape, np.uint8)


def test_states_of_an_mdp_are_cells_of_its_grid():
    game = make_frame_env("deepsea-4", seed=0)
    assert (game.frame_shape, game.dtype, game.pixels) == ((4, 4), np.uint8, True)
    frame = game.reset()
    assert np.argwhere(frame).tolist() == [[0, 0]]
    assert frame.max() == 255
    assert np.argwhere(game.step(1).frame).tolist() in ([[1, 1]], [[1, 0]])
    for _ in range(2):
        last = game.step(0)
    assert not last.terminated
    last = game.step(0)
    assert last.terminated
    assert not last.frame.any()


@pytest.mark.parametrize(("name", "shape"), [("riverswim", (6,)), ("gridworld-9", (9, 9))])
def test_an_mdp_whose_end_is_not_reached_is_cut(name, shape):
    game = make_frame_env(name, seed=0)
    assert game.frame_shape == shape
    game.reset()
    flags = [game.step(0)[2:4] for _ in range(MDP_STEPS)]
    assert flags == [(False, False)] * (MDP_STEPS - 1) + [(False, True)]


def test_vectors_stay_as_they_are():
    game = make_frame_env("CartPole-v1", seed=0)
    assert (game.frame_shape, game.dtype, game.pixels) == ((4,), np.float32, False)
    env = gymnasium.make("CartPole-v1")
    frame = game.reset()
    assert np.abs(frame).max() < 0.05
    env.reset(seed=0)
    env.unwrapped.state = np.array(frame, np.float64)
    step, theirs = game.step(1), env.step(1)
    np.testing.assert_allclose(step.frame, theirs[0], atol=1e-6)
    assert step[1:] == (1.0, False, False, 1)


def test_states_by_number_are_one_hot():
    game = make_frame_env("FrozenLake-v1", seed=0)
    assert game.reset().tolist() == [255] + [0] * 15
    shifted = GymnasiumFrameEnv(Shown(spaces.Discrete(3, start=5), [5, 7]), 0)
    assert shifted.reset().tolist() == [255, 0, 0]
    assert shifted.step(0).frame.tolist() == [0, 0, 255]


def test_images_are_grey_and_large_ones_small():
    seen = images(100, 60, 3)
    game = GymnasiumFrameEnv(Shown(box(100, 60, 3), seen), 0)
    assert game.frame_shape == (84, 84)
    grey = (seen[0] @ np.array([0.299, 0.587, 0.114])).round().astype(np.uint8)
    apart = game.reset().astype(int) - shrink(grey)
    assert np.abs(apart).max() <= 1
    seen = images(40, 50, 3)
    game = GymnasiumFrameEnv(Shown(box(40, 50, 3), seen), 0)
    assert (game.frame_shape, game.pixels) == ((40, 50), True)
    exact = seen[0] @ np.array([0.299, 0.587, 0.114])
    assert np.abs(game.reset() - exact).max() <= 0.51
    seen = images(12, 12)
    game = GymnasiumFrameEnv(Shown(box(12, 12), seen), 0)
    np.testing.assert_array_equal(game.reset(), seen[0])


def test_minigrid_is_seen_as_codes_or_as_a_grey_picture():
    name = "minigrid:MiniGrid-DoorKey-6x6-v0"
    codes, pictures = make_frame_env(name, seed=3), make_frame_env(name, seed=3, view="pictures")
    assert (codes.pixels, len(codes.frame_shape)) == (False, 1)
    assert (pictures.frame_shape, pictures.dtype, pictures.pixels) == ((84, 84), np.uint8, True)
    codes.reset()
    first = pictures.reset()
    turned = pictures.step(0)
    assert turned[1:4] == codes.step(0)[1:4]
    assert (first != turned.frame).any()
    assert len(np.unique(first)) > 5


@pytest.mark.parametrize("name", ["CartPole-v1", "deepsea-4", "MontezumaRevenge"])
def test_only_minigrid_has_two_views(name):
    with pytest.raises(BadInput, match=f"is for MiniGrid: {name} has one view only"):
        make_frame_env(name, seed=0, view="pictures")


def test_actions_may_start_elsewhere():
    env = Shown(box(12, 12), images(12, 12), spaces.Discrete(2, start=-1))
    game = GymnasiumFrameEnv(env, 0)
    assert game.n_actions == 2
    game.reset()
    game.step(0)
    game.step(1)
    assert env.taken == [-1, 0]


@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1", "riverswim", "deepsea-6"])
def test_a_kept_state_goes_on_the_same(name):
    random = np.random.default_rng(0)
    game, other = make_frame_env(name, seed=4), make_frame_env(name, seed=4)
    other.reset()
    frame = game.reset()
    for _ in range(3):
        for _ in range(17):
            step = game.step(int(random.integers(game.n_actions)))
            if step.terminated or step.truncated:
                frame = game.reset()
        other.set_state(game.get_state())
        for _ in range(20):
            action = int(random.integers(game.n_actions))
            one, same = game.step(action), other.step(action)
            np.testing.assert_array_equal(one.frame, same.frame)
            assert one[1:] == same[1:]
            if one.terminated or one.truncated:
                frame = game.reset()
                np.testing.assert_array_equal(frame, other.reset())


def test_episodes_differ_and_seeds_differ():
    game = make_frame_env("CartPole-v1", seed=0)
    first, second = game.reset(), game.reset()
    assert (first != second).any()
    np.testing.assert_array_equal(make_frame_env("CartPole-v1", seed=0).reset(), first)
    assert (make_frame_env("CartPole-v1", seed=1).reset() != first).any()


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Shown(box(9, 9), images(9, 9), spaces.Box(0, 1, (2,))), "actions must be discrete"),
        (Shown(spaces.Text(5), ["word"]), "Shown: observations must be states, vectors, images"),
        (
            Shown(spaces.Dict(said=spaces.Text(5)), [{"said": "a"}]),
            "a part that is made of numbers",
        ),
    ],
)
def test_what_cannot_be_a_game(env, message):
    with pytest.raises(BadInput, match=message):
        GymnasiumFrameEnv(env, 0)


def test_names_of_gymnasium_are_gymnasiums():
    # There is an Atari game of that name too.
    assert isinstance(make_frame_env("Blackjack-v1", 0), GymnasiumFrameEnv)
    assert isinstance(make_frame_env("Blackjack", 0), AtariFrameEnv)
    with pytest.raises(BadInput, match="Pendulum-v1: actions must be discrete"):
        make_frame_env("Pendulum-v1", 0)
    with pytest.raises(BadInput, match="Gymnasium knows no environment 'no/such-v0'"):
        make_frame_env("no/such-v0", 0)


def test_an_environment_that_cannot_be_made_is_bad_input(monkeypatch):
    def missing(name, **options):
        raise gymnasium.error.DependencyNotInstalled("install box2d")

    monkeypatch.setattr(gymnasium, "make", missing)
    with pytest.raises(BadInput, match="Gymnasium cannot make CartPole-v1: install box2d"):
        make_frame_env("CartPole-v1", 0)


def test_an_mdp_file(tmp_path):
    mdp = build_mdp("coin", ([0, 0], [0, 1], [0, 0], [1, -1], [1, 1]), [1.0])
    game = GymnasiumFrameEnv(MDPEnv(mdp), 0, 3)
    game.reset()
    assert [game.step(1)[1:4] for _ in range(3)] == [
        (-1.0, False, False), (-1.0, False, False), (-1.0, False, True),
    ]  # fmt: skip
    with pytest.raises(BadInput, match="cannot be read"):
        make_frame_env(str(tmp_path / "no.mdp"), 0)


def test_labels_can_be_folders():
    assert folder_name("countless/DeepSea-v0") == "countless-DeepSea-v0"
    assert folder_name("minigrid:MiniGrid-Empty-8x8-v0") == "minigrid-MiniGrid-Empty-8x8-v0"


def test_a_game_has_one_name():
    spellings = ("MontezumaRevenge", "montezuma_revenge", "ALE/MontezumaRevenge-v5")
    assert {canonical_name(spelling) for spelling in spellings} == {"MontezumaRevenge"}
    assert canonical_name("Blackjack-v1") == "Blackjack-v1"
    assert canonical_name("blackjack") == "Blackjack"


def test_observations_of_several_parts_are_one_vector():
    space = spaces.Dict(
        grid=box(3, 3, 2), heading=spaces.Discrete(4, start=1), speed=spaces.Box(-1, 1, (2,)),
        said=spaces.Text(9), keys=spaces.MultiBinary(2), dice=spaces.MultiDiscrete([2, 3]),
    )  # fmt: skip
    grid = np.arange(18, dtype=np.uint8).reshape(3, 3, 2)
    seen = {
        "grid": grid, "heading": 2, "speed": np.array([0.5, -1.0], np.float32), "said": "go",
        "keys": np.array([0, 1], np.int8), "dice": np.array([1, 0]),
    }  # fmt: skip
    game = GymnasiumFrameEnv(Shown(space, [seen]), 0)
    assert (game.frame_shape, game.dtype, game.pixels) == ((18 + 4 + 2 + 2 + 5,), np.float32, False)
    parts = {
        "dice": [0, 1, 1, 0, 0], "grid": list(range(18)), "heading": [0, 1, 0, 0],
        "keys": [0, 1], "speed": [0.5, -1.0],
    }  # fmt: skip
    expected = [number for key in space.spaces for number in parts.get(key, [])]
    assert game.reset().tolist() == expected
    pair = GymnasiumFrameEnv(
        Shown(spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)]), [(1, 0)]), 0
    )
    assert pair.reset().tolist() == [0, 1, 1, 0, 0]


def test_a_large_image_among_the_parts_is_the_frame():
    seen = images(60, 60, 3)
    space = spaces.Dict(camera=box(60, 60, 3), heading=spaces.Discrete(4))
    game = GymnasiumFrameEnv(Shown(space, [{"camera": seen[0], "heading": 0}]), 0)
    alone = GymnasiumFrameEnv(Shown(box(60, 60, 3), seen), 0)
    assert (game.frame_shape, game.pixels) == ((84, 84), True)
    np.testing.assert_array_equal(game.reset(), alone.reset())


@pytest.mark.parametrize("high", [1.0, 255.0])
def test_images_of_floats_become_levels(high):
    seen = images(40, 50, 3)
    space = spaces.Box(0.0, high, (40, 50, 3), np.float32)
    game = GymnasiumFrameEnv(Shown(space, seen.astype(np.float32) * np.float32(high / 255)), 0)
    assert (game.frame_shape, game.dtype, game.pixels) == ((40, 50), np.uint8, True)
    np.testing.assert_array_equal(
        game.reset(), GymnasiumFrameEnv(Shown(box(40, 50, 3), seen), 0).reset()
    )


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1.0, 1.0, (9, 9), np.float32),
        spaces.Box(0.0, 1.0, (9, 3), np.float32),
        spaces.Box(0.0, 1.0, (10, 10, 6), np.float32),
        spaces.Box(0, 1, (10, 10, 4), np.bool_),
    ],
)
def test_arrays_that_are_no_images_are_vectors(space):
    seen = space.sample()
    game = GymnasiumFrameEnv(Shown(space, [seen]), 0)
    assert (game.frame_shape, game.dtype, game.pixels) == ((seen.size,), np.float32, False)
    np.testing.assert_array_equal(game.reset(), seen.ravel().astype(np.float32))


def test_bytes_are_levels():
    seen = images(128)
    game = GymnasiumFrameEnv(Shown(box(128), seen), 0)
    assert (game.frame_shape, game.dtype, game.pixels) == ((128,), np.uint8, True)
    np.testing.assert_array_equal(game.reset(), seen[0])


def test_a_module_may_be_named_that_registers_the_id():
    pytest.importorskip("minigrid")
    game = make_frame_env("minigrid:MiniGrid-Empty-8x8-v0", 0)
    assert game.frame_shape == (4 + 7 * 7 * 3,)
    assert game.reset()[:4].sum() == 1.0
    assert game.screen().ndim == 3
    with pytest.raises(BadInput, match="cannot import 'no_such_module'"):
        make_frame_env("no_such_module:Some-v0", 0)
    with pytest.raises(BadInput, match="'Some-v0'") as named:
        make_frame_env("minigrid:Some-v0", 0)
    assert "PACKAGE" not in str(named.value)
    with pytest.raises(BadInput, match="PACKAGE:Some-v0 imports the package that registers it"):
        make_frame_env("Some-v0", 0)


def test_what_cannot_be_drawn_for_people():
    with pytest.raises(BadInput, match="MDPEnv cannot be drawn"):
        make_frame_env("riverswim", seed=0).screen()


def test_an_episode_limit_of_the_mdp_holds():
    env = gymnasium.make("FrozenLake-v1")
    limit = env.spec.max_episode_steps
    game = make_frame_env("FrozenLake-v1", seed=0)
    for _ in range(3):
        game.reset()
        steps = 1
        while not any((step := game.step(0))[2:4]):
            steps += 1
        assert steps <= limit
        assert step.truncated == (steps == limit)


def test_our_own_ids():
    game = make_frame_env("countless/DeepSea-v0", seed=0)
    assert game.frame_shape == (10, 10)


def test_of_a_stack_the_newest_frame_is_taken():
    seen = images(3, 20, 30)
    game = GymnasiumFrameEnv(Shown(box(3, 20, 30), seen), seed=0)
    assert game.frame_shape == (20, 30)
    np.testing.assert_array_equal(game.reset(), seen[0, -1])


@pytest.mark.parametrize("name", ["countless/RiverSwim-v0", "riverswim"])
def test_long_episodes_are_cut(name):
    game = make_frame_env(name, seed=0, max_frames=7)
    game.reset()
    assert [game.step(0).truncated for _ in range(7)] == [False] * 6 + [True]
