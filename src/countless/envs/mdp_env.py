"""Every MDP as a Gymnasium environment, and the ids under which they are registered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from countless.core.errors import BadInput
from countless.envs.catalog import make_mdp
from countless.envs.domains import STUDY_STEPS
from countless.envs.mdp import MDP

CELL = 16  # pixels of a cell's side
PICTURE = np.array([[245, 245, 245], [90, 90, 90], [0, 114, 178]], np.uint8)  # free, wall, agent
# id -> (name in the catalogue, default size or None, episode limit or None)
REGISTERED: dict[str, tuple[str, int | None, int | None]] = {
    "countless/RiverSwim-v0": ("riverswim", None, STUDY_STEPS),
    "countless/SixArms-v0": ("sixarms", None, STUDY_STEPS),
    "countless/SixArms1660-v0": ("sixarms-1660", None, STUDY_STEPS),
    "countless/Chain-v0": ("chain", 10, STUDY_STEPS),
    "countless/DeepSea-v0": ("deepsea", 10, None),
    "countless/GridWorld-v0": ("gridworld", 10, STUDY_STEPS),
    "countless/FourRooms-v0": ("fourrooms", None, STUDY_STEPS),
}


class MDPEnv(gymnasium.Env[np.int64, np.int64]):
    """An MDP behind Gymnasium's interface.

    Description: any MDP of the catalogue, an `.mdp` file, or an `MDP` object.
    Spaces: the observation is the state's number, the action its number; both `Discrete`.
    Reward: the reward of the transition taken.
    Episode end: `terminated` on a transition that ends an episode; the registered ids add
    Gymnasium's time limit (5,000 steps, as in the paper) as `truncated`.
    `info["action_mask"]` says which actions the state offers.

    >>> env = MDPEnv("riverswim")
    >>> observation, info = env.reset(seed=0)
    >>> int(observation) in (1, 2)
    True
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's own type)
        "render_modes": ["ansi", "rgb_array"], "render_fps": 10,
    }  # fmt: skip

    def __init__(
        self, mdp: MDP | str | Path, size: int | None = None, render_mode: str | None = None
    ) -> None:
        name = str(mdp) if size is None else f"{mdp}-{size}"
        self.mdp = mdp if isinstance(mdp, MDP) else make_mdp(name)
        self.render_mode = render_mode
        self.observation_space = spaces.Discrete(self.mdp.n_states)
        self.action_space = spaces.Discrete(self.mdp.n_actions)
        self._state = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        super().reset(seed=seed)
        start = self.mdp.start / self.mdp.start.sum()
        self._state = int(self.np_random.choice(self.mdp.n_states, p=start))
        return np.int64(self._state), self._info()

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        offered = self.mdp.actions(self._state)
        slot = int(np.searchsorted(offered, action))
        if slot == len(offered) or offered[slot] != action:
            raise BadInput(
                f"{self.mdp.name}: state {self._state} does not offer action {action}; "
                f"it offers {', '.join(map(str, offered))}"
            )
        pair = self.mdp.state_offsets[self._state] + slot
        rows = slice(*self.mdp.pair_offsets[pair : pair + 2])
        cumulative = np.cumsum(self.mdp.probability[rows])
        outcome = int((self.np_random.random() >= cumulative[:-1]).sum()) + int(rows.start)
        self._state = int(self.mdp.next_state[outcome])
        return (
            np.int64(self._state),
            float(self.mdp.reward[outcome]),
            bool(self.mdp.terminated[outcome]),
            False,
            self._info(),
        )

    def render(self) -> str | NDArray[np.uint8] | None:
        """With `render_mode="ansi"`: the grid with the agent as `A`, or the state's number. With
        "rgb_array": a picture of the grid, or of the states in a row."""
        if self.render_mode == "rgb_array":
            states = np.arange(self.mdp.n_states)[None]
            cells = states if self.mdp.layout is None else np.atleast_2d(self.mdp.layout)
            kinds = np.where(cells < 0, 1, np.where(cells == self._state, 2, 0))
            return PICTURE[kinds].repeat(CELL, axis=0).repeat(CELL, axis=1)
        if self.render_mode != "ansi":
            return None
        if self.mdp.layout is None:
            return f"state {self._state} of {self.mdp.n_states}"
        cells = np.where(self.mdp.layout < 0, "#", ".")
        cells = np.where(self.mdp.layout == self._state, "A", cells)
        return "\n".join("".join(row) for row in cells)

    def _info(self) -> dict[str, Any]:
        mask = np.zeros(self.mdp.n_actions, dtype=np.int8)
        mask[self.mdp.actions(self._state)] = 1
        return {"action_mask": mask}


def register() -> None:
    """Register the ids above, and `countless/MDP-v0` for any MDP or file."""
    for name, (domain, size, limit) in REGISTERED.items():
        if name not in gymnasium.registry:
            kwargs = {"mdp": domain} if size is None else {"mdp": domain, "size": size}
            gymnasium.register(
                name,
                entry_point="countless.envs.mdp_env:MDPEnv",
                max_episode_steps=limit,
                kwargs=kwargs,
            )
    if "countless/MDP-v0" not in gymnasium.registry:
        gymnasium.register("countless/MDP-v0", entry_point="countless.envs.mdp_env:MDPEnv")
