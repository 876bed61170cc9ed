"""Random walks to hold a bonus against: where each step was, and what it looked like there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.core.errors import BadInput
from countless.core.progress import Reporter
from countless.envs.mdp import MDP
from countless.envs.mdp_env import MDPEnv
from countless.envs.places import Place

SIDE = 84
FLOOR, WALL, AGENT = 48, 112, 255


@dataclass(frozen=True)
class Walk:
    """A random walk of T steps among numbered states, shown to a bonus as pictures or otherwise.

    A state of an MDP always looks the same. A place of a game does not: other things move in it.
    """

    states: NDArray[np.int64]  # (T,)
    ended: NDArray[np.bool_]  # (T,), nothing follows this step
    pictures: NDArray[Any]  # all that was seen, one row per picture
    seen: NDArray[np.int64]  # (T,), rows of `pictures`
    after: NDArray[np.int64]  # (T,), the same of what followed
    shows: NDArray[np.int64]  # the state that each row of `pictures` shows
    spec: Any  # what `make_bonus` is told of them
    layout: NDArray[np.int64]  # where the states are drawn; -1: no state
    counted: NDArray[np.bool_]  # states that are left as often as they are met
    outside: str = "walls"  # what is drawn where there is no state

    @property
    def starts(self) -> NDArray[np.bool_]:
        """Whether each step begins an episode."""
        return np.concatenate([[True], self.ended[:-1]])


def walk_mdp(mdp: MDP, view: str, steps: int, seed: int) -> Walk:
    """A walk in an MDP, its states seen as numbers, one-hot vectors or pictures."""
    walk = random_walk(mdp, steps, seed)
    pictures, spec = _observations(mdp, view)
    # A state that ends the episode is never left: it has no count to hold a bonus against.
    counted = np.ones(mdp.n_states, dtype=bool)
    counted[mdp.next_state[mdp.terminated]] = False
    states = np.arange(mdp.n_states)
    return Walk(
        walk[:, 0], walk[:, 2] > 0, pictures, walk[:, 0], walk[:, 1], states, spec,
        state_layout(mdp), counted,
    )  # fmt: skip


def walk_game(name: str, steps: int, seed: int, reporter: Reporter) -> Walk:
    """A walk in a game whose places are known, seen as the newest frame."""
    from countless.envs.make import make_frame_env

    game, rng = make_frame_env(name, seed), np.random.default_rng(seed)
    if not game.pixels or game.place() is None:
        raise BadInput(f"{name} does not say where its player is; MontezumaRevenge does")
    frames, places, after, ended = [game.reset()], [_where(game)], [], []
    seen = np.zeros(steps, np.int64)
    with reporter.task(f"walk in {name}", steps) as task:
        for t in range(steps):
            seen[t] = len(frames) - 1
            step = game.step(int(rng.integers(game.n_actions)))
            frames.append(step.frame)
            places.append(_where(game))
            after.append(len(frames) - 1)
            ended.append(step.terminated or step.truncated)
            if ended[-1]:
                frames.append(game.reset())
                places.append(_where(game))
            task.advance(1)
    numbers = {place: i for i, place in enumerate(dict.fromkeys(places[i] for i in seen))}
    shows = np.array([numbers.get(place, -1) for place in places])
    return Walk(
        shows[seen], np.array(ended), np.stack(frames), seen, np.array(after), shows,
        game.frame_shape, _map_of_places(numbers), np.ones(len(numbers), dtype=bool),
        "never there",
    )  # fmt: skip


def _where(game: Any) -> tuple[int, int, int]:
    place: Place = game.place()
    return place[:3]


def _map_of_places(numbers: dict[tuple[int, int, int], int]) -> NDArray[np.int64]:
    """Rooms side by side, each as it lies on the screen: the game counts its rows from below."""
    rooms = []
    for room in sorted({room for room, _, _ in numbers}):
        cells = np.array([(row, column) for r, column, row in numbers if r == room])
        low, high = cells.min(0), cells.max(0)
        drawn = np.full(high - low + 1, -1, dtype=np.int64)
        for (r, column, row), number in numbers.items():
            if r == room:
                drawn[high[0] - row, column - low[1]] = number
        rooms.append(drawn)
    height = max(len(drawn) for drawn in rooms)
    gap = np.full((height, 1), -1, dtype=np.int64)
    parts = []
    for drawn in rooms:
        parts += [np.pad(drawn, ((height - len(drawn), 0), (0, 0)), constant_values=-1), gap]
    return np.hstack(parts[:-1])


def render_states(mdp: MDP) -> NDArray[np.uint8]:
    """Each state as an 84 x 84 picture: its cell bright, walls grey, floor dark."""
    layout = state_layout(mdp)
    height, width = layout.shape
    cell = SIDE // max(height, width)
    if cell < 1:
        raise BadInput(f"{mdp.name}: a layout of {height} x {width} cells does not fit into {SIDE}")
    picture = np.where(layout < 0, WALL, FLOOR).astype(np.uint8)
    frames = np.zeros((mdp.n_states, SIDE, SIDE), dtype=np.uint8)
    for s in range(mdp.n_states):
        cells = np.where(layout == s, np.uint8(AGENT), picture)
        frames[s, : height * cell, : width * cell] = cells.repeat(cell, 0).repeat(cell, 1)
    return frames


def state_layout(mdp: MDP) -> NDArray[np.int64]:
    """Where the states are drawn: the MDP's own layout, or a near-square in their order."""
    if mdp.layout is not None and len(mdp.layout) > 1:
        return mdp.layout
    width = int(np.ceil(np.sqrt(mdp.n_states)))
    cells = np.full(width * -(-mdp.n_states // width), -1, dtype=np.int64)
    cells[: mdp.n_states] = np.arange(mdp.n_states)
    return cells.reshape(-1, width)


def random_walk(mdp: MDP, steps: int, seed: int) -> NDArray[np.int64]:
    """(steps, 3): state, next state, whether the episode ended, under random actions."""
    env, rng = MDPEnv(mdp), np.random.default_rng(seed)
    state, _ = env.reset(seed=seed)
    walk = np.zeros((steps, 3), dtype=np.int64)
    for t in range(steps):
        action = rng.choice(mdp.actions(int(state)))
        after, _, done, _, _ = env.step(action)
        walk[t] = state, after, done
        state = env.reset()[0] if done else after
    return walk


def _observations(mdp: MDP, view: str) -> tuple[NDArray[Any], Any]:
    """What each state looks like (n_states, ...), and what `make_bonus` is told."""
    if view == "states":
        return np.arange(mdp.n_states), mdp.n_states
    if view == "vector":
        return np.eye(mdp.n_states, dtype=np.float32), (mdp.n_states,)
    return render_states(mdp), (SIDE, SIDE)
