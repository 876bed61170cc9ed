"""One network: features phi of an observation; from them q, the successor features psi, and the
next observation.

"oh" has the sizes of Oh et al. (2015) for 84 x 84 frames, as the paper's DQN_e^MMC; "nature" is
DQN's network of 2015; "small" takes images too small for either, "mlp" vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from countless.agents.dqn.config import NetworkConfig
from countless.core.errors import BadInput, named

TINY = 1e-12
ATARI = (84, 84)
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
    heads: int  # units of the SR head's hidden layer, and of the product with the action
    mirrored: bool = True  # the decoder runs the convolutions backwards; else it is dense
    xavier: bool = True


SIZES = {
    "oh": Sizes(((64, 6, 2, 0), (64, 6, 2, 2), (64, 6, 2, 2)), (), 1024, 2048),
    "nature": Sizes(((32, 8, 4, 0), (64, 4, 2, 0), (64, 3, 1, 0)), (), 512, 512, xavier=False),
    "small": Sizes(((16, 3, 1, 1), (32, 3, 1, 1)), (), 128, 256, mirrored=False),
    "mlp": Sizes((), (128,), 128, 256, mirrored=False),
}


@dataclass(frozen=True)
class Convolution:
    """A layer of the encoder: shapes (channels, height, width), (kernel, stride, padding)."""

    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    window: tuple[int, int, int]


def choose_network(spec: Spec, wanted: str) -> str:
    """The layers that suit an observation, where the name asks to choose."""
    atari = spec.frame_shape == ATARI
    if wanted in ("auto", "auto-nature"):
        if atari:
            return "nature" if wanted == "auto-nature" else "oh"
        return "small" if len(spec.frame_shape) == 2 else "mlp"
    if (SIZES[wanted].mirrored and not atari) or (wanted == "small" and len(spec.frame_shape) != 2):
        shape = " x ".join(map(str, spec.frame_shape))
        raise BadInput(
            f"{named('network', wanted)} does not fit frames of {shape}; auto chooses one that does"
        )
    return wanted


class Network(nn.Module):
    """phi, and what is read off it."""

    def __init__(self, spec: Spec, config: NetworkConfig) -> None:
        super().__init__()
        sizes = SIZES[choose_network(spec, config.network)]
        self.spec, self.norm = spec, config.norm
        self.normalised = config.normalise
        self.norm_gradient = config.norm_gradient
        self.q_reads_raw = config.q_reads == "raw"
        self.sr_reads_raw = config.sr_input == "raw"
        self.input_scale = config.input_scale or sqrt(config.history * prod(spec.frame_shape))
        units = _scaled(sizes.features, config.width)
        heads = _scaled(sizes.heads, config.width)
        layers = _convolutions(spec, sizes, config)
        self.encoder = _encoder(spec, sizes, layers, config)
        self.q_hidden = nn.Linear(units, config.q_hidden) if config.q_hidden else None
        self.q_head = nn.Linear(config.q_hidden or units, spec.actions)
        self.sr_head = _sr_head(units, heads, config.sr_bias) if config.sr else None
        self.predicts = config.auxiliary
        self.decoder = None
        if config.reconstruction:
            mirrored = sizes.mirrored and self.predicts != "features"
            out_shape = (units,) if self.predicts == "features" else spec.frame_shape
            self.decoder = Decoder(
                spec, (units, heads), out_shape, layers if mirrored else (), config
            )
        _initialise(self, sizes.xavier or self.normalised, config.first_weights)

    @property
    def has_sr(self) -> bool:
        """Whether psi is learned."""
        return self.sr_head is not None

    def features(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """phi as the last layer gives it, and normalised: twice the same where that is off."""
        raw = run_layers(self.encoder, self.scaled(observations))
        return raw, self.normalise(raw) if self.normalised else raw

    def scaled(self, observations: Tensor) -> Tensor:
        """Observations as the first layer reads them."""
        return observations if self.input_scale == 1.0 else observations * self.input_scale

    def normalise(self, raw: Tensor) -> Tensor:
        norms = p_norm(raw, self.norm).unsqueeze(1).clamp_min(TINY)
        return raw / (norms if self.norm_gradient else norms.detach())

    def q(self, raw: Tensor, phi: Tensor) -> Tensor:
        """Action values (B, actions)."""
        read = raw if self.q_reads_raw else phi
        if self.q_hidden is not None:
            read = F.relu_(F.linear(read, self.q_hidden.weight, self.q_hidden.bias))
        return F.linear(read, self.q_head.weight, self.q_head.bias)

    def psi(self, raw: Tensor, phi: Tensor) -> Tensor:
        """Successor features (B, units); no gradient reaches phi."""
        assert self.sr_head is not None
        return run_layers(self.sr_head, (raw if self.sr_reads_raw else phi).detach())

    def values(self, observations: Tensor) -> Tensor:
        """q of observations."""
        return self.q(*self.features(observations))

    def sr_norm(self, observations: Tensor) -> Tensor:
        """||psi||_p of observations, (B,)."""
        return p_norm(self.psi(*self.features(observations)), self.norm)

    def predict(self, phi: Tensor, actions: Tensor) -> Tensor:
        """The next frame (B, *frame_shape), in the frame's own units; or the next features (B, D)."""
        assert self.decoder is not None
        return self.decoder.forward(phi, actions)


class Decoder(nn.Module):
    """The next frame from phi and the action (Oh et al. 2015): a product, then the encoder's
    convolutions backwards; dense layers where the sizes do not come out even, and for features."""

    def __init__(
        self,
        spec: Spec,
        sizes: tuple[int, int],
        out_shape: tuple[int, ...],
        layers: tuple[Convolution, ...],
        config: NetworkConfig,
    ) -> None:
        super().__init__()
        units, heads = sizes
        self.out_shape = out_shape
        self.factor_relu = config.factor_relu
        self.relu = config.decoder_relu
        self.one = config.decoder_channels == "one" and bool(layers)
        self.factor = nn.Linear(units, heads)
        self.embedding = nn.Linear(spec.actions, heads)
        self.after = nn.Linear(heads, units)
        self.dense = not layers
        self.start = layers[-1].out_shape if layers else (heads,)
        self.spread = nn.Linear(units, prod(self.start))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(layer.out_shape[0], layer.in_shape[0], *layer.window)
            for layer in reversed(layers[1:])
        )
        if layers:
            channels = 1 if self.one else layers[0].out_shape[0]
            self.last = nn.ConvTranspose2d(channels, 1, *layers[0].window)
        else:
            self.out = nn.Linear(heads, prod(out_shape))

    def forward(self, phi: Tensor, actions: Tensor) -> Tensor:
        factors = self.factor(phi)
        if self.factor_relu:
            factors = factors.relu()
        # The embedding of a one-hot action is a column of its weights.
        embedded = F.embedding(actions, self.embedding.weight.t()) + self.embedding.bias
        x = self.spread(self.after(factors * embedded)).relu()
        if self.dense:
            return self.out(x).view(-1, *self.out_shape)  # type: ignore[no-any-return]
        channels, *sides = self.start
        x = x.view(-1, *sides, channels).permute(0, 3, 1, 2)
        for i, layer in enumerate(self.up):
            assert isinstance(layer, nn.ConvTranspose2d)
            x = deconvolve(layer, x, 1 if self.one and i == len(self.up) - 1 else None, self.relu)
        return deconvolve(self.last, x).squeeze(1)


def p_norm(x: Tensor, p: float) -> Tensor:
    """||x||_p of each row (B,), where no x is negative: features and psi come from a ReLU."""
    norms: Tensor = x.sum(1) if p == 1.0 else torch.linalg.vector_norm(x, p, 1)
    return norms


def run_layers(layers: nn.Sequential, x: Tensor) -> Tensor:
    """What `layers` make of x; less is asked between small layers than by calling the modules."""
    for layer in layers:
        if isinstance(layer, nn.Linear):
            x = F.linear(x, layer.weight, layer.bias)
        elif isinstance(layer, nn.ReLU):
            x = F.relu_(x)
        else:
            x = layer(x)
    return x


class FlattenLast(nn.Module):
    """(B, C, H, W) to (B, H W C): channels lie last in memory, so nothing is moved."""

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(0, 2, 3, 1).flatten(1)


def deconvolve(
    layer: nn.ConvTranspose2d, x: Tensor, channels: int | None = None, relu: bool = False
) -> Tensor:
    """What `layer` gives, or only its first `channels`; with a stride, faster on a CPU than as such.

    With stride s and kernel q s, place s i + a is the sum over j of x[i - j] w[s j + a]: a
    convolution with kernel q to s^2 times the channels, one part for each a, then interleaved.
    """
    stride, kernel, padding = layer.stride[0], layer.kernel_size[0], int(layer.padding[0])
    weight = layer.weight[:, :channels]
    assert layer.bias is not None
    bias = layer.bias[:channels]
    if stride == 1 or kernel % stride or padding % stride:
        whole = F.conv_transpose2d(x, weight, bias, stride, padding)
        return F.relu_(whole) if relu else whole
    taps, (inputs, outputs) = kernel // stride, weight.shape[:2]
    weight = weight.reshape(inputs, outputs, taps, stride, taps, stride).flip(2, 4)
    weight = weight.permute(3, 5, 1, 0, 2, 4).reshape(-1, inputs, taps, taps)
    weight = weight.contiguous(memory_format=torch.channels_last)
    parts = F.conv2d(x, weight, bias.repeat(stride**2), padding=taps - 1 - padding // stride)
    parts = F.relu_(parts) if relu else parts  # before it is a view of views
    size, _, height, width = parts.shape
    parts = parts.permute(0, 2, 3, 1).reshape(size, height, width, stride, stride, outputs)
    whole = parts.transpose(2, 3).reshape(size, height * stride, width * stride, outputs)
    return whole.permute(0, 3, 1, 2)


def _scaled(units: int, width: float) -> int:
    return max(1, round(units * width))


def _convolutions(spec: Spec, sizes: Sizes, config: NetworkConfig) -> tuple[Convolution, ...]:
    layers: list[Convolution] = []
    shape: tuple[int, ...] = (config.history, *spec.frame_shape)
    for channels, kernel, stride, padding in sizes.convolutions:
        sides = ((n + 2 * padding - kernel) // stride + 1 for n in shape[1:])
        out = (_scaled(channels, config.width), *sides)
        layers.append(Convolution(shape, out, (kernel, stride, padding)))
        shape = out
    return tuple(layers)


def _encoder(
    spec: Spec, sizes: Sizes, layers: tuple[Convolution, ...], config: NetworkConfig
) -> nn.Sequential:
    modules: list[nn.Module] = []
    for layer in layers:
        sizes_of = (layer.in_shape[0], layer.out_shape[0], *layer.window)
        modules.append(nn.Conv2d(*sizes_of, bias=config.encoder_bias))
        modules.append(nn.ReLU(inplace=True))
    modules.append(FlattenLast() if layers else nn.Flatten())
    inputs = prod(layers[-1].out_shape) if layers else config.history * prod(spec.frame_shape)
    for units in (*sizes.hidden, sizes.features):
        out = _scaled(units, config.width)
        modules += [nn.Linear(inputs, out, config.encoder_bias), nn.ReLU(inplace=True)]
        inputs = out
    if config.layer_norm:
        modules.insert(-1, nn.LayerNorm(inputs, bias=config.encoder_bias))
    return nn.Sequential(*modules)


def _sr_head(units: int, hidden: int, bias: bool) -> nn.Sequential:
    """psi is non-negative like the features it sums (the released code's ReLU)."""
    first, last = nn.Linear(units, hidden, bias), nn.Linear(hidden, units, bias)
    return nn.Sequential(first, nn.ReLU(), last, nn.ReLU())


def _initialise(network: Network, xavier: bool, first: float) -> None:
    """Xavier and zero biases; U(-0.1, 0.1) around the product; Nature's layers as PyTorch does,
    unless their features are normalised: there its biases would outweigh what is seen. The weights
    of the first layer are multiplied by `first`."""
    decoder = network.decoder
    around = () if decoder is None else (decoder.factor, decoder.embedding, decoder.after)
    kept = () if xavier else (*network.encoder, network.q_hidden, network.q_head)
    for module in network.modules():
        if not isinstance(module, nn.Linear | nn.Conv2d | nn.ConvTranspose2d) or module in kept:
            continue
        if module in around:
            nn.init.uniform_(module.weight, -AROUND_PRODUCT, AROUND_PRODUCT)
        else:
            nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    layers = (m for m in network.encoder if isinstance(m, nn.Linear | nn.Conv2d))
    with torch.no_grad():
        next(layers).weight.mul_(first)
