"""The model-based agents: they learn a model, plan in it exactly, and act greedily."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from countless.core.parameters import choice, real, validate

VARIANTS = ("paper", "authors")
EXPLORE = ("variant", "all", "ends")

_GAMMA = "discount of the values"


@dataclass(frozen=True)
class RMax:
    """R-Max: a pair tried fewer than m times is worth the most there can be."""

    name: ClassVar[str] = "rmax"
    m: float = real(16.0, "samples until a pair is known", "[1, inf)")
    gamma: float = real(0.95, _GAMMA, "[0, 1)")

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class E3:
    """E3: explore while an unknown pair is likely enough within reach, else exploit."""

    name: ClassVar[str] = "e3"
    m: float = real(16.0, "samples until a pair is known", "[1, inf)")
    threshold: float = real(0.01, "probability of escape above which it explores", "[0, 1]")
    escape: str = choice(
        "horizon",
        "what the probability of escape is: the chance to reach an unknown pair within a horizon, "
        "or the discounted value of getting there",
        ("horizon", "discounted"),
    )
    horizon: float = real(20.0, "steps of that horizon", "[1, inf)")
    gamma: float = real(0.95, _GAMMA, "[0, 1)")

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class Mbie:
    """MBIE: rewards up by A Rmax / sqrt(n), transitions the best within an l1 ball of B / sqrt(n)."""

    name: ClassVar[str] = "mbie"
    a: float = real(0.3, "width of the reward interval (MBIE), the bonus (UCRL2, PSRL)", "[0, inf)")
    b: float = real(0.0, "width of the transition interval", "[0, inf)")
    gamma: float = real(0.95, _GAMMA, "[0, 1)")

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class MbieEb:
    """MBIE-EB: a bonus of C Rmax / sqrt(n(s, a))."""

    name: ClassVar[str] = "mbie-eb"
    c: float = real(0.4, "scale of the bonus, in units of the largest reward", "[0, inf)")
    gamma: float = real(0.95, _GAMMA, "[0, 1)")

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class Ucrl2:
    """UCRL2's intervals, scaled by a and b, and its epochs; planned with a discount."""

    name: ClassVar[str] = "ucrl2"
    a: float = real(0.1, "width of the reward interval (MBIE), the bonus (UCRL2, PSRL)", "[0, inf)")
    b: float = real(0.1, "width of the transition interval", "[0, inf)")
    delta: float = real(0.1, "probability of failure that its intervals allow", "(0, 1)")
    gamma: float = real(0.95, _GAMMA, "[0, 1)")

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class Psrl:
    """Posterior sampling: plan in a model drawn from the posterior, a new one when samples double."""

    name: ClassVar[str] = "psrl"
    a: float = real(0.1, "width of the reward interval (MBIE), the bonus (UCRL2, PSRL)", "[0, inf)")
    gamma: float = real(0.95, _GAMMA, "[0, 1)")

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class Essr:
    """Plan for r - beta ||Psi~(s)||_1, Psi~ the substochastic SR of the counts."""

    name: ClassVar[str] = "essr"
    beta: float = real(100.0, "scale of the exploration bonus", "[0, inf)")
    epsilon: float = real(0.0, "probability of a random action", "[0, 1)")
    gamma: float = real(0.95, _GAMMA, "[0, 1)")
    variant: str = choice(
        "authors",
        "the paper's text, or the released code (one pseudo-sample of every transition, bonus on "
        "the state entered, its planner, exploring only the first and last action)",
        VARIANTS,
    )
    bonus: str = choice(
        "ssr",
        "what is penalised: the norm of the SSR, its value from true counts, or nothing",
        ("ssr", "counts", "off"),
    )
    pseudo_counts: str = choice(
        "variant", "a pseudo-sample of every (s, a, s')", ("variant", "on", "off")
    )
    bonus_at: str = choice(
        "variant", "the state that the bonus belongs to", ("variant", "left", "entered")
    )
    planner: str = choice(
        "variant",
        "exact planning, or the released code's: to 0.01, until its own test finds the policy stable",
        ("variant", "exact", "released"),
    )
    explore: str = choice(
        "variant", "which actions epsilon explores: all, or the first and the last", EXPLORE
    )

    def __post_init__(self) -> None:
        validate(self)

    def _as_released(self, option: str, released: str) -> bool:
        value = getattr(self, option)
        return value == released or (value == "variant" and self.variant == "authors")

    @property
    def has_pseudo_counts(self) -> bool:
        return self._as_released("pseudo_counts", "on")

    @property
    def bonus_on_entered(self) -> bool:
        return self._as_released("bonus_at", "entered")

    @property
    def plans_as_released(self) -> bool:
        return self._as_released("planner", "released")

    @property
    def explores_ends(self) -> bool:
        return self._as_released("explore", "ends")
