"""Parameters that several agents share: one wording and one range for each."""

from __future__ import annotations

from typing import Any

from countless.core.parameters import choice, real, scaled

COUNTS = ("true", "ssr", "ssr-low", "ssr-exact")
UPDATES = ("resampled", "executed")
TIME_LIMITS = ("terminal", "truncation")


def alpha(default: float) -> Any:
    return real(default, "step size of the action values", "(0, 1]")


def beta(share: float) -> Any:
    """The scale of a bonus; its default is a share of the environment's range of rewards."""
    return scaled(share, "scale of the exploration bonus", "[0, inf)")


def counts() -> Any:
    return choice(
        "true",
        "where the number of visits comes from: counting, or the norm of the substochastic SR, by "
        "Theorem 1's upper bound (ssr), its lower bound (ssr-low), or its exact equation (ssr-exact)",
        COUNTS,
    )


def epsilon(default: float, interval: str = "[0, 1]") -> Any:
    return real(default, "probability of a random action", interval)


def eta(default: float) -> Any:
    return real(default, "step size of the successor representation", "(0, 1]")


def gamma() -> Any:
    return real(0.95, "discount of the values", "[0, 1)")


def gamma_sr() -> Any:
    return real(0.95, "discount of the successor representation", "[0, 1)")


def gamma_ssr() -> Any:
    """Below a millionth the norm, a number near 1, has too few digits left for the count."""
    return real(
        0.001, "discount of the substochastic SR whose norm is read (`counts`)", "[1e-06, 1)"
    )


def initial_value() -> Any:
    """Untried actions must look as good as those that have paid a bonus, or they stay untried."""
    return scaled(1.0, "value of every action before it is tried", "[0, inf)")


def known_after(default: float) -> Any:
    return real(default, "samples until a pair is known", "[1, inf)")


def reward_width(default: float) -> Any:
    return real(
        default, "width of the reward intervals; of PSRL, SD of the sampled rewards", "[0, inf)"
    )


def time_limit() -> Any:
    return choice(
        "terminal",
        "whether the last step of a run cuts the bootstraps (terminal, the released code) or not "
        "(truncation)",
        TIME_LIMITS,
    )


def transition_width(default: float) -> Any:
    return real(default, "width of the transition intervals", "[0, inf)")


def update() -> Any:
    return choice(
        "resampled",
        "the target's next action: drawn for the target only (resampled, the released code) "
        "or the one then taken (executed, textbook Sarsa)",
        UPDATES,
    )
