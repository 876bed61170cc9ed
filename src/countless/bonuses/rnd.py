"""Random network distillation (Burda et al. 2019): the error in predicting a frozen random network."""

from __future__ import annotations

from dataclasses import dataclass

from countless.bonuses.protocol import Bonus
from countless.bonuses.registry import BonusKind
from countless.core.arrays import need_torch
from countless.core.observations import ObservationReader
from countless.core.parameters import real, validate, whole


@dataclass(frozen=True)
class RNDParameters:
    """The published constants, but for `warm_up`: 6,400 steps of a random agent in each environment."""

    beta: float = real(1.0, "scale of the bonus", "[0, inf)")
    gamma: float = real(0.99, "discount of the summed errors whose SD scales the bonus", "[0, 1)")
    lr: float = real(1e-4, "step size of Adam", "(0, 1]")
    keep: float = real(1.0, "share of the frames that the predictor learns from", "(0, 1]")
    warm_up: int = whole(
        1000, "number of first frames that only feed the statistics: their bonus is 0", "[0, inf)"
    )
    features: int = whole(512, "outputs of target and predictor", "[1, 65536]")
    size: int = whole(84, "side of the image in pixels", "[36, 256]")

    def __post_init__(self) -> None:
        validate(self)


def _make(
    observations: ObservationReader, parameters: RNDParameters, *, seed: int, device: str
) -> Bonus:
    need_torch("rnd")
    from countless.bonuses.networks.rnd import RND

    return RND(observations, parameters, seed, device)


KIND = BonusKind(
    "rnd",
    "error in predicting a random network (Burda et al. 2019)",
    RNDParameters,
    _make,
    needs_torch=True,
)
