"""Gymnasium environments that expose their model as `P` (FrozenLake, Taxi, CliffWalking)."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np

from countless.core.errors import BadInput, unknown_name
from countless.envs.mdp import MDP, build_mdp


def mdp_from_gymnasium(env: str | gymnasium.Env[Any, Any]) -> MDP:
    """The MDP of an environment, or of an id, whose `unwrapped.P[s][a]` lists its transitions.

    >>> mdp_from_gymnasium("FrozenLake-v1").n_states
    16
    """
    made = _make(env) if isinstance(env, str) else env
    name = env if isinstance(env, str) else (made.spec.id if made.spec else "environment")
    own = getattr(made.unwrapped, "mdp", None)
    if isinstance(own, MDP):
        return own
    model = getattr(made.unwrapped, "P", None)
    start = getattr(made.unwrapped, "initial_state_distrib", None)
    if model is None or start is None:
        raise BadInput(
            f"{name}: exposes no model; tabular agents and diagnose need `P` and "
            "`initial_state_distrib` (FrozenLake, Taxi and CliffWalking have them)"
        )
    rows, terminated = [], []
    for s, by_action in model.items():
        for a, outcomes in by_action.items():
            for probability, s_next, reward, done in outcomes:
                rows.append((s, a, s_next, float(reward), float(probability)))
                terminated.append(bool(done))
    columns = tuple(np.array(column) for column in zip(*rows, strict=True))
    return build_mdp(
        name,
        (columns[0], columns[1], columns[2], columns[3], columns[4]),
        np.asarray(start, dtype=np.float64),
        terminated=terminated,
        episode_limit=made.spec.max_episode_steps if made.spec else None,
    )


def _make(name: str) -> gymnasium.Env[Any, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return gymnasium.make(name)
    except gymnasium.error.UnregisteredEnv:
        known = [*sorted(gymnasium.registry)[:5], "..."]
        raise unknown_name("Gymnasium environment", name, known) from None
    except Exception as error:
        raise BadInput(f"{name}: cannot be made: {str(error).splitlines()[0]}") from None
