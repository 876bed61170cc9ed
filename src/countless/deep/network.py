"""One network: features phi of an observation; from them q, the successor features psi, and the
next observation.

"oh" has the sizes of Oh et al. (2015) for 84 x 84 frames, as the paper's DQN_e^MMC; "nature" is
DQN's network of 2015; "small" takes images too small for either, "mlp" vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from countless.deep.config import DeepConfig

TINY = 1e-12
AROUND_PRODUCT = 0.1  # uniform initialisation of the layers around the product with the action


@dataclass(frozen=True)
class Spec:
    """What a network is made for."""

    frame_shape: tuple[int, ...]
    actions: int
    pixels: bool  # frames are grey levels 0 to 255


@dataclass(frozen=True)
class Sizes:
    """Channels, kernels, strides and paddings of the encoder; units of what follows."""

    convolutions: tuple[tuple[int, int, int, int], ...]
    hidden: tuple[int, ...]
    features: int
    decoder: int = 0  # channels of the deconvolutions; 0: the decoder is dense
    xavier: bool = True


SIZES = {
    "oh": Sizes(((64, 6, 2, 0), (64, 6, 2, 2), (64, 6, 2, 2)), (), 1024, 64),
    "nature": Sizes(((32, 8, 4, 0), (64, 4, 2, 0), (64, 3, 1, 0)), (), 512, 32, xavier=False),
    "small": Sizes(((16, 3, 1, 1), (32, 3, 1, 1)), (), 128),
    "mlp": Sizes((), (128,), 128),
}


def choose_network(spec: Spec, asked: str = "auto") -> str:
    """The layers that were asked for, or those that suit an observation too small for them.

    >>> choose_network(Spec((84, 84), 18, True)), choose_network(Spec((4,), 2, False), "nature")
    ('oh', 'mlp')
    """
    if len(spec.frame_shape) == 1:
        return "mlp"
    if min(spec.frame_shape) >= 84:
        return "oh" if asked == "auto" else asked
    return "mlp" if asked == "mlp" else "small"


class Network(nn.Module):
    """phi, and what is read off it."""

    def __init__(self, spec: Spec, config: DeepConfig) -> None:
        super().__init__()
        sizes = SIZES[choose_network(spec, config.network)]
        self.spec, self.norm = spec, config.norm
        self.normalised = config.normalise == "on"
        self.sr_reads_raw = config.sr_input == "raw"
        units = _scaled(sizes.features, config.width)
        self.units = units
        self.encoder = _encoder(spec, sizes, config)
        self.q_head = nn.Linear(units, spec.actions)
        self.sr_head = _sr_head(units) if config.sr == "on" else None
        self.decoder = (
            Decoder(spec, units, _scaled(sizes.decoder, config.width), config)
            if config.reconstruction == "on"
            else None
        )
        _initialise(self, sizes.xavier)

    def features(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """phi as the last layer gives it, and normalised: twice the same where that is off."""
        raw: Tensor = self.encoder(scale(observations, self.spec))
        return raw, self.normalise(raw) if self.normalised else raw

    def normalise(self, raw: Tensor) -> Tensor:
        norms: Tensor = torch.linalg.vector_norm(raw, self.norm, 1, keepdim=True)
        return raw / norms.clamp_min(TINY)

    def q(self, phi: Tensor) -> Tensor:
        """Action values (B, actions)."""
        values: Tensor = self.q_head(phi)
        return values

    def psi(self, raw: Tensor, phi: Tensor) -> Tensor:
        """Successor features (B, units); no gradient reaches phi."""
        assert self.sr_head is not None
        out: Tensor = self.sr_head((raw if self.sr_reads_raw else phi).detach())
        return out

    def values(self, observations: Tensor) -> Tensor:
        """q of observations."""
        return self.q(self.features(observations)[1])

    def sr_norm(self, observations: Tensor) -> Tensor:
        """||psi||_p of observations, (B,)."""
        psi = self.psi(*self.features(observations))
        norms: Tensor = torch.linalg.vector_norm(psi, self.norm, 1)
        return norms

    def predict(self, phi: Tensor, actions: Tensor) -> Tensor:
        """The next frame (B, *frame_shape), in the frame's own units."""
        assert self.decoder is not None
        out: Tensor = self.decoder(phi, actions)
        return out


def scale(observations: Tensor, spec: Spec) -> Tensor:
    """Grey levels to [0, 1]; other observations as they are."""
    x = observations.to(torch.float32)
    return x.mul_(1.0 / 255.0) if spec.pixels else x


class Decoder(nn.Module):
    """The next frame from phi and the action (Oh et al. 2015): a product, then deconvolutions."""

    def __init__(self, spec: Spec, units: int, channels: int, config: DeepConfig) -> None:
        super().__init__()
        self.frame_shape, self.channels = spec.frame_shape, channels
        self.factor_relu = config.factor_relu == "on"
        self.relu = config.decoder_relu == "on"
        self.one = config.decoder_channels == "one"
        self.factor = nn.Linear(units, 2 * units)
        self.embedding = nn.Linear(spec.actions, 2 * units)
        self.after = nn.Linear(2 * units, units)
        if channels:
            self.spread = nn.Linear(units, channels * 10 * 10)
            self.up1 = nn.ConvTranspose2d(channels, channels, 6, 2, 2)  # 10 -> 20
            self.up2 = nn.ConvTranspose2d(channels, channels, 6, 2, 2)  # 20 -> 40
            self.up3 = nn.ConvTranspose2d(1 if self.one else channels, 1, 6, 2)  # 40 -> 84
        else:
            self.spread = nn.Linear(units, 2 * units)
            self.out = nn.Linear(2 * units, prod(spec.frame_shape))

    def forward(self, phi: Tensor, actions: Tensor) -> Tensor:
        factors = self.factor(phi)
        if self.factor_relu:
            factors = factors.relu()
        # The embedding of a one-hot action is a column of its weights.
        embedded = F.embedding(actions, self.embedding.weight.t()) + self.embedding.bias
        x = self.spread(self.after(factors * embedded)).relu()
        if not self.channels:
            return self.out(x).view(-1, *self.frame_shape)  # type: ignore[no-any-return]
        x = self.up1(x.view(-1, self.channels, 10, 10))
        x = self.up2(x.relu() if self.relu else x)
        x = x.relu() if self.relu else x
        return self._last(x[:, :1] if self.one else x).squeeze(1)

    def _last(self, x: Tensor) -> Tensor:
        """`up3` as a product and a fold: several times faster on a CPU for one output channel."""
        weight = self.up3.weight.flatten(1)  # (channels, 36)
        patches = weight.t() @ x.flatten(2)  # (B, 36, 1600)
        size = self.frame_shape
        assert self.up3.bias is not None
        return F.fold(patches, (size[0], size[1]), 6, stride=2) + self.up3.bias


def _scaled(units: int, width: float) -> int:
    return max(1, round(units * width)) if units else 0


def _encoder(spec: Spec, sizes: Sizes, config: DeepConfig) -> nn.Sequential:
    layers: list[nn.Module] = []
    shape: tuple[int, ...] = (config.history, *spec.frame_shape)
    for channels, kernel, stride, padding in sizes.convolutions:
        out = _scaled(channels, config.width)
        layers += [nn.Conv2d(shape[0], out, kernel, stride, padding), nn.ReLU(inplace=True)]
        shape = (out, *((n + 2 * padding - kernel) // stride + 1 for n in shape[1:]))
    layers.append(nn.Flatten())
    inputs = prod(shape)
    for units in (*sizes.hidden, sizes.features):
        out = _scaled(units, config.width)
        layers += [nn.Linear(inputs, out), nn.ReLU(inplace=True)]
        inputs = out
    return nn.Sequential(*layers)


def _sr_head(units: int) -> nn.Sequential:
    """psi is non-negative like the features it sums (the released code's ReLU)."""
    return nn.Sequential(
        nn.Linear(units, 2 * units), nn.ReLU(), nn.Linear(2 * units, units), nn.ReLU()
    )


def _initialise(network: Network, xavier: bool) -> None:
    """Xavier and zero biases; U(-0.1, 0.1) around the product; Nature's layers as PyTorch does."""
    decoder = network.decoder
    around = () if decoder is None else (decoder.factor, decoder.embedding, decoder.after)
    kept = () if xavier else (*network.encoder, network.q_head)
    for module in network.modules():
        if not isinstance(module, nn.Linear | nn.Conv2d | nn.ConvTranspose2d) or module in kept:
            continue
        if module in around:
            nn.init.uniform_(module.weight, -AROUND_PRODUCT, AROUND_PRODUCT)
        else:
            nn.init.xavier_uniform_(module.weight)
        assert module.bias is not None
        nn.init.zeros_(module.bias)
