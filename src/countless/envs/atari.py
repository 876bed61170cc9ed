"""Atari 2600 games under the protocol of Machado et al. (2018): `machado2018`.

Sticky actions with probability 0.25 at every emulator frame, frame skip 5, the maximum of the last
two frames, all 18 actions, at most 18,000 frames per episode; neither lives nor no-op starts play a
part. Observations are grey, 84 x 84.

Sticky actions are drawn here and not by ALE, whose saved state lacks the action last executed: a
restored game would repeat another one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from countless.core.errors import unknown_name
from countless.envs.frame_env import Step
from countless.envs.places import READERS, Place

Frame = NDArray[np.uint8]
SIZE = 84
ACTIONS = 18
PROTOCOL = ("sticky", "frame_skip", "max_frames", "resize", "past_end")


class AtariFrameEnv:
    """One game behind ALE.

    >>> game = AtariFrameEnv("MontezumaRevenge", seed=0)
    >>> game.reset().shape, game.n_actions
    ((84, 84), 18)
    """

    n_actions = ACTIONS
    frame_shape: tuple[int, ...] = (SIZE, SIZE)
    dtype: Any = np.uint8
    pixels = True

    def __init__(
        self,
        name: str,
        seed: int,
        sticky: float = 0.25,
        frame_skip: int = 5,
        max_frames: int = 18_000,
        resize: str = "rounded",
        past_end: str = "stop",
    ) -> None:
        from ale_py import ALEInterface, LoggerMode, roms

        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.name = game_name(name)
        self._read_place = READERS.get(self.name)
        self._skip, self._resize, self._past_end = frame_skip, resize, past_end
        self._ale = ALEInterface()
        self._ale.setInt("random_seed", seed % 2**31)
        self._ale.setFloat("repeat_action_probability", 0.0)
        self._sticky = sticky
        self._random = np.random.Generator(np.random.SFC64(seed))
        self._executed = 0  # the action of the last emulator frame; 0 does nothing
        self._ale.setInt("frame_skip", 1)
        self._ale.setInt("max_num_frames_per_episode", max_frames)
        rom = roms.get_rom_path(_rom_ids()[self.name])
        assert rom is not None
        self._ale.loadROM(rom)
        self._actions = self._ale.getLegalActionSet()
        height, width = self._ale.getScreenDims()
        self._screens = np.zeros((2, height, width), np.uint8)

    def reset(self) -> Frame:
        self._ale.reset_game()
        self._executed = 0
        self._ale.getScreenGrayscale(self._screens[0])
        self._screens[1] = self._screens[0]
        return self._observe()

    def step(self, action: int) -> Step:
        """One agent step: the action for `frame_skip` emulator frames."""
        reward, frames = 0.0, 0
        for _ in range(self._skip):
            if self._random.random() >= self._sticky:
                self._executed = action
            reward += self._ale.act(self._actions[self._executed])
            frames += 1
            # Only the last two screens are seen, but the game may be over at any of them.
            self._screens[0] = self._screens[1]
            self._ale.getScreenGrayscale(self._screens[1])
            if self._past_end == "stop" and self._ale.game_over(with_truncation=True):
                break
        terminated = bool(self._ale.game_over(with_truncation=False))
        truncated = bool(self._ale.game_truncated()) and not terminated
        return Step(self._observe(), reward, terminated, truncated, frames)

    def screen(self) -> Frame:
        """The game in colour, as a person sees it (height, width, 3)."""
        shown: Frame = self._ale.getScreenRGB()
        return shown

    def place(self) -> Place | None:
        """Where the player is, for games whose RAM is known."""
        return None if self._read_place is None else self._read_place(self._ale.getRAM())

    def get_state(self) -> dict[str, NDArray[Any]]:
        """The emulator, the last screens, and what sticky actions depend on."""
        state = self._ale.cloneState(include_rng=True).serialize()
        return {
            "ale": np.frombuffer(state, np.uint8),
            "screens": self._screens.copy(),
            "random": self._random.bit_generator.state["state"]["state"].copy(),
            "executed": np.array(self._executed),
        }

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        from ale_py import ALEState

        restored = ALEState.__new__(ALEState)
        restored.__setstate__(state["ale"].tobytes())  # type: ignore[arg-type]
        self._ale.restoreState(restored)
        self._screens[:] = state["screens"]
        random = dict(self._random.bit_generator.state)
        self._random.bit_generator.state = random | {"state": {"state": state["random"]}}
        self._executed = int(state["executed"])

    def _observe(self) -> Frame:
        return shrink(np.maximum(self._screens[0], self._screens[1]), self._resize)


def shrink(screen: Frame, rounding: str = "rounded") -> Frame:
    """A grey screen as 84 x 84 means over areas, rounded to a grey level or cut to one."""
    exact = screen if rounding == "rounded" else screen.astype(np.float32)
    small = cv2.resize(exact, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
    if rounding == "truncated":
        small = small + np.float32(
            1e-3
        )  # a mean that is a whole number must not fall below it by rounding
    return small.astype(np.uint8, copy=False)


@lru_cache(maxsize=1)
def _rom_ids() -> dict[str, str]:
    """Game names as people write them -> ALE's."""
    from ale_py import roms

    return {
        "".join(part.capitalize() for part in rom.split("_")): rom for rom in roms.get_all_rom_ids()
    }


def game_names() -> list[str]:
    """All games, as in `MontezumaRevenge`."""
    return sorted(_rom_ids())


def is_atari(name: str) -> bool:
    """Whether a name is an Atari game's: MontezumaRevenge, montezuma_revenge, ALE/...-v5."""
    return _plain(name) in {_plain(game) for game in _rom_ids()}


def game_name(name: str) -> str:
    """The game that is meant, or a `BadInput` with the nearest names."""
    for game in _rom_ids():
        if _plain(game) == _plain(name):
            return game
    raise unknown_name("Atari game", name, game_names())


def _plain(name: str) -> str:
    return re.sub(r"^ale/|-v\d+$|noframeskip|[^a-z0-9/]", "", name.lower())
