"""Agents whose visit counts can be read off the norm of the substochastic SR instead of counted."""

from __future__ import annotations

from typing import ClassVar

from countless.agents.tabular.agent import TabularAgent
from countless.core.errors import BadInput, named

WINDOW = 0.5  # the discount from which on Theorem 1 tells no count from another


class CountedAgent(TabularAgent):
    """One with the parameters `counts` and `gamma_ssr`.

    Runs that differ only in these have the same random draws, step by step: they part where the
    counts that are read off first change a decision.
    """

    counts: str
    gamma_ssr: float
    later: ClassVar[tuple[str, ...]] = ("counts", "gamma_ssr")
    paired: ClassVar[tuple[str, ...]] = ("counts", "gamma_ssr")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.counts == "ssr" and self.gamma_ssr >= WINDOW:
            raise BadInput(
                f"{named('gamma_ssr')} must be below {WINDOW:g} for {named('counts', 'ssr')}, not "
                f"{self.gamma_ssr:g}: Theorem 1's lower bound is then at most 0 for any count, so that "
                f"no norm tells one count from another; {named('counts', 'ssr-low')} and "
                f"{named('counts', 'ssr-exact')} take any"
            )

    @property
    def caution(self) -> str:
        """Up to gamma_ssr = 1/m^2 the upper bound reaches m with the m-th visit, and not before."""
        m = getattr(self, "m", None)
        if m is None or self.counts != "ssr" or self.gamma_ssr * m**2 <= 1.0:
            return ""
        return (
            f"{named('gamma_ssr', self.gamma_ssr)} is above 1/m² = {1 / m**2:.4g}: the norm overstates "
            f"counts so much that a pair may be called known before it was tried {m:g} times"
        )

    @property
    def reading(self) -> int:
        """How the kernels read a count off a norm."""
        from countless.agents.tabular.kernels import ssr_counts

        return {
            "true": ssr_counts.TRUE,
            "ssr": ssr_counts.UPPER,
            "ssr-low": ssr_counts.LOWER,
            "ssr-exact": ssr_counts.EXACT,
        }[self.counts]
