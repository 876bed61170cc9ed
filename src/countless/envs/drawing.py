"""Gridworlds drawn as text: one character for each cell, rows apart by `|` or new lines."""

from __future__ import annotations

import numpy as np

from countless.core.errors import BadInput
from countless.envs.domains import grid
from countless.envs.mdp import MDP

MOST_SIDE = 20
FLOOR, WALL, START, PIT = ".", "#", "S", "x"
CELLS = f"{FLOOR} floor, {WALL} wall, {START} start, 1 to 9 a reward of that size, {PIT} a pit (-1)"


def grid_from_text(text: str, name: str = "drawn") -> MDP:
    """The gridworld of a drawing; entering a reward or a pit ends the episode.

    >>> grid_from_text("S..|.#1").n_states
    5
    """
    rows = text.strip().replace("\n", "|").split("|")
    height, width = len(rows), len(rows[0])
    for y, row in enumerate(rows):
        if len(row) != width:
            raise BadInput(
                f"the drawing's row {y + 1} has {len(row)} cells, its first {width}: rows are alike"
            )
        for x, cell in enumerate(row):
            if cell not in f"{FLOOR}{WALL}{START}{PIT}123456789":
                raise BadInput(
                    f"the drawing's row {y + 1}, column {x + 1} is {cell!r}; a cell is {CELLS}"
                )
    if not (1 <= height <= MOST_SIDE and 1 <= width <= MOST_SIDE):
        raise BadInput(
            f"a drawing has at most {MOST_SIDE} x {MOST_SIDE} cells, this has {width} x {height}"
        )
    cells = np.array([list(row) for row in rows])
    free = cells != WALL
    states = cells[free]
    starts = np.flatnonzero(states == START).tolist()
    if not starts:
        raise BadInput(f"the drawing has no start: at least one cell must be {START}")
    pays = {
        s: -1.0 if cell == PIT else float(cell)
        for s, cell in enumerate(states.tolist())
        if cell not in (FLOOR, START)
    }
    return grid(name, free, starts, pays)
