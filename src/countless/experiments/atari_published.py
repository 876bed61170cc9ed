"""What the paper prints of the deep agents: mean and standard deviation after 100 million frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

GAMES = ("Freeway", "Gravitar", "MontezumaRevenge", "PrivateEye", "Solaris", "Venture")

Score = tuple[float, float | None]


@dataclass(frozen=True)
class Column:
    """An agent of a table: how to run it here, and the paper's score of each game."""

    label: str
    agent: str
    parameters: dict[str, Any] = field(default_factory=dict)
    paper: dict[str, Score] = field(default_factory=dict)


def _scores(*scores: Score | None) -> dict[str, Score]:
    return {game: score for game, score in zip(GAMES, scores, strict=True) if score is not None}


DQN = Column(
    "DQN", "dqn", {},
    _scores(
        (32.4, 0.3), (118.5, 22.0), (0.0, 0.0), (1447.4, 2567.9), (783.4, 55.3), (4.4, 5.4)
    ),
)  # fmt: skip
MMC = Column(
    "DQN_e^MMC", "dqn-mmc", {},
    _scores(
        (29.5, 0.1), (1078.3, 254.1), (0.0, 0.0), (113.4, 42.3), (2244.6, 378.8), (1220.1, 51.0)
    ),
)  # fmt: skip
SR = Column(
    "DQN_e^MMC+SR", "dqn-mmc-sr", {},
    _scores(
        (29.4, 0.1), (457.4, 120.3), (1395.4, 1121.8), (104.4, 50.4), (1890.1, 163.1),
        (1348.5, 56.5),
    ),
)  # fmt: skip
SR_L2 = Column(
    "DQN_e^MMC+SR ℓ2", "dqn-mmc-sr", {"norm": 2.0},
    _scores(
        (29.5, 0.1), (430.3, 109.4), (1778.6, 903.6), (99.1, 1.8), (2155.7, 398.3),
        (1241.8, 236.0),
    ),
)  # fmt: skip
NO_RECONSTRUCTION = Column(
    "without reconstruction", "dqn-mmc-sr",
    {"reconstruction": False}, {"MontezumaRevenge": (100.0, 200.0)},
)  # fmt: skip
NO_BONUS = Column(
    "without SR and bonus", "dqn-mmc-sr",
    {"bonus": "off"}, {"MontezumaRevenge": (398.5, 230.1)},
)  # fmt: skip

# Quoted by the paper from the authors of these agents, who followed other protocols.
CTS = Column(
    "DQN^MMC_CTS *", "dqn-cts", {},
    _scores(
        (29.2, None), (199.8, None), (2941.9, None), (32.8, None), (1147.1, None), (0.0, None)
    ),
)  # fmt: skip
PIXELCNN = Column(
    "DQN^MMC_PixelCNN *", "dqn-pixelcnn", {},
    _scores(
        (29.4, None), (275.4, None), (1671.7, None), (14386.0, None), (2279.4, None), (856.2, None)
    ),
)  # fmt: skip
RND = Column(
    "RND *", "dqn-rnd", {},
    _scores(
        None, (790.0, 122.9), (524.8, 314.0), (61.3, 53.7), (1270.3, 291.0), (953.7, 167.3)
    ),
)  # fmt: skip
