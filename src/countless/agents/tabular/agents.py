"""The tabular agents by name, and the published parameters for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from countless.agents.tabular.model_based import E3, Essr, Mbie, MbieEb, Psrl, RMax, Ucrl2
from countless.agents.tabular.model_free import (
    OptimalAgent,
    RandomAgent,
    Sarsa,
    SarsaCounts,
    SarsaSR,
    Spie,
)
from countless.core.errors import BadInput, unknown_name
from countless.core.parameters import check_real, default_of

RNGS = ("countless", "authors")

Agent = (
    Sarsa | SarsaSR | SarsaCounts | Spie
    | Essr | RMax | E3 | Mbie | MbieEb | Psrl | Ucrl2
    | RandomAgent | OptimalAgent
)  # fmt: skip
AGENTS: dict[str, type[Agent]] = {
    kind.name: kind
    for kind in (
        Sarsa, SarsaSR, SarsaCounts, Spie,
        Essr, RMax, E3, Mbie, MbieEb, Psrl, Ucrl2,
        RandomAgent, OptimalAgent,
    )
}  # fmt: skip

TABLE_6 = "the paper's Table 6"
STREHL_LITTMAN = "Strehl & Littman 2008"
OWN_SWEEP = "the best of our sweep"

# The paper's Table 6: (agent, domain, norm) -> parameters.
PUBLISHED: dict[tuple[str, str, float | None], dict[str, float]] = {
    ("sarsa", "riverswim", None): {"alpha": 0.005, "epsilon": 0.01},
    ("sarsa", "sixarms", None): {"alpha": 0.465, "epsilon": 0.03},
    ("sarsa-sr", "riverswim", 1.0): {
        "alpha": 0.25, "eta": 0.01, "gamma_sr": 0.95, "beta": 100.0, "epsilon": 0.1,
    },
    ("sarsa-sr", "sixarms", 1.0): {
        "alpha": 0.1, "eta": 0.01, "gamma_sr": 0.99, "beta": 100.0, "epsilon": 0.01,
    },
    ("sarsa-sr", "riverswim", 2.0): {
        "alpha": 0.25, "eta": 0.01, "gamma_sr": 0.99, "beta": 100.0, "epsilon": 0.1,
    },
    ("sarsa-sr", "sixarms", 2.0): {
        "alpha": 0.1, "eta": 0.01, "gamma_sr": 0.99, "beta": 10.0, "epsilon": 0.01,
    },
}  # fmt: skip


# The best parameters of Strehl & Littman (2008, section 6).
PUBLISHED |= {
    ("rmax", "riverswim", None): {"m": 16.0},
    ("rmax", "sixarms", None): {"m": 6.0},
    ("e3", "riverswim", None): {"m": 16.0, "threshold": 0.01},
    ("e3", "sixarms", None): {"m": 4.0, "threshold": 0.09},
    ("mbie", "riverswim", None): {"a": 0.3, "b": 0.0},
    ("mbie", "sixarms", None): {"a": 0.3, "b": 0.08},
    ("mbie-eb", "riverswim", None): {"c": 0.4},
    ("mbie-eb", "sixarms", None): {"c": 0.8},
}


# Agents without published parameters for these domains: the best of our own sweeps (docs/planning.md).
TUNED: dict[tuple[str, str], dict[str, float]] = {
    ("psrl", "riverswim"): {"a": 0.03},
    ("psrl", "sixarms"): {"a": 0.3},
    ("ucrl2", "riverswim"): {"a": 0.003, "b": 0.001},
    ("ucrl2", "sixarms"): {"a": 0.001, "b": 0.003},
    ("spie", "riverswim"): {"alpha": 0.1, "eta": 0.25, "beta": 10.0, "epsilon": 0.01},
    ("spie", "sixarms"): {"alpha": 0.01, "eta": 0.01, "beta": 10000.0, "epsilon": 0.01},
}


def published(agent: str, env: str, norm: float | None = None) -> dict[str, float] | None:
    """The published parameters of an agent in a domain, ours where there are none, or None."""
    return PUBLISHED.get((agent, env, norm)) or TUNED.get((agent, env))


def source_of(agent: str) -> str:
    """Where the parameters of an agent come from."""
    if any(agent == name for name, _ in TUNED):
        return OWN_SWEEP
    return TABLE_6 if agent.startswith("sarsa") else STREHL_LITTMAN


def agent_class(name: str) -> type[Agent]:
    """The agent called `name`, or a `BadInput` with the nearest name."""
    if name not in AGENTS:
        raise unknown_name("agent", name, AGENTS)
    return AGENTS[name]


def parameter_names(name: str) -> list[str]:
    """The parameters of the agent called `name`, in order."""
    return [item.name for item in fields(agent_class(name))]


def make_agent(name: str, env: str = "", parameters: Mapping[str, Any] | None = None) -> Agent:
    """An agent with the published parameters where there are some for `env`, then yours on top.

    >>> make_agent("sarsa-sr", "sixarms", {"beta": 10}).gamma_sr
    0.99
    """
    kind = agent_class(name)
    given = dict(parameters or {})
    known = {item.name: item for item in fields(kind)}
    for key in given:
        if key not in known:
            takes = ", ".join(known) or "no parameters"
            raise BadInput(f"{name} has no parameter {key!r}; it takes {takes}")
    norm = None
    if "norm" in known:
        item = known["norm"]
        value = given.get("norm", default_of(item))
        norm = check_real("norm", value, item.metadata["interval"])
    # The paper has two norms; any other starts from the parameters of the first.
    preset = published(name, env, norm) or published(name, env, norm and 1.0) or {}
    return kind(**(preset | given))


def describe(agent: Agent) -> dict[str, float | str]:
    """The agent's parameters as plain data; an infinite norm becomes the word "inf"."""
    return {key: "inf" if value == math.inf else value for key, value in asdict(agent).items()}
