"""The gradients that are written out against PyTorch's own, for every setting that changes them."""

import copy

import numpy as np
import pytest
import torch

from countless.agents.dqn.agents import make_config
from countless.agents.dqn.centre import BonusCentre
from countless.agents.dqn.dense import DenseLosses, has_written_gradients
from countless.agents.dqn.dense_values import DenseValues
from countless.agents.dqn.device import Device
from countless.agents.dqn.learner import Learner
from countless.agents.dqn.losses import TransitionTensors, compute_goals, compute_losses
from countless.agents.dqn.network import Network, Spec
from countless.agents.dqn.replay import Transitions

SPEC = Spec((3, 4), 3, pixels=False)
HISTORY, BATCH = 2, 8
SETTINGS = {
    "as it is": {},
    "2-norm": {"norm": 2.0},
    "3-norm": {"norm": 3.0},
    "not normalised": {"normalise": False},
    "SR of normalised features": {"sr_input": "normalised"},
    "SR without biases": {"sr_bias": False},
    "features without biases": {"encoder_bias": False},
    "nothing new speaks": {"encoder_bias": False, "sr_bias": False, "first_weights": 0.3},
    "SR of what comes next": {"sr_target": "next"},
    "SR that continues": {"sr_terminal": "continue"},
    "a discount of the SR": {"gamma_sr": 0.5},
    "no Monte Carlo": {"tau": 0.0},
    "much Monte Carlo": {"tau": 0.7},
    "bonus when sampled": {"bonus_from": "sampled"},
    "centred bonus": {"bonus_centre": "limit"},
    "square loss": {"td_loss": "square"},
    "ReLU on the factors": {"factor_relu": True},
    "scaled input": {"input_scale": 3.0},
    "other weights": {"w_td": 0.3, "w_sr": 7.0, "w_reconstruction": 2.0},
    "predicts what changes": {"auxiliary": "changes"},
    "predicts features": {"auxiliary": "features"},
    "no reconstruction": {"reconstruction": False},
    "no SR": {"sr": False, "bonus": "off"},
    "values only": {"sr": False, "bonus": "off", "reconstruction": False, "normalise": False},
}


def transitions(random, continues):
    def floats(*shape):
        return torch.from_numpy(random.normal(size=shape).astype(np.float32))

    def bits():
        return torch.from_numpy((random.random(BATCH) < 0.4).astype(np.float32))

    return TransitionTensors(
        s=floats(2 * BATCH, HISTORY, *SPEC.frame_shape),
        frame_t=floats(BATCH, *SPEC.frame_shape),
        a_tm1=torch.from_numpy(random.integers(SPEC.actions, size=BATCH)),
        r_t=floats(BATCH),
        r_int_t=floats(BATCH).abs() * bits(),
        g_tm1=3.0 * floats(BATCH),
        terminal_t=bits(),
        s_next=floats(BATCH, HISTORY, *SPEC.frame_shape) if continues else None,
        continues_t=bits() if continues else None,
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_gradients_equal_those_of_pytorch(name):
    settings = {"network": "mlp", "width": 0.25, "history": HISTORY} | SETTINGS[name]
    config = make_config("dqn-mmc-sr", parameters=settings)
    torch.manual_seed(0)
    target = Network(SPEC, config.architecture).requires_grad_(False)
    network = Network(SPEC, config.architecture)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
        last = network.encoder[-2]
        last.weight[0] = 0.0  # a feature that is always zero
        if last.bias is not None:
            last.bias[0] = 0.0
    reference = copy.deepcopy(network)
    assert has_written_gradients(network, config.losses)
    dense = DenseLosses(network, config.losses)
    for seed in range(3):  # nothing is left of the batch before
        batch = transitions(np.random.default_rng(seed), config.losses.sr_terminal == "continue")
        given = (config.losses, config.rewards, BonusCentre(config.rewards).affine)
        expected = compute_losses(reference, target, batch, *given)
        reference.zero_grad(set_to_none=True)
        expected.total.backward()
        found = dense.with_gradients(batch, compute_goals(target, batch, *given))
        for part in ("total", "td", "sr", "reconstruction", "q"):
            theirs = getattr(expected, part)
            ours = getattr(found, part)
            assert (theirs is None) == (ours is None)
            if ours is not None:
                torch.testing.assert_close(ours, theirs.detach(), rtol=1e-5, atol=1e-6)
        parameters = dict(network.named_parameters())
        for key, parameter in reference.named_parameters():
            largest = float(parameter.grad.abs().max())
            assert largest > 0.0
            torch.testing.assert_close(
                parameters[key].grad, parameter.grad, rtol=1e-5, atol=1e-5 * largest, msg=key
            )


def test_a_feature_vector_of_zeros_has_no_gradient():
    config = make_config("dqn-mmc-sr", parameters={"network": "mlp", "history": HISTORY})
    network = Network(SPEC, config.architecture)
    with torch.no_grad():
        network.encoder[-2].weight.fill_(0.0)
        network.encoder[-2].bias.fill_(-1.0)
    batch = transitions(np.random.default_rng(0), False)
    dense = DenseLosses(network, config.losses)
    dense.with_gradients(
        batch, compute_goals(copy.deepcopy(network), batch, config.losses, config.rewards)
    )
    gradients = [weight.grad for weight in network.encoder.parameters()]
    assert all(torch.equal(gradient, torch.zeros_like(gradient)) for gradient in gradients)


@pytest.mark.parametrize(
    ("settings", "spec", "written"),
    [
        ({"network": "mlp"}, SPEC, True),
        ({"network": "small"}, SPEC, False),
        ({"network": "nature", "width": 0.1}, Spec((84, 84), 3, pixels=True), False),
        ({"network": "mlp", "w_sr": 0.0}, SPEC, False),
        ({"network": "mlp", "w_reconstruction": 0.0}, SPEC, False),
        ({"network": "mlp", "norm": float("inf")}, SPEC, False),
        ({"network": "mlp", "norm": float("inf"), "normalise": False}, SPEC, True),
        ({"network": "mlp", "layer_norm": True}, SPEC, False),
        ({"network": "mlp", "norm_gradient": False}, SPEC, False),
        ({"network": "mlp", "q_reads": "raw"}, SPEC, False),
        ({"network": "mlp", "q_hidden": 8}, SPEC, False),
    ],
)
def test_for_which_networks_they_are_written(settings, spec, written):
    config = make_config("dqn-mmc-sr", parameters=settings)
    network = Network(spec, config.architecture)
    assert has_written_gradients(network, config.losses) == written


def random_batch():
    random = np.random.default_rng(0)
    numbers = [random.random(BATCH).astype(np.float32) for _ in range(3)]
    return Transitions(
        random.random((2 * BATCH, HISTORY, *SPEC.frame_shape), dtype=np.float32),
        random.integers(SPEC.actions, size=BATCH),
        *numbers,
        np.zeros(BATCH, bool),
    )


@pytest.mark.parametrize("optimiser", ["adam", "rmsprop"])
def test_a_learner_steps_as_with_pytorchs_gradients(optimiser, monkeypatch):
    config = make_config(
        "dqn-mmc-sr", parameters={"network": "mlp", "history": HISTORY, "optimiser": optimiser}
    )
    written = Learner(SPEC, config, Device(), 0)
    monkeypatch.setattr("countless.agents.dqn.learner.has_written_gradients", lambda *_: False)
    usual = Learner(SPEC, config, Device(), 0)
    batch = random_batch()
    for _ in range(5):
        ours, theirs = written.update(batch), usual.update(batch)
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, rtol=1e-4, atol=1e-5)
    kept, expected = written.tensors_to_keep(), usual.tensors_to_keep()
    for file, tensors in expected.items():
        assert list(kept[file]) == list(tensors)
        for name, value in tensors.items():
            torch.testing.assert_close(kept[file][name], value, rtol=1e-3, atol=1e-4, msg=name)


def test_what_a_learner_keeps_brings_another_to_where_it_is():
    config = make_config(
        "dqn-mmc-sr", parameters={"network": "mlp", "history": HISTORY, "optimiser": "adam"}
    )
    batch = random_batch()
    learner, other = (Learner(SPEC, config, Device(), seed) for seed in (0, 1))
    for _ in range(3):
        learner.update(batch)
    kept = copy.deepcopy(learner.tensors_to_keep())
    learner.update(batch)
    other.load_tensors(kept)
    other.update(batch)
    for ours, theirs in zip(learner.network.parameters(), other.network.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    "settings",
    [{}, {"norm": 2.0}, {"normalise": False}, {"input_scale": 9.0}, {"encoder_bias": False}],
)
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_values_to_act_by_are_those_of_the_network(settings, dtype):
    config = make_config("dqn-mmc-sr", parameters={"network": "mlp", "history": HISTORY} | settings)
    network = Network(SPEC, config.architecture)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    values = DenseValues(network, DenseLosses(network, config.losses).parameters)
    random = np.random.default_rng(0)
    for _ in range(2):  # they follow what is learned
        for size in (1, 3):
            seen = random.integers(0, 200, (size, HISTORY, *SPEC.frame_shape)).astype(dtype)
            with torch.no_grad():
                expected = network.values(Device().observations(seen)).numpy()
            np.testing.assert_allclose(values.q(seen), expected, rtol=1e-4, atol=1e-4)
        with torch.no_grad():
            network.q_head.weight += 1.0
