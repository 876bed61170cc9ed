"""From a name to an MDP: built-in domains, `.mdp` files, Gymnasium ids with a model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from countless.core.errors import BadInput, unknown_name
from countless.envs import domains
from countless.envs.mdp import MDP
from countless.envs.mdp_file import read_mdp


@dataclass(frozen=True)
class Domain:
    """An entry of the catalogue; with `sized` its name ends in a number, as in `deepsea-10`."""

    name: str
    summary: str
    make: Callable[[], MDP] | None = None
    sized: Callable[[int], MDP] | None = None

    @property
    def form(self) -> str:
        return f"{self.name}-N" if self.sized else self.name


DOMAINS: tuple[Domain, ...] = (
    Domain("riverswim", "6 states; swim against the current (paper)", domains.riverswim),
    Domain("riverswim", "the same river with N states in all", sized=domains.riverswim),
    Domain(
        "sixarms", "7 states; the rarest arm pays most (paper; fifth arm 1666)", domains.sixarms
    ),
    Domain(
        "sixarms-1660",
        "SixArms as Strehl & Littman printed it (fifth arm 1660)",
        lambda: domains.sixarms(1660.0),
    ),
    Domain("chain", "N states in a line; reward at the far end", sized=domains.chain),
    Domain("deepsea", "N x N dive; only going right N times pays", sized=domains.deepsea),
    Domain(
        "bsuite-deepsea",
        "the same with bsuite's actions: which one is right differs by state",
        sized=domains.bsuite_deepsea,
    ),
    Domain("gridworld", "open room of N x N cells, goal in the corner", sized=domains.gridworld),
    Domain("fourrooms", "104 cells in four rooms, goal in the far corner", domains.fourrooms),
)

OTHER_FORMS = (
    "Also a path to an .mdp file or a Gymnasium id with a model (FrozenLake-v1); deep agents also "
    "play Atari games by name (MontezumaRevenge) and any Gymnasium id with discrete actions"
)


def paper_domain(mdp: MDP) -> str:
    """The paper's domain that an MDP is, by what it does and not by its name; "" if none.

    >>> paper_domain(make_mdp("sixarms-1660")), paper_domain(make_mdp("chain-5"))
    ('sixarms', '')
    """
    for name in ("riverswim", "sixarms", "sixarms-1660"):
        if mdp.fingerprint == make_mdp(name).fingerprint:
            return name.removesuffix("-1660")
    return ""


def domain_forms() -> list[str]:
    """How each built-in domain is written on the command line."""
    return [domain.form for domain in DOMAINS]


def as_mdp(env: Any) -> MDP:
    """The MDP that `env` is or names: an `MDP`, a name, or a Gymnasium environment with a model.

    >>> as_mdp("riverswim") is as_mdp(as_mdp("riverswim"))
    True
    """
    if isinstance(env, MDP):
        return env
    if isinstance(env, str | Path):
        return make_mdp(str(env))
    if hasattr(env, "unwrapped"):
        from countless.envs.gymnasium_model import mdp_from_gymnasium

        return mdp_from_gymnasium(env)
    raise BadInput(
        f"an environment is a name, an MDP or a Gymnasium environment, not {type(env).__name__}"
    )


def make_mdp(name: str | Path) -> MDP:
    """The MDP that `name` stands for.

    Parameters
    ----------
    name
        A built-in domain of `countless list envs` ("riverswim", "deepsea-10"), a path to an .mdp
        file, or a Gymnasium id whose environment exposes its model ("FrozenLake-v1").

    >>> make_mdp("riverswim").n_states
    6
    >>> make_mdp("deepsea-10").n_states
    101
    """
    if not isinstance(name, str | Path):
        raise BadInput(f"an MDP is made from a name or a path, not {name!r}")
    text = str(name)
    return read_mdp(Path(text)) if text.endswith(".mdp") else _make_named(text)


@lru_cache(maxsize=32)
def _make_named(name: str) -> MDP:
    for domain in DOMAINS:
        if domain.make is not None and name == domain.name:
            return domain.make()
    stem, dash, size = name.rpartition("-")
    for domain in DOMAINS:
        if domain.sized is not None and domain.name in (stem, name):
            if not dash or not (size.isascii() and size.isdecimal() and len(size) < 10):
                raise BadInput(f"environment {name!r} needs a size: {domain.name}-10, for example")
            return domain.sized(int(size))
    if re.search(r"-v\d+$", name):
        from countless.envs.gymnasium_model import mdp_from_gymnasium

        return mdp_from_gymnasium(name)
    raise unknown_name("environment", name, domain_forms(), OTHER_FORMS)
