"""The numbers that the paper, and one that follows it, print, as they print them."""

from __future__ import annotations

from dataclasses import dataclass

REPLAY_RUNS = 100
REPLAY_SEED = 2


def agent_label(norm: float | None) -> str:
    """How the tables call Sarsa without a norm, and Sarsa+SR with one."""
    return "Sarsa" if norm is None else f"Sarsa+SR ℓ{norm:g}"


@dataclass(frozen=True)
class AgentInDomain:
    """Sarsa, or Sarsa+SR with a norm, in one of the paper's domains."""

    env: str
    agent: str
    norm: float | None

    @property
    def parameters(self) -> dict[str, float]:
        return {} if self.norm is None else {"norm": self.norm}

    @property
    def label(self) -> str:
        return agent_label(self.norm)

    @property
    def domain(self) -> str:
        return DOMAIN_LABELS[self.env]


@dataclass(frozen=True)
class Entry(AgentInDomain):
    """One cell of Table 1 or 5: the mean, and the number in parentheses.

    The paper calls the parenthesis a 95% confidence interval; it is the sample SD.
    """

    mean: int
    bracket: int


DOMAIN_LABELS = {"riverswim": "RiverSwim", "sixarms": "SixArms"}

_SR_L1 = (
    Entry("riverswim", "sarsa-sr", 1.0, 1_213_544, 540_454),
    Entry("sixarms", "sarsa-sr", 1.0, 1_052_934, 2_311_617),
)
_SARSA = (
    Entry("riverswim", "sarsa", None, 24_770, 196),
    Entry("sixarms", "sarsa", None, 247_977, 4_970),
)
_SR_L2 = (
    Entry("riverswim", "sarsa-sr", 2.0, 1_192_052, 507_179),
    Entry("sixarms", "sarsa-sr", 2.0, 819_927, 2_132_003),
)

TABLE_1 = (_SARSA[0], _SR_L1[0], _SARSA[1], _SR_L1[1])
TABLE_5 = (_SR_L1[0], _SR_L2[0], _SR_L1[1], _SR_L2[1])

# Figure 2's reference functions: f1(n) = C1 sqrt(n), f2(n) = C2 n.
C1, C2 = 0.19, 0.006

# Tse et al. 2025, in thousands: the mean and SD of Sarsa+DR, and the mean of their Sarsa+SR.
TSE = {"riverswim": (2_964, 252), "sixarms": (3_518, 4_571)}
TSE_SARSA_SR = {"riverswim": 1_206, "sixarms": 1_066}
TSE_REPLAY_SEED = 7
