"""Where the player of a game is, and how much of it a run has seen.

Where every score is zero, agents can still be told apart by how far they come. The addresses are
those of the game's 128 bytes of RAM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

CELL = 8  # pixels of a side


class Place(NamedTuple):
    """The cell in which the player is, and whether it holds a key."""

    room: int
    column: int
    row: int
    key: bool


def _montezuma(ram: NDArray[np.uint8]) -> Place:
    """Byte 3 is the room, 42 and 43 are the player's x and y; bits 1 to 4 of byte 65 are keys."""
    return Place(int(ram[3]), int(ram[42]) // CELL, int(ram[43]) // CELL, bool(ram[65] & 0b11110))


READERS: dict[str, Callable[[NDArray[np.uint8]], Place]] = {"MontezumaRevenge": _montezuma}


class Coverage(NamedTuple):
    """What a run had seen when an episode ended."""

    rooms: int  # so far
    cells: int  # so far
    key: bool  # in this episode


class Survey:
    """The cells that a run has seen, its warm-up among them."""

    def __init__(self, lanes: int) -> None:
        self._cells: set[tuple[int, int, int]] = set()
        self._keys = [False] * lanes

    def look(self, lane: int, place: Place) -> None:
        """The player of one environment is here."""
        self._cells.add(place[:3])
        self._keys[lane] |= place.key

    def end(self, lane: int) -> Coverage:
        """An episode of one environment is over."""
        key, self._keys[lane] = self._keys[lane], False
        rooms = {room for room, _, _ in self._cells}
        return Coverage(len(rooms), len(self._cells), key)

    def get_state(self) -> dict[str, Any]:
        return {"cells": sorted(self._cells), "keys": list(self._keys)}

    def set_state(self, kept: dict[str, Any]) -> None:
        cells: Sequence[Sequence[int]] = kept["cells"]
        self._cells = {(int(room), int(column), int(row)) for room, column, row in cells}
        self._keys = [bool(key) for key in kept["keys"]]
