"""How do I know that a bonus is right? It is compared with true visit counts over a random walk."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
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
from countless.core.parameters import check_count, settings_label
from countless.core.progress import SILENT, Reporter
from countless.core.records import ensure_folder
from countless.envs.catalog import make_mdp
from countless.experiments.walks import Walk, walk_game, walk_mdp

MOST_STATES = 2000
MOST_STEPS = 10_000_000
VIEWS = ("auto", *KINDS)


@dataclass(frozen=True)
class Diagnosis:
    """Bonus and visits of every state after the walk, and how well their orders agree.

    `over_states` is the rank correlation of bonus and rarity over the states at the end;
    `over_walk` over the steps of the walk, each with the count of that moment. 1 is what counts give.
    The states of a game are the places of its player.
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
    outside: str  # what the map shows where there is no state


def choose_view(bonus_name: str, view: str, parameters: dict[str, Any], game: bool = False) -> str:
    """What the bonus sees of a state: its index, a one-hot vector, or a picture.

    By default bonuses with a network, and those for images only, see pictures; of a game all do.
    """
    kind = bonus_kind(bonus_name)
    if view not in VIEWS:
        raise BadInput(f"{named('view')} must be one of {', '.join(VIEWS)}, not {view!r}")
    if game:
        if view not in ("auto", "image") or parameters.get("form") in ("tabular", "features"):
            raise BadInput("a game is seen as images")
        view = "image"
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
    check_count("steps", steps, MOST_STEPS, least=10)
    given = dict(parameters or {})
    game = _game_name(env)
    view = choose_view(bonus_name, view, given, game=game is not None)
    features = None
    if game is not None:
        walk, shown = walk_game(game, steps, seed, reporter), game
    else:
        mdp = make_mdp(env)
        if mdp.n_states > MOST_STATES:
            raise BadInput(
                f"{env} has {mdp.n_states:,} states; diagnose takes up to {MOST_STATES:,}"
            )
        walk, shown = walk_mdp(mdp, view, steps, seed), mdp.name
        if given.get("form") == "features":
            features = np.eye(mdp.n_states, dtype=np.float32)
            given.setdefault("features", mdp.n_states)
    bonus = make_bonus(bonus_name, walk.spec, seed=seed, **given)
    paid = _feed(bonus, walk, features, reporter)
    visits = np.bincount(walk.states, minlength=len(walk.counted))
    final = _bonus_of_states(bonus, walk, features)
    return Diagnosis(
        bonus_name, shown, view, steps, seed, given, walk.layout, visits, final,
        over_states=rank_correlation(final[walk.counted], -visits[walk.counted]),
        over_walk=rank_correlation(paid, -_count_so_far(walk.states)),
        outside=walk.outside,
    )  # fmt: skip


def _game_name(env: str) -> str | None:
    """The Atari game that is meant, if one is; without the emulator none can be."""
    if any(find_spec(package) is None for package in ("ale_py", "cv2")):
        return None
    from countless.envs.make import canonical_name, means_atari

    return canonical_name(env) if means_atari(env) else None


def draw(diagnosis: Diagnosis, folder: Path) -> Path:
    """Write the maps; the path of the PNG."""
    name = settings_label(diagnosis.bonus_name, diagnosis.env, settings=diagnosis.parameters)
    stem = ensure_folder(folder) / name
    title = f"{diagnosis.bonus_name} in {diagnosis.env}, random walk of {diagnosis.steps:,} steps"
    draw_diagnosis(
        stem, diagnosis.layout, diagnosis.visits, diagnosis.bonus, title, diagnosis.over_states,
        diagnosis.outside,
    )  # fmt: skip
    return stem.with_name(f"{stem.name}.png")


def _feed(
    bonus: Bonus, walk: Walk, features: NDArray[Any] | None, reporter: Reporter
) -> NDArray[np.float64]:
    """The bonus paid at each step of the walk."""
    paid = np.zeros(len(walk.states))
    starts = walk.starts
    with reporter.task("walk", len(paid)) as task:
        for t, (now, after) in enumerate(zip(walk.seen, walk.after, strict=True)):
            seen = walk.pictures[now : now + 1]
            if features is None:
                more = {"next_observations": walk.pictures[after : after + 1]}
                paid[t] = bonus.observe(seen, **more, dones=[bool(walk.ended[t])])[0]
            else:
                paid[t] = bonus.observe(seen, features[now : now + 1], starts=[starts[t]])[0]
            task.advance(1)
    return paid


def _bonus_of_states(
    bonus: Bonus, walk: Walk, features: NDArray[Any] | None
) -> NDArray[np.float64]:
    """The bonus of each state as things stand: the mean over the pictures that show it."""
    values = np.concatenate([
        bonus.compute(walk.pictures[i : i + 1], None if features is None else features[i : i + 1])
        for i in range(len(walk.pictures))
    ])  # fmt: skip
    shown = walk.shows >= 0
    count, size = walk.shows[shown], len(walk.counted)
    return np.bincount(count, values[shown], size) / np.bincount(count, minlength=size)


def _count_so_far(states: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often the state of each step was seen up to and including that step."""
    seen: dict[int, int] = {}
    counts = np.zeros(len(states), dtype=np.int64)
    for t, s in enumerate(states.tolist()):
        seen[s] = seen.get(s, 0) + 1
        counts[t] = seen[s]
    return counts
