"""How do I know that a bonus is right? It is compared with true visit counts over a random walk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.analysis.plots_bonus import draw_diagnosis
from countless.analysis.statistics import rank_correlation
from countless.bonuses.protocol import Bonus
from countless.bonuses.registry import bonus_kind, make_bonus
from countless.core.errors import BadInput, named
from countless.core.observations import KINDS
from countless.core.parameters import settings_label
from countless.core.progress import SILENT, Reporter
from countless.core.records import ensure_folder
from countless.envs.catalog import make_mdp
from countless.envs.mdp import MDP
from countless.envs.mdp_env import MDPEnv

SIDE = 84
MOST_STATES = 2000
FLOOR, WALL, AGENT = 48, 112, 255
VIEWS = ("auto", *KINDS)


@dataclass(frozen=True)
class Diagnosis:
    """Bonus and visits of every state after the walk, and how well their orders agree.

    `over_states` is the rank correlation of bonus and rarity over the states at the end;
    `over_walk` over the steps of the walk, each with the count of that moment. 1 is what counts give.
    """

    bonus_name: str
    env: str
    view: str
    steps: int
    seed: int
    parameters: dict[str, Any]
    layout: NDArray[np.int64]
    visits: NDArray[np.int64]
    bonus: NDArray[np.float64]
    over_states: float
    over_walk: float


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


def choose_view(bonus_name: str, view: str, parameters: dict[str, Any]) -> str:
    """What the bonus sees of a state: its index, a one-hot vector, or a picture.

    By default bonuses with a network, and those for images only, see pictures.
    """
    kind = bonus_kind(bonus_name)
    if view not in VIEWS:
        raise BadInput(f"{named('view')} must be one of {', '.join(VIEWS)}, not {view!r}")
    if view == "auto":
        form = parameters.get("form", "")
        if form in ("tabular", "features"):
            return "states"
        deep = kind.needs_torch or form == "network" or "states" not in kind.observations
        return "image" if deep and "image" in kind.observations else kind.observations[0]
    if view not in kind.observations:
        raise BadInput(f"{bonus_name} sees {', '.join(kind.observations)}, not {view}")
    return view


def diagnose(
    bonus_name: str,
    env: str,
    *,
    steps: int = 5000,
    seed: int = 0,
    view: str = "auto",
    parameters: dict[str, Any] | None = None,
    reporter: Reporter = SILENT,
) -> Diagnosis:
    """Feed a random walk to a bonus and compare it with the true visit counts.

    >>> round(diagnose("counts", "fourrooms", steps=1000).over_states, 6)
    1.0
    """
    if steps < 10:
        raise BadInput(f"{named('steps')} must be at least 10, not {steps}")
    mdp, given = make_mdp(env), dict(parameters or {})
    if mdp.n_states > MOST_STATES:
        raise BadInput(f"{env} has {mdp.n_states:,} states; diagnose takes up to {MOST_STATES:,}")
    view = choose_view(bonus_name, view, given)
    features = None
    if given.get("form") == "features":
        features = np.eye(mdp.n_states, dtype=np.float32)
        given.setdefault("features", mdp.n_states)
    observations, spec = _observations(mdp, view)
    bonus = make_bonus(bonus_name, spec, seed=seed, **given)
    walk = random_walk(mdp, steps, seed)
    paid = _feed(bonus, walk, observations, features, reporter)
    visits = np.bincount(walk[:, 0], minlength=mdp.n_states)
    final = np.concatenate([
        bonus.compute(observations[s : s + 1], None if features is None else features[s : s + 1])
        for s in range(mdp.n_states)
    ])  # fmt: skip
    # A state that ends the episode is never left: it has no count to hold a bonus against.
    counted = np.ones(mdp.n_states, dtype=bool)
    counted[mdp.next_state[mdp.terminated]] = False
    return Diagnosis(
        bonus_name, mdp.name, view, steps, seed, given, state_layout(mdp), visits, final,
        over_states=rank_correlation(final[counted], -visits[counted]),
        over_walk=rank_correlation(paid, -_count_so_far(walk[:, 0])),
    )  # fmt: skip


def draw(diagnosis: Diagnosis, folder: Path) -> Path:
    """Write the maps; the path of the PNG."""
    name = settings_label(diagnosis.bonus_name, diagnosis.env, settings=diagnosis.parameters)
    stem = ensure_folder(folder) / name
    title = f"{diagnosis.bonus_name} in {diagnosis.env}, random walk of {diagnosis.steps:,} steps"
    draw_diagnosis(
        stem, diagnosis.layout, diagnosis.visits, diagnosis.bonus, title, diagnosis.over_states
    )
    return stem.with_name(f"{stem.name}.png")


def _observations(mdp: MDP, view: str) -> tuple[NDArray[Any], Any]:
    """What each state looks like (n_states, ...), and what `make_bonus` is told."""
    if view == "states":
        return np.arange(mdp.n_states), mdp.n_states
    if view == "vector":
        return np.eye(mdp.n_states, dtype=np.float32), (mdp.n_states,)
    return render_states(mdp), (SIDE, SIDE)


def _feed(
    bonus: Bonus,
    walk: NDArray[np.int64],
    observations: NDArray[Any],
    features: NDArray[Any] | None,
    reporter: Reporter,
) -> NDArray[np.float64]:
    """The bonus paid at each step of the walk."""
    paid = np.zeros(len(walk))
    starts = np.concatenate([[True], walk[:-1, 2] > 0])
    with reporter.task("walk", len(walk)) as task:
        for t, (s, s_next, done) in enumerate(walk):
            more = {"next_observations": observations[s_next : s_next + 1], "dones": [bool(done)]}
            if features is None:
                paid[t] = bonus.observe(observations[s : s + 1], **more)[0]
            else:
                paid[t] = bonus.observe(
                    observations[s : s + 1], features[s : s + 1], starts=[starts[t]]
                )[0]
            task.advance(1)
    return paid


def _count_so_far(states: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often the state of each step was seen up to and including that step."""
    seen: dict[int, int] = {}
    counts = np.zeros(len(states), dtype=np.int64)
    for t, s in enumerate(states.tolist()):
        seen[s] = seen.get(s, 0) + 1
        counts[t] = seen[s]
    return counts
