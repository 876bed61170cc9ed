"""The model-free agents: Sarsa with and without a bonus, and the two that do not learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from countless.core.parameters import choice, real, validate

UPDATES = ("resampled", "executed")
TIME_LIMITS = ("terminal", "truncation")

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
class Spie:
    """Sarsa with SPIE's bonus beta (Psi(s, s') - ||Psi(., s')||_1) (Yu et al. 2023)."""

    name: ClassVar[str] = "spie"
    alpha: float = real(0.25, _ALPHA, "(0, 1]")
    eta: float = real(0.05, "step size of the successor representation", "(0, 1]")
    gamma_sr: float = real(0.95, "discount of the successor representation", "[0, 1)")
    beta: float = real(100.0, _BETA, "[0, inf)")
    epsilon: float = real(0.1, _EPSILON, "[0, 1]")
    gamma: float = real(0.95, _GAMMA, "[0, 1)")
    update: str = choice("resampled", _UPDATE, UPDATES)
    time_limit: str = choice("terminal", _TIME_LIMIT, TIME_LIMITS)

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class RandomAgent:
    """Uniformly random actions."""

    name: ClassVar[str] = "random"


@dataclass(frozen=True)
class OptimalAgent:
    """Greedy in q* of the true model: the ceiling."""

    name: ClassVar[str] = "optimal"
    gamma: float = real(0.95, "discount of the values", "[0, 1)")

    def __post_init__(self) -> None:
        validate(self)
