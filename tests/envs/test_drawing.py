"""Gridworlds that are drawn as text."""

import numpy as np
import pytest

from countless.core.errors import BadInput
from countless.envs import make_mdp
from countless.envs.domains import FOUR_ROOMS
from countless.envs.drawing import grid_from_text


def test_a_drawing_of_the_four_rooms_is_the_four_rooms():
    drawing = "S" + FOUR_ROOMS[1:-1] + "1"
    assert grid_from_text(drawing).fingerprint == make_mdp("fourrooms").fingerprint


def test_cells_walls_rewards_and_starts():
    mdp = grid_from_text("S#9|.xS")
    np.testing.assert_array_equal(mdp.layout, [[0, -1, 1], [2, 3, 4]])
    assert mdp.start.tolist() == [0.5, 0, 0, 0, 0.5]
    moves = {
        (int(s), int(a)): (int(to), float(r), bool(end))
        for s, a, to, r, end in zip(
            mdp.state, mdp.action, mdp.next_state, mdp.reward, mdp.terminated, strict=True
        )
    }
    assert moves[0, 1] == (0, 0.0, False)  # right, into the wall
    assert moves[4, 0] == (1, 9.0, True)  # up, into the reward
    assert moves[2, 1] == (3, -1.0, True)  # right, into the pit
    assert moves[1, 2] == (1, 0.0, True)  # nothing is left to do there


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no start|at most"),
        ("S.|...", "row 2 has 3 cells, its first 2"),
        ("S.|.0", "row 2, column 2 is '0'"),
        ("..1", "no start"),
        ("S" * 21, "at most 20 x 20 cells, this has 21 x 1"),
    ],
)
def test_bad_drawings(text, message):
    with pytest.raises(BadInput, match=message):
        grid_from_text(text)
