"""The tabular agents: what they are called, what they take, and the paper's parameters for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from countless.core.errors import BadInput, unknown_name
from countless.core.params import check_real, choice, default_of, real, validate

UPDATES = ("resampled", "executed")
TIME_LIMITS = ("terminal", "truncation")
RNGS = ("countless", "authors")

# Fields that several agents share: one wording, one range.
_ALPHA = "step size of the action values"
_BETA = "scale of the exploration bonus"
_EPSILON = "probability of a random action"
_GAMMA = "discount of the values"
_UPDATE = (
    "the target's next action: drawn for the target only (resampled, the released code) "
    "or the one then taken (executed, textbook Sarsa)"
)
_TIME_LIMIT = (
    "the last step of a run: cuts the bootstraps (terminal, the released code) or not (truncation)"
)


@dataclass(frozen=True)
class Sarsa:
    """One-step Sarsa, epsilon-greedy, zero initial values."""

    name: ClassVar[str] = "sarsa"
    alpha: float = real(0.005, _ALPHA, "(0, 1]")
    epsilon: float = real(0.01, _EPSILON, "[0, 1]")
    gamma: float = real(0.95, _GAMMA, "[0, 1)")
    update: str = choice("resampled", _UPDATE, UPDATES)
    time_limit: str = choice("terminal", _TIME_LIMIT, TIME_LIMITS)

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class SarsaSR:
    """Sarsa with the bonus beta / ||Psi(s)||_p, Psi the SR learned by TD (the paper's Eq. 6)."""

    name: ClassVar[str] = "sarsa-sr"
    alpha: float = real(0.25, _ALPHA, "(0, 1]")
    eta: float = real(0.01, "step size of the successor representation", "(0, 1]")
    gamma_sr: float = real(0.95, "discount of the successor representation", "[0, 1)")
    beta: float = real(100.0, _BETA, "[0, inf)")
    epsilon: float = real(0.1, _EPSILON, "[0, 1]")
    gamma: float = real(0.95, _GAMMA, "[0, 1)")
    norm: float = real(
        1.0, "p of the p-norm of the successor representation (inf allowed)", "[1, inf]"
    )
    update: str = choice("resampled", _UPDATE, UPDATES)
    time_limit: str = choice("terminal", _TIME_LIMIT, TIME_LIMITS)

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class SarsaCounts:
    """Sarsa with the bonus beta / sqrt(n(s)), n the true visit counts: the control."""

    name: ClassVar[str] = "sarsa-counts"
    alpha: float = real(0.5, _ALPHA, "(0, 1]")
    beta: float = real(1000.0, _BETA, "[0, inf)")
    epsilon: float = real(0.1, _EPSILON, "[0, 1]")
    gamma: float = real(0.95, _GAMMA, "[0, 1)")
    update: str = choice("resampled", _UPDATE, UPDATES)
    time_limit: str = choice("terminal", _TIME_LIMIT, TIME_LIMITS)

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class RandomAgent:
    """Uniformly random actions: the floor."""

    name: ClassVar[str] = "random"


@dataclass(frozen=True)
class OptimalAgent:
    """Greedy in q* of the true model: the ceiling."""

    name: ClassVar[str] = "optimal"
    gamma: float = real(0.95, "discount of the values", "[0, 1)")

    def __post_init__(self) -> None:
        validate(self)


Agent = Sarsa | SarsaSR | SarsaCounts | RandomAgent | OptimalAgent
AGENTS: dict[str, type[Agent]] = {
    kind.name: kind for kind in (Sarsa, SarsaSR, SarsaCounts, RandomAgent, OptimalAgent)
}

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


def published(agent: str, env: str, norm: float | None = None) -> dict[str, float] | None:
    """The paper's parameters (Table 6) for an agent in a domain, or None where it has none."""
    domain = "sixarms" if env.startswith("sixarms") else env
    return PUBLISHED.get((agent, domain, norm))


def agent_class(name: str) -> type[Agent]:
    """The agent called `name`, or a `BadInput` with the nearest name."""
    if name not in AGENTS:
        raise unknown_name("agent", name, AGENTS)
    return AGENTS[name]


def parameter_names(name: str) -> list[str]:
    """The parameters of the agent called `name`, in order."""
    return [item.name for item in fields(agent_class(name))]


def make_agent(name: str, env: str = "", parameters: Mapping[str, Any] | None = None) -> Agent:
    """An agent with the paper's parameters where it has some for `env`, then yours on top.

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
    return kind(**((published(name, env, norm) or {}) | given))


def describe(agent: Agent) -> dict[str, float | str]:
    """The agent's parameters as plain data; an infinite norm becomes the word "inf"."""
    return {key: "inf" if value == math.inf else value for key, value in asdict(agent).items()}
