"""Shapes, sizes and starting values of the network; the fast last layer against torch's own."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from countless.agents.dqn.agents import make_config
from countless.agents.dqn.network import AROUND_PRODUCT, Network, Spec, choose_network, deconvolve
from countless.core.errors import BadInput

ATARI = Spec((84, 84), 18, True)


def make(agent="dqn-mmc-sr", spec=ATARI, variant="paper", **parameters):
    torch.manual_seed(0)
    return Network(spec, make_config(agent, variant=variant, parameters=parameters).architecture)


def count(*modules):
    return sum(weight.numel() for module in modules for weight in module.parameters())


@pytest.fixture(scope="module")
def papers():
    return make()


def observations(spec, n=2, history=4):
    torch.manual_seed(1)
    if spec.pixels:
        return torch.rand(n, history, *spec.frame_shape)
    return torch.randn(n, history, *spec.frame_shape)


def test_the_papers_shapes_layer_by_layer(papers, monkeypatch):
    shapes = []

    def noted(given, weight, bias):
        out = linear(given, weight, bias)
        shapes.append(tuple(out.shape[1:]))
        return out

    linear = F.linear
    monkeypatch.setattr(F, "linear", noted)
    for module in papers.modules():
        if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
            module.register_forward_hook(
                lambda module, given, out: shapes.append(tuple(out.shape[1:]))
            )
    raw, phi = papers.features(observations(ATARI))
    assert shapes == [(64, 40, 40), (64, 20, 20), (64, 10, 10), (1024,)]
    shapes.clear()
    assert papers.q(raw, phi).shape == (2, 18)
    assert papers.psi(raw, phi).shape == (2, 1024)
    assert shapes == [(18,), (2048,), (1024,)]
    shapes.clear()
    assert papers.predict(phi, torch.tensor([0, 17])).shape == (2, 84, 84)
    assert shapes == [(2048,), (1024,), (6400,)]
    shapes.clear()
    x = torch.zeros(1, *papers.decoder.start)
    for layer in (*papers.decoder.up, papers.decoder.last):
        x = layer(x)
    assert shapes == [(64, 20, 20), (64, 40, 40), (1, 84, 84)]


def test_the_papers_parameter_counts(papers):
    # Convolutions, the dense layer, the values.
    trunk = (4 * 36 + 1) * 64 + 2 * (64 * 36 + 1) * 64 + (6400 + 1) * 1024 + (1024 + 1) * 18
    assert count(papers.encoder, papers.q_head) == trunk == 6_877_394
    assert count(papers.decoder) == 11_093_633
    assert count(papers.sr_head) == (1024 + 1) * 2048 + (2048 + 1) * 1024 == 4_197_376
    assert count(papers) == 22_168_403


def test_the_released_decoder_has_37_parameters_in_its_last_layer(papers):
    assert count(papers.decoder.last) == 64 * 36 + 1
    released = make(variant="authors")
    assert count(released.decoder.last) == 37
    assert count(papers.decoder) - count(released.decoder) == 63 * 36


def test_only_channel_0_is_read_by_the_released_decoder():
    net = make(variant="authors", width=0.125)
    out = net.predict(net.features(observations(ATARI))[1], torch.tensor([1, 2]))
    out.sum().backward()
    gradient = net.decoder.up[1].weight.grad
    assert gradient[:, 0].abs().sum() > 0
    assert (gradient[:, 1:] == 0).all()


def test_dqn_is_the_network_of_2015():
    net = make("dqn")
    convolutions = [m for m in net.encoder if isinstance(m, nn.Conv2d)]
    assert [(m.out_channels, m.kernel_size[0], m.stride[0]) for m in convolutions] == [
        (32, 8, 4), (64, 4, 2), (64, 3, 1),
    ]  # fmt: skip
    assert count(net) == 8224 + 32832 + 36928 + (3136 + 1) * 512 + 513 * 18
    assert net.sr_head is None
    assert net.decoder is None
    assert not net.normalised


def test_dqn_mmc_is_the_trunk_alone():
    net = make("dqn-mmc")
    assert count(net) == 6_877_394
    assert net.normalised


@pytest.mark.parametrize("channels", [None, 1])
@pytest.mark.parametrize(
    ("inputs", "outputs", "kernel", "stride", "padding", "side"),
    [(8, 8, 6, 2, 2, 10), (8, 1, 6, 2, 0, 40), (4, 1, 8, 4, 0, 20), (8, 4, 4, 2, 0, 9),
     (8, 8, 3, 1, 0, 7), (3, 2, 5, 2, 1, 6)],
)  # fmt: skip
def test_deconvolutions_are_torchs(inputs, outputs, kernel, stride, padding, side, channels):
    torch.manual_seed(0)
    layer = nn.ConvTranspose2d(inputs, outputs, kernel, stride, padding)
    x = torch.randn(3, inputs, side, side, requires_grad=True)
    ours, theirs = deconvolve(layer, x, channels), layer(x)[:, :channels]
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    weights = (x, layer.weight, layer.bias)
    for one, other in zip(
        torch.autograd.grad(ours.square().sum(), weights),
        torch.autograd.grad(theirs.square().sum(), weights),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_the_decoder_runs_the_encoder_backwards():
    shapes = []
    decoder = make(network="nature").decoder
    x = torch.zeros(2, *decoder.start)
    for layer in (*decoder.up, decoder.last):
        x = layer(x)
        shapes.append(tuple(x.shape[1:]))
    assert decoder.start == (64, 7, 7)
    assert shapes == [(64, 9, 9), (32, 20, 20), (1, 84, 84)]
    assert decoder(torch.rand(2, 512), torch.tensor([0, 1])).shape == (2, 84, 84)


@pytest.mark.parametrize("variant", ["paper", "authors"])
def test_the_decoder_is_a_product_with_the_action_then_deconvolutions(variant):
    net = make(variant=variant, width=0.125)
    d = net.decoder
    phi, actions = torch.rand(3, net.q_head.in_features), torch.tensor([0, 5, 17])
    released = variant == "authors"
    factors = d.factor(phi).relu() if released else d.factor(phi)
    one_hot = nn.functional.one_hot(actions, 18).float()
    channels, height, width = d.start
    x = d.spread(d.after(factors * d.embedding(one_hot))).relu()
    x = x.view(3, height, width, channels).permute(0, 3, 1, 2)  # channels last, as in the encoder
    x = d.up[0](x)
    x = d.up[1](x if released else x.relu())
    x = x[:, :1] if released else x.relu()
    torch.testing.assert_close(net.predict(phi, actions), d.last(x)[:, 0], rtol=1e-4, atol=1e-4)


def test_starting_values():
    net = make(width=0.25)
    decoder = net.decoder
    for layer in (decoder.factor, decoder.embedding, decoder.after):
        assert layer.weight.abs().max() <= AROUND_PRODUCT == 0.1
        assert layer.weight.abs().max() > 0.099
    others = [
        m
        for m in net.modules()
        if isinstance(m, nn.Linear | nn.Conv2d | nn.ConvTranspose2d)
        and m not in (decoder.factor, decoder.embedding, decoder.after)
    ]
    assert len(others) == 3 + 1 + 1 + 2 + 1 + 3
    for layer in others:
        # Xavier: U(-a, a), a = sqrt(6 / (fan in + fan out)).
        fan_in, fan_out = nn.init._calculate_fan_in_and_fan_out(layer.weight)
        bound = (6.0 / (fan_in + fan_out)) ** 0.5
        assert 0.9 * bound < layer.weight.abs().max() <= bound
    for layer in (*others, decoder.factor, decoder.embedding, decoder.after):
        assert (layer.bias == 0).all()


def test_natures_layers_start_as_pytorch_does_unless_features_are_normalised():
    for normalise, zero in ((True, True), (False, False)):
        net = make(network="nature", width=0.25, normalise=normalise)
        assert all((net.encoder[i].bias == 0).all() == zero for i in (0, 2, 4, 7))


@pytest.mark.parametrize(("p", "word"), [(1, 1.0), (2, 2.0), (3, 3.0), (float("inf"), "inf")])
def test_normalisation_and_the_norm_of_psi(p, word):
    net = make(width=0.0625, norm=float(word))
    seen = observations(ATARI, 3)
    raw, phi = net.features(seen)
    assert (raw.abs().sum(1) > 0).all()
    exact = raw.abs().amax(1) if p == float("inf") else (raw.abs() ** p).sum(1) ** (1 / p)
    torch.testing.assert_close(phi, raw / exact.unsqueeze(1))
    torch.testing.assert_close(phi.norm(p, 1), torch.ones(3))
    psi = net.psi(raw, phi)
    assert (psi >= 0).all()
    torch.testing.assert_close(net.sr_norm(seen), psi.norm(p, 1))


def test_features_that_are_all_zero_stay_zero():
    net = make(width=0.0625)
    phi = net.normalise(torch.zeros(2, net.q_head.in_features))
    assert (phi == 0).all()


def test_the_sr_head_reads_normalised_or_raw_features():
    seen = observations(ATARI)
    for reads in ("normalised", "raw"):
        net = make(width=0.0625, sr_input=reads)
        raw, phi = net.features(seen)
        torch.testing.assert_close(net.psi(raw, phi), net.sr_head(raw if reads == "raw" else phi))


def test_the_values_read_normalised_features():
    net = make(width=0.0625)
    seen = observations(ATARI)
    torch.testing.assert_close(net.values(seen), net.q_head(net.features(seen)[1]))


def test_the_values_can_read_features_before_they_are_normalised():
    net = make(width=0.0625, q_reads="raw")
    seen = observations(ATARI)
    torch.testing.assert_close(net.values(seen), net.q_head(net.features(seen)[0]))


def test_a_hidden_layer_can_stand_between_features_and_values():
    net = make(width=0.0625, q_hidden=20)
    seen = observations(ATARI)
    torch.testing.assert_close(
        net.values(seen), net.q_head(net.q_hidden(net.features(seen)[1]).relu())
    )
    assert (net.q_hidden.out_features, net.q_head.in_features) == (20, 20)


@pytest.mark.parametrize("encoder_bias", [True, False])
def test_layer_normalisation_stands_before_the_last_relu(encoder_bias):
    net = make(width=0.0625, layer_norm=True, encoder_bias=encoder_bias)
    *before, norm, last = net.encoder
    assert isinstance(norm, nn.LayerNorm)
    assert isinstance(last, nn.ReLU)
    assert isinstance(before[-1], nn.Linear)
    seen = observations(ATARI, 3)
    given = nn.Sequential(*before)(seen)
    centred = given - given.mean(1, keepdim=True)
    exact = centred / (centred.square().mean(1, keepdim=True) + norm.eps).sqrt()
    torch.testing.assert_close(net.features(seen)[0], exact.relu())
    assert (norm.bias is not None) == encoder_bias


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("flows", [True, False])
def test_the_gradient_through_the_norm_by_hand(norm, flows):
    """Of phi_0 = f_0 / n: with n held fixed 1 / n at f_0 and nothing elsewhere."""
    net = make(width=0.0625, norm=norm, norm_gradient=flows)
    f = torch.tensor([[3.0, 4.0]], requires_grad=True)
    net.normalise(f)[0, 0].backward()
    n = 7.0 if norm == 1.0 else 5.0
    through = 3.0 / n**2 * (torch.ones(2) if norm == 1.0 else torch.tensor([3.0, 4.0]) / n)
    expected = torch.tensor([1.0 / n, 0.0]) - (through if flows else 0.0)
    torch.testing.assert_close(f.grad[0], expected)


@pytest.mark.parametrize(
    ("spec", "asked", "chosen"),
    [
        (ATARI, "auto", "oh"),
        (ATARI, "nature", "nature"),
        (ATARI, "mlp", "mlp"),
        (Spec((5, 5), 2, True), "auto", "small"),
        (ATARI, "auto-nature", "nature"),
        (Spec((5, 5), 2, True), "auto-nature", "small"),
        (Spec((5, 5), 2, True), "mlp", "mlp"),
        (Spec((4,), 2, False), "auto", "mlp"),
        (Spec((4,), 2, False), "auto-nature", "mlp"),
    ],
)
def test_a_network_for_every_observation(spec, asked, chosen):
    assert choose_network(spec, asked) == chosen
    net = make(spec=spec, network=asked, width=0.0625)
    raw, phi = net.features(observations(spec))
    assert net.q(raw, phi).shape == (2, spec.actions)
    assert net.psi(raw, phi).shape == raw.shape
    assert net.predict(phi, torch.tensor([0, 1])).shape == (2, *spec.frame_shape)


@pytest.mark.parametrize(("shape", "asked"), [((5, 5), "oh"), ((4,), "nature"), ((4,), "small")])
def test_layers_that_do_not_fit_are_refused(shape, asked):
    with pytest.raises(BadInput, match=f"network='{asked}' does not fit"):
        make(spec=Spec(shape, 2, True), network=asked)


def test_the_sr_head_can_do_without_biases():
    with_bias, without = (
        make(network="mlp", spec=Spec((3,), 2, False), sr_bias=b) for b in (True, False)
    )
    assert count(with_bias.sr_head) - count(without.sr_head) == 256 + 128
    nothing = torch.zeros(1, 128)
    assert not without.psi(nothing, nothing).any()


@pytest.mark.parametrize(("network", "shape"), [("mlp", (3,)), ("small", (5, 5))])
def test_features_without_biases_scale_with_what_is_seen(network, shape):
    spec = Spec(shape, 2, False)
    plain, without = (make(network=network, spec=spec, encoder_bias=b) for b in (True, False))
    assert any(name.endswith("bias") for name, _ in plain.encoder.named_parameters())
    assert not any(name.endswith("bias") for name, _ in without.encoder.named_parameters())
    seen = torch.rand(4, 4, *shape)
    raw, phi = without.features(seen)
    again, same = without.features(10.0 * seen)
    torch.testing.assert_close(again, 10.0 * raw)
    torch.testing.assert_close(same, phi)
    assert not without.features(torch.zeros_like(seen))[0].any()


def test_the_first_weights_are_multiplied():
    spec = Spec((3,), 2, False)
    torch.manual_seed(5)
    plain = make(network="mlp", spec=spec)
    torch.manual_seed(5)
    small = make(network="mlp", spec=spec, first_weights=0.01)
    for (name, whole), (_, part) in zip(
        plain.named_parameters(), small.named_parameters(), strict=True
    ):
        factor = 0.01 if name == "encoder.1.weight" else 1.0
        torch.testing.assert_close(part, factor * whole)
