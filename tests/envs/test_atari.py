"""Atari under its protocol, against the emulator itself and plain NumPy."""

import numpy as np
import pytest
from ale_py import ALEInterface, ALEState, roms

from countless.core.errors import BadInput
from countless.envs.atari import AtariFrameEnv, game_name, game_names, is_atari, shrink
from countless.envs.make import make_frame_env

PAPERS = ("Freeway", "Gravitar", "MontezumaRevenge", "PrivateEye", "Solaris", "Venture")
UP, NOOP = 2, 0


def emulator(rom, seed=0, max_frames=0):
    """The emulator without anything around it: one frame an action, nothing sticks."""
    ale = ALEInterface()
    ale.setInt("random_seed", seed)
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("frame_skip", 1)
    ale.setInt("max_num_frames_per_episode", max_frames)
    ale.loadROM(roms.get_rom_path(rom))
    ale.reset_game()
    return ale


def literal_area_mean(screen):
    """Each of 84 x 84 cells: the mean of the screen over its rectangle, pixel by pixel."""
    height, width = screen.shape

    def overlaps(n):
        cells = []
        for i in range(84):
            low, high = i * n / 84, (i + 1) * n / 84
            pixels = range(int(low), min(n, int(np.ceil(high))))
            cells.append([(p, min(high, p + 1) - max(low, p)) for p in pixels])
        return cells

    rows = np.zeros((84, width))
    for i, cell in enumerate(overlaps(height)):
        for p, part in cell:
            rows[i] += part * screen[p]
    mean = np.zeros((84, 84))
    for j, cell in enumerate(overlaps(width)):
        for p, part in cell:
            mean[:, j] += part * rows[:, p]
    return mean / (height / 84) / (width / 84)


def recorded(name, steps, seed=0):
    """Screens of the emulator with random actions held for five frames, in fives."""
    ale = emulator(name)
    random = np.random.default_rng(seed)
    buttons = ale.getLegalActionSet()
    before = ale.getScreenGrayscale().copy()
    for _ in range(steps):
        action = int(random.integers(18))
        screens, reward = [before], 0
        for _ in range(5):
            reward += ale.act(buttons[action])
            screens.append(ale.getScreenGrayscale().copy())
        before = screens[-1]
        yield action, screens, reward


@pytest.mark.parametrize("name", ["montezuma_revenge", "freeway", "gravitar"])
def test_frames_equal_a_literal_version(name):
    rounded = AtariFrameEnv(name, 0, sticky=0.0)
    cut = AtariFrameEnv(name, 0, sticky=0.0, resize="truncated")
    firsts = rounded.reset(), cut.reset()
    literal = literal_area_mean(emulator(name).getScreenGrayscale())
    assert np.abs(firsts[0] - literal).max() <= 0.5 + 1e-6
    np.testing.assert_array_equal(firsts[1], (literal + 1e-6).astype(np.uint8))
    for action, screens, reward in recorded(name, 10):
        seen, same = rounded.step(action), cut.step(action)
        literal = literal_area_mean(np.maximum(screens[-1], screens[-2]))
        np.testing.assert_array_equal(same.frame, (literal + 1e-6).astype(np.uint8))
        assert np.abs(seen.frame - literal).max() <= 0.5 + 0.01
        assert seen.reward == same.reward == reward
        assert seen.frames == 5
        assert not seen.terminated
        assert not seen.truncated


def test_rounded_and_truncated_are_a_grey_level_apart_at_most():
    screen = np.random.default_rng(0).integers(256, size=(210, 160), dtype=np.uint8)
    apart = shrink(screen).astype(int) - shrink(screen, "truncated")
    assert set(np.unique(apart)) == {0, 1}
    flat = np.full((210, 160), 137, np.uint8)
    assert (shrink(flat) == 137).all()
    assert (shrink(flat, "truncated") == 137).all()


def test_frames_are_those_of_the_game_over_too():
    # Freeway is capped after 23 frames: the game is over at the third frame of the fifth step.
    game = AtariFrameEnv("Freeway", 0, sticky=0.0, max_frames=23)
    game.reset()
    steps = list(recorded("freeway", 5))
    ends = [game.step(action) for action, _, _ in steps]
    assert [end.frames for end in ends] == [5, 5, 5, 5, 3]
    assert [end.truncated for end in ends] == [False] * 4 + [True]
    screens = steps[-1][1]
    np.testing.assert_array_equal(ends[-1].frame, shrink(np.maximum(screens[3], screens[2])))
    assert (ends[-1].frame != shrink(np.maximum(screens[3], screens[0]))).any()


def test_past_the_end_as_released():
    game = AtariFrameEnv("Freeway", 0, max_frames=23, past_end="act")
    game.reset()
    ends = [game.step(NOOP) for _ in range(5)]
    assert [end.frames for end in ends] == [5] * 5
    assert ends[-1].truncated


def test_sticky_actions_repeat_a_quarter_of_all_frames():
    """Each frame is compared with what the emulator does after either action."""
    game = AtariFrameEnv("Freeway", 5, frame_skip=1)
    game.reset()
    twin = emulator("freeway")
    buttons = twin.getLegalActionSet()
    before, random = NOOP, np.random.default_rng(0)
    frames = repeats = 0
    for _ in range(1500):
        state = ALEState.__new__(ALEState)
        state.__setstate__(game.get_state()["ale"].tobytes())
        action = UP if random.random() < 0.5 else NOOP
        outcomes = {}
        for choice in {action, before}:
            twin.restoreState(state)
            twin.act(buttons[choice])
            outcomes[choice] = twin.getRAM().copy()
        game.step(action)
        ram = game._ale.getRAM()
        executed = [choice for choice, seen in outcomes.items() if (seen == ram).all()]
        assert executed
        if len(executed) == 1 and action != before:
            frames += 1
            repeats += executed[0] == before
        before = executed[0] if len(executed) == 1 else action
    assert frames > 400
    # Two standard errors are 0.04.
    assert repeats / frames == pytest.approx(0.25, abs=0.06)


@pytest.mark.parametrize("probability", [0.0, 0.6])
def test_other_probabilities_to_stick(probability):
    game = AtariFrameEnv("Freeway", 1, sticky=probability, frame_skip=1)
    game.reset()
    others = 0
    for i in range(1500):
        game.step(i % 2)
        others += int(game.get_state()["executed"]) != i % 2
    # Actions alternate, so that one which stuck twice is the chosen one again: m = p (1 - m).
    assert others / 1500 == pytest.approx(probability / (1.0 + probability), abs=0.04)
    assert (others == 0) == (probability == 0.0)


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_games_have_18_actions(name):
    game = make_frame_env(name, seed=0)
    assert game.n_actions == 18
    assert game.frame_shape == (84, 84)
    assert game.reset().dtype == np.uint8
    assert len(game._actions) == 18
    assert len(set(game._actions)) == 18
    for action in range(18):
        step = game.step(action)
        assert step.frame.shape == (84, 84)


def test_the_games_own_end_is_no_truncation():
    game = AtariFrameEnv("Freeway", 0, frame_skip=60)
    game.reset()
    frames = 0
    while not (step := game.step(NOOP)).terminated:
        frames += step.frames
        assert not step.truncated
    assert not step.truncated
    assert 8_000 < frames < 18_000


def test_the_cap_of_18000_frames_is_a_truncation():
    game = AtariFrameEnv("MontezumaRevenge", 0)
    game.reset()
    for _ in range(3599):
        step = game.step(NOOP)
        assert not step.terminated
        assert not step.truncated
    step = game.step(NOOP)
    assert step.truncated
    assert not step.terminated


@pytest.mark.parametrize("name", ["Freeway", "MontezumaRevenge"])
def test_a_kept_state_goes_on_the_same(name):
    random = np.random.default_rng(0)
    game = AtariFrameEnv(name, seed=3, max_frames=600)
    other = AtariFrameEnv(name, seed=99, max_frames=600)
    game.reset()
    other.reset()
    for _ in range(15):
        for _ in range(5):
            step = game.step(int(random.integers(18)))
            if step.terminated or step.truncated:
                game.reset()
        kept = game.get_state()
        other.step(UP)
        other.set_state(kept)
        for action in random.integers(18, size=6):
            one, same = game.step(int(action)), other.step(int(action))
            np.testing.assert_array_equal(one.frame, same.frame)
            assert one[1:] == same[1:]
            if one.terminated or one.truncated:
                np.testing.assert_array_equal(game.reset(), other.reset())
        np.testing.assert_array_equal(game._ale.getRAM(), other._ale.getRAM())
    assert all(isinstance(value, np.ndarray) for value in kept.values())


def test_a_seed_decides_what_sticks():
    def played(seed):
        game = AtariFrameEnv("Freeway", seed)
        game.reset()
        return np.stack([game.step(UP if i % 2 else NOOP).frame for i in range(60)])

    np.testing.assert_array_equal(played(1), played(1))
    assert (played(1) != played(2)).any()


def test_the_screen_for_people_is_in_colour():
    game = AtariFrameEnv("Freeway", 0)
    game.reset()
    assert game.screen().shape == (210, 160, 3)


@pytest.mark.parametrize(
    ("name", "game"),
    [
        ("MontezumaRevenge", "MontezumaRevenge"),
        ("montezuma_revenge", "MontezumaRevenge"),
        ("montezumarevenge", "MontezumaRevenge"),
        ("ALE/Pong-v5", "Pong"),
        ("PongNoFrameskip-v4", "Pong"),
        ("pong", "Pong"),
    ],
)
def test_names(name, game):
    assert is_atari(name)
    assert game_name(name) == game
    assert make_frame_env(name, 0).name == game


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("MontezumasRevenge", "MontezumaRevenge"),
        ("Montezuma", "MontezumaRevenge"),
        ("Freway", "Freeway"),
        ("ALE/Pung-v5", "ALE/Pong-v5"),
        ("deepsee-5", "deepsea-N"),
        ("CartPol-v1", "CartPole-v1"),
    ],
)
def test_an_unknown_name_gives_the_nearest(name, near):
    with pytest.raises(BadInput, match="did you mean") as error:
        make_frame_env(name, 0)
    assert near in str(error.value)


def test_game_name_of_nothing():
    with pytest.raises(BadInput, match="unknown Atari game 'nothing'"):
        game_name("nothing")
    assert set(PAPERS) <= set(game_names())
    assert len(game_names()) > 60
