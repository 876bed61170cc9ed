"""PixelCNN pseudo-counts (Ostrovski et al. 2017): how much one update on a frame raises its density."""

from __future__ import annotations

from dataclasses import dataclass

from countless.bonuses.protocol import Bonus
from countless.bonuses.registry import BonusKind
from countless.core.arrays import need_torch
from countless.core.errors import BadInput, named
from countless.core.observations import ObservationReader
from countless.core.parameters import real, validate, whole


@dataclass(frozen=True)
class PixelCNNParameters:
    """beta N^(-1/2), 1 / N = exp(c n^(-1/2) gain) - 1; the published network is small."""

    beta: float = real(1.0, "scale of the bonus", "[0, inf)")
    most: float = real(
        1.0, "upper bound of the bonus, as published agents clip rewards", "(0, inf]"
    )
    c: float = real(0.1, "scale of the prediction gain", "(0, inf)")
    lr: float = real(0.001, "step size of RMSProp", "(0, 1]")
    size: int = whole(42, "side of the image in pixels", "[1, 256]")
    maps: int = whole(16, "feature maps", "[1, 1024]")
    blocks: int = whole(2, "gated residual blocks", "[0, 64]")
    kernel: int = whole(3, "side of the blocks' convolution, an odd number", "[1, 15]")

    def __post_init__(self) -> None:
        validate(self)
        if self.kernel % 2 == 0:
            raise BadInput(f"{named('kernel')} must be odd, not {self.kernel}")


def _make(
    observations: ObservationReader, parameters: PixelCNNParameters, *, seed: int, device: str
) -> Bonus:
    need_torch("pixelcnn")
    from countless.bonuses.networks.pixelcnn import PixelCNNBonus

    return PixelCNNBonus(observations, parameters, seed, device)


KIND = BonusKind(
    "pixelcnn",
    "pseudo-counts of a gated PixelCNN (Ostrovski et al. 2017)",
    PixelCNNParameters,
    _make,
    observations=("image",),
    needs_torch=True,
)
