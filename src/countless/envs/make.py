"""From a name to an environment for deep agents: Atari games, MDPs, Gymnasium ids."""

from __future__ import annotations

import difflib
import importlib
import os
import warnings
from typing import Any

import gymnasium

from countless.core.errors import BadInput, named
from countless.envs.atari import AtariFrameEnv, game_name, game_names, is_atari
from countless.envs.catalog import domain_forms, make_mdp
from countless.envs.frame_env import FrameEnv
from countless.envs.gymnasium import GymnasiumFrameEnv
from countless.envs.mdp_env import MDPEnv
from countless.envs.minigrid import PICTURES, SYMBOLS, as_pictures, is_minigrid

MDP_STEPS = 500  # episodes of an MDP are cut there: an open one is never learned from


def make_frame_env(name: str, seed: int, *, view: str = SYMBOLS, **protocol: Any) -> FrameEnv:
    """The environment that `name` stands for; MiniGrid's can be seen as pictures.

    `protocol` holds options of `AtariFrameEnv`. All other environments heed `max_frames` among them,
    since an episode that does not end is never learned from. `MODULE:ID` first imports the module
    that registers the id.

    >>> make_frame_env("deepsea-5", seed=0).frame_shape
    (5, 5)
    """
    full_name = name
    if means_atari(name):
        _refuse_pictures(view, full_name)
        return AtariFrameEnv(name, seed, **protocol)
    package, _, name = name.rpartition(":")
    if package:
        _import(package)
    if name in gymnasium.registry:
        env = _make_env(name)
        if not is_minigrid(env):
            _refuse_pictures(view, full_name)
        elif view == PICTURES:
            env = as_pictures(env)
        return GymnasiumFrameEnv(env, seed, protocol.get("max_frames"))
    if name.endswith(".mdp") or name.partition("-")[0] in {
        form.partition("-")[0] for form in domain_forms()
    }:
        _refuse_pictures(view, full_name)
        most = min(MDP_STEPS, protocol.get("max_frames", MDP_STEPS))
        return GymnasiumFrameEnv(MDPEnv(make_mdp(name)), seed, most)
    if "/" in name or "-v" in name:
        ids = [*gymnasium.registry, *(f"ALE/{game}-v5" for game in game_names())]
        near = difflib.get_close_matches(name, ids, n=3)
        hints = [f"did you mean {' or '.join(near)}?"] if near else []
        if not package:
            hints.append(f"PACKAGE:{name} imports the package that registers it first")
        more = "".join(f"; {hint}" for hint in hints)
        raise BadInput(f"Gymnasium knows no environment {name!r}{more}")
    known = [*game_names(), *domain_forms(), *gymnasium.registry]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}? Else " if near else ""
    raise BadInput(
        f"unknown game {name!r}; {meant}any of {len(game_names())} Atari games such as "
        "MontezumaRevenge, a domain of `countless list envs`, or a Gymnasium id"
    )


def _refuse_pictures(view: str, name: str) -> None:
    if view == PICTURES:
        raise BadInput(f"{named('view', PICTURES)} is for MiniGrid: {name} has one view only")


def _make_env(name: str) -> gymnasium.Env[Any, Any]:
    # Pictures are drawn in memory: no window, no sound.
    for driver in ("SDL_VIDEODRIVER", "SDL_AUDIODRIVER"):
        os.environ.setdefault(driver, "dummy")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # one that cannot be drawn says so later
            return gymnasium.make(name, render_mode="rgb_array")
    except (TypeError, ImportError, gymnasium.error.Error):
        pass
    try:
        return gymnasium.make(name)
    except (TypeError, ImportError, gymnasium.error.Error) as error:
        raise BadInput(f"Gymnasium cannot make {name}: {error}") from None


def means_atari(name: str) -> bool:
    """Whether an Atari game is meant: Blackjack is one, Blackjack-v1 is Gymnasium's."""
    registered = gymnasium.registry.get(name)
    theirs = registered is not None and "ale_py" not in str(registered.entry_point)
    return is_atari(name) and not theirs


def canonical_name(name: str) -> str:
    """An Atari game's name in one spelling, so that a run is found again; any other as it is.

    >>> canonical_name("ALE/Freeway-v5"), canonical_name("freeway"), canonical_name("deepsea-5")
    ('Freeway', 'Freeway', 'deepsea-5')
    """
    return game_name(name) if means_atari(name) else name


def folder_name(name: str) -> str:
    """A name that can be a folder's."""
    return name.replace("/", "-").replace(":", "-")


def _import(package: str) -> None:
    try:
        importlib.import_module(package)
    except (ImportError, ValueError) as error:
        raise BadInput(f"cannot import {package!r} ({error})") from None
