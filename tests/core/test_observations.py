"""One reader of observations: every space, and which axis is which."""

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from countless.bonuses import make_bonus
from countless.core.errors import BadInput, naming_options
from countless.core.observations import as_reader

GREY = np.array([0.299, 0.587, 0.114])


def levels(*shape):
    return spaces.Box(0, 255, shape, np.uint8)


def random_levels(*shape):
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def grey(colours):
    """Channels last, in float64."""
    return np.rint(colours @ GREY)


@pytest.mark.parametrize(
    ("given", "kind", "shape"),
    [
        (7, "states", ()),
        (spaces.Discrete(7), "states", ()),
        (spaces.Discrete(7, start=3), "states", ()),
        ((5,), "vector", (5,)),
        (spaces.Box(-1, 1, (5,)), "vector", (5,)),
        (spaces.Box(-1, 1, (2, 3)), "vector", (6,)),
        (levels(128), "vector", (128,)),
        (spaces.MultiBinary(4), "vector", (4,)),
        (spaces.MultiBinary((2, 3)), "vector", (6,)),
        (spaces.MultiDiscrete([3, 4]), "vector", (7,)),
        ((84, 84), "image", (84, 84)),
        (levels(84, 84), "image", (84, 84)),
        (levels(12, 12), "image", (12, 12)),
        (levels(84, 84, 1), "image", (84, 84)),
        ((210, 160, 3), "image", (210, 160)),
        (levels(210, 160, 3), "image", (210, 160)),
        (levels(4, 84, 84), "image", (4, 84, 84)),
        (levels(84, 84, 4), "image", (4, 84, 84)),
        (levels(3, 84, 84), "image", (3, 84, 84)),
        (levels(84, 84, 12), "image", (4, 84, 84)),
        (levels(4, 84, 84, 3), "image", (4, 84, 84)),
        (levels(4, 3, 84, 84), "image", (4, 84, 84)),
        (levels(4, 84, 84, 1), "image", (4, 84, 84)),
        (spaces.Box(0.0, 1.0, (84, 84)), "image", (84, 84)),
        (spaces.Box(0.0, 255.0, (64, 64, 3)), "image", (64, 64)),
        (spaces.Box(-1.0, 1.0, (84, 84)), "vector", (7056,)),
        (spaces.Box(0, 1, (10, 10, 4), np.bool_), "vector", (400,)),
        (spaces.Box(0, 9, (40, 40), np.uint8), "vector", (1600,)),
        (levels(7, 7, 3), "vector", (147,)),
        (levels(16, 16, 3), "vector", (768,)),
        (spaces.Tuple([spaces.Discrete(3), spaces.Box(0, 1, (2,))]), "vector", (5,)),
    ],
    ids=str,
)
def test_what_spaces_and_shapes_are_read_as(given, kind, shape):
    reader = as_reader(given)
    assert (reader.kind, reader.shape) == (kind, shape)
    assert reader.n_states == (7 if kind == "states" else None)
    if isinstance(given, spaces.Space):
        batch = batch_space(given, 3)
        batch.seed(0)
        read = reader.read("test", batch.sample())
        assert read.shape == (3, *shape)
        assert read.dtype.kind in "biuf"
        assert reader.read_one("test", given.sample()).shape == shape


def test_states_are_numbered_from_their_start():
    bonus = make_bonus("counts", spaces.Discrete(3, start=5))
    assert bonus.observe([5, 7, 5]).tolist() == pytest.approx([1.0, 1.0, 0.5**0.5])
    table = make_bonus("sr-norm", spaces.Discrete(3, start=5), eta=0.5)
    table.observe([5], next_observations=[7])
    assert (table.norms() > 0).tolist() == [True, False, False]
    for name in ("counts", "ssr", "sr-norm"):
        with pytest.raises(BadInput, match=f"{name}: states are 5 to 7, not 0 to 2"):
            make_bonus(name, spaces.Discrete(3, start=5)).compute([0, 2])


def test_colours_become_grey():
    seen = random_levels(2, 210, 160, 3)
    for given in (levels(210, 160, 3), (210, 160, 3)):
        np.testing.assert_allclose(as_reader(given).read("test", seen), grey(seen), atol=1)
    bonus = make_bonus("cts", levels(210, 160, 3), size=6)
    same = make_bonus("cts", (210, 160), size=6)
    expected = same.observe(as_reader((210, 160, 3)).read("test", seen))
    np.testing.assert_allclose(bonus.observe(seen), expected)


def test_three_grey_frames_are_no_colours():
    frames = random_levels(2, 3, 84, 84)
    np.testing.assert_array_equal(as_reader(levels(3, 84, 84)).read("test", frames), frames)
    last = np.moveaxis(frames, 1, -1)
    told = as_reader(levels(84, 84, 3), layout="HWT")
    np.testing.assert_array_equal(told.read("test", last), frames)
    # Colours that come first are told apart by their layout.
    planes = as_reader(levels(3, 84, 84), layout="CHW")
    assert planes.shape == (84, 84)
    np.testing.assert_allclose(planes.read("test", frames), grey(last), atol=1)


@pytest.mark.parametrize("layout", ["HWC", "THWC", "TCHW"])
def test_a_stack_of_coloured_frames_is_a_stack_of_grey_ones(layout):
    frames = random_levels(2, 4, 64, 48, 3)  # batch, frames, height, width, colours
    given = {
        "HWC": np.moveaxis(frames, 1, 3).reshape(2, 64, 48, 12),
        "THWC": frames,
        "TCHW": np.moveaxis(frames, -1, 2),
    }[layout]
    read = as_reader(levels(*given.shape[1:])).read("test", given)
    np.testing.assert_allclose(read, grey(frames), atol=1)
    assert read.shape == (2, 4, 64, 48)
    # The newest frame counts in all its colours, not in the last one alone.
    bonus = make_bonus("cts", levels(*given.shape[1:]), size=6)
    before = bonus.log_probability(given)
    reds = frames.copy()
    reds[:, -1, :, :, 0] = 255 - reds[:, -1, :, :, 0]
    changed = {
        "HWC": np.moveaxis(reds, 1, 3).reshape(2, 64, 48, 12),
        "THWC": reds,
        "TCHW": np.moveaxis(reds, -1, 2),
    }[layout]
    bonus.update(given[:1])
    assert (bonus.log_probability(given) != before).any()
    assert (bonus.log_probability(changed) != bonus.log_probability(given)).all()


@pytest.mark.parametrize("most", [1.0, 255.0])
def test_images_of_floats_become_levels(most):
    seen = random_levels(3, 40, 50, 3)
    space = spaces.Box(0.0, most, (40, 50, 3), np.float32)
    read = as_reader(space).read("test", seen.astype(np.float32) * np.float32(most / 255))
    assert read.dtype == np.uint8
    np.testing.assert_array_equal(read, as_reader(levels(40, 50, 3)).read("test", seen))
    with pytest.raises(BadInput, match=f"test: pixels are 0 to {most:g}"):
        as_reader(space).read("test", np.full((1, 40, 50, 3), 300.0))


def test_parts_become_one_vector():
    space = spaces.Dict(
        grid=levels(3, 3, 2), heading=spaces.Discrete(4, start=1), said=spaces.Text(9),
        inner=spaces.Tuple([spaces.MultiBinary(2), spaces.MultiDiscrete([2, 3])]),
    )  # fmt: skip
    reader = as_reader(space)
    seen = {
        "grid": np.arange(36, dtype=np.uint8).reshape(2, 3, 3, 2), "heading": np.array([2, 4]),
        "said": ("go", "stop"), "inner": (np.array([[0, 1], [1, 1]]), np.array([[1, 0], [0, 2]])),
    }  # fmt: skip
    rows = reader.read("test", seen)
    assert reader.kind == "vector"
    parts = {
        "grid": list(range(18)), "heading": [0, 1, 0, 0], "inner": [0, 1, 0, 1, 1, 0, 0]
    }  # fmt: skip
    assert rows[0].tolist() == [number for key in space.spaces for number in parts.get(key, [])]
    one = {"grid": seen["grid"][0], "heading": 2, "said": "go",
           "inner": (seen["inner"][0][0], seen["inner"][1][0])}  # fmt: skip
    np.testing.assert_array_equal(reader.read_one("test", one), rows[0])


def test_the_one_image_among_the_parts_is_what_is_read():
    space = spaces.Dict(camera=levels(60, 60, 3), heading=spaces.Discrete(4))
    seen = random_levels(2, 60, 60, 3)
    read = as_reader(space).read("test", {"camera": seen, "heading": np.zeros(2, int)})
    np.testing.assert_array_equal(read, as_reader(levels(60, 60, 3)).read("test", seen))
    both = spaces.Dict(left=levels(60, 60), right=levels(60, 60))
    with pytest.raises(BadInput, match=r"several images \(left, right\); keep one of them"):
        as_reader(both)
    assert as_reader(both, layout="vector").shape == (7200,)


def test_minigrids_observations_are_read_as_they_come():
    gymnasium = pytest.importorskip("gymnasium")
    pytest.importorskip("minigrid")
    env = gymnasium.make("MiniGrid-DoorKey-5x5-v0")
    reader = as_reader(env.observation_space)
    assert (reader.kind, reader.shape) == ("vector", (4 + 147,))
    observation, _ = env.reset(seed=0)
    row = reader.read_one("test", observation)
    assert row[:4].sum() == 1
    assert row[4:].tolist() == observation["image"].ravel().tolist()


@pytest.mark.parametrize(
    ("given", "layout"),
    [((42, 42), None), ((60, 80, 3), None), (spaces.Box(0, np.inf, (42, 42)), "HW")],
)
def test_floats_up_to_1_are_not_read_as_black(given, layout):
    reader = as_reader(given, layout)
    images = np.random.default_rng(0).random((2, *reader.taken))
    with pytest.raises(BadInput, match=r"x: pixels of floats are at most .*Box\(0, 1, shape\)"):
        reader.read("x", images)
    for levels_of_255 in (images * 255, np.zeros_like(images), images.round().astype(np.uint8)):
        assert len(reader.read("x", levels_of_255)) == 2


@pytest.mark.parametrize(
    ("given", "layout", "message"),
    [
        (levels(40, 40, 40), None, r"shape \(40, 40, 40\) could be images or not.*layout='HWC'"),
        ((7, 7, 3), None, r"shape \(7, 7, 3\) could be images or not.*layout='vector'"),
        (levels(84, 84), "HWC", r"layout 'HWC' names 3 axes; observations of shape \(84, 84\)"),
        (spaces.Discrete(4), "HW", "layout names the axes of images; these are state indices"),
        (4, "vector", "layout names the axes of images; these are state indices: leave it out"),
        (spaces.Box(0, 1, (4,)), "HW", "layout names the axes of images; these are vectors"),
        ((4,), "W", "layout names the axes of images; these are vectors: leave it out"),
        (levels(84, 84), "XY", "layout must be 'vector' or have one letter per axis"),
        (levels(84, 84, 3), "HHW", "layout must be 'vector' or have one letter per axis"),
        (levels(4, 84, 84, 4), "THWC", "gives frames of 4 colours; they have 1 or 3"),
        (spaces.Text(5), None, "observations must be states, vectors, images, or several"),
        (spaces.Dict(said=spaces.Text(5)), None, "a part that is made of numbers"),
        ((1, 2, 3, 4, 5), None, "observations must be a number of states, a shape"),
        ((0, 3), None, "observations must be a number of states, a shape"),
    ],
)
def test_what_cannot_be_read_says_what_would_be_right(given, layout, message):
    with pytest.raises(BadInput, match=message) as raised:
        as_reader(given, layout)
    assert "\n" not in str(raised.value)


def test_messages_name_options_on_the_command_line():
    with naming_options(), pytest.raises(BadInput, match="--layout vector"):
        as_reader((7, 7, 3))


def test_a_bonus_for_images_says_how_to_call_an_array_one():
    with pytest.raises(BadInput, match=r"cts takes images, not vectors; .* layout='HWC'"):
        make_bonus("cts", levels(16, 16, 3))
    assert make_bonus("cts", levels(16, 16, 3), layout="HWC", size=4).observe(
        random_levels(2, 16, 16, 3)
    ).shape == (2,)


def test_values_outside_of_a_choice_are_refused():
    reader = as_reader(spaces.MultiDiscrete([2, 3]))
    for outside in ([[0, 3]], [[0, -1]], [[0.7, 1]]):
        with pytest.raises(BadInput, match="lies outside of MultiDiscrete"):
            reader.read("test", outside)


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ({"a": np.zeros((8, 2)), "n": np.zeros(8)}, r"the part a .* \(B, 4\), not \(8, 2\)"),
        ({"a": np.zeros((4,)), "n": np.zeros(4)}, r"the part a .* \(B, 4\), not \(4,\)"),
        ({"a": np.zeros((2, 4)), "n": np.zeros(3)}, r"have \[2, 3\] rows: give each as many"),
        ({"a": [["x"] * 4], "n": [0]}, "the part a of observations must be numbers"),
        ({"a": np.zeros((1, 4)), "n": [0.5]}, "lies outside of Discrete"),
        ({"a": np.zeros((1, 4))}, "observations lack the part n, which their space has"),
        (np.zeros((1, 5)), "observations lack the part a, which their space has"),
    ],
)
def test_parts_of_other_shapes_are_refused(seen, message):
    reader = as_reader(spaces.Dict(a=spaces.Box(-1, 1, (4,)), n=spaces.Discrete(2)))
    with pytest.raises(BadInput, match=message):
        reader.read("test", seen)


def test_a_space_without_numbers():
    with pytest.raises(BadInput, match=r"Box.* hold no number"):
        as_reader(spaces.Box(0, 1, (0,)))
