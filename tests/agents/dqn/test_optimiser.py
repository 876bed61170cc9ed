"""Centred RMSProp against its equations in float64, and the two ways it is computed."""

import numpy as np
import pytest
import torch

from countless.agents.dqn import optimiser as module
from countless.agents.dqn.config import LearningConfig
from countless.agents.dqn.optimiser import Adam, CentredRMSProp, make_optimiser

LR, DECAY, EPSILON = 0.01, 0.9, 0.01


def literal(weight, gradients, lr=LR, decay=DECAY, epsilon=EPSILON):
    """The docstring's three lines, one number at a time."""
    weight = np.array(weight, np.float64)
    mean, square = np.zeros_like(weight), np.ones_like(weight)
    for gradient in gradients:
        for i, d in np.ndenumerate(np.asarray(gradient, np.float64)):
            mean[i] = decay * mean[i] + (1 - decay) * d
            square[i] = decay * square[i] + (1 - decay) * d * d
            weight[i] -= lr * d / np.sqrt(square[i] - mean[i] ** 2 + epsilon)
    return weight, mean, square


def stepped(weight, gradients, **settings):
    parameter = torch.nn.Parameter(torch.from_numpy(np.array(weight, np.float32)))
    options = {"lr": LR, "decay": DECAY, "epsilon": EPSILON} | settings
    optimiser = CentredRMSProp([parameter], **options)
    for gradient in gradients:
        parameter.grad = torch.from_numpy(np.array(gradient, np.float32))
        optimiser.step()
    return parameter, optimiser.state[parameter]


def test_two_steps_by_hand():
    # m: 1 -> .5 + .5 * 4 = 2.5 -> 1.25 + .5 * 1 = 1.75;  g: 0 -> 1 -> 0
    parameter, state = stepped([10.0], [[2.0], [-1.0]], lr=1.0, decay=0.5, epsilon=0.25)
    expected = 10.0 - 2.0 / np.sqrt(2.5 - 1.0 + 0.25) + 1.0 / np.sqrt(1.75 - 0.0 + 0.25)
    assert parameter.item() == pytest.approx(expected, rel=1e-6)
    assert state["square"].item() == pytest.approx(1.75)
    assert state["mean"].item() == pytest.approx(0.0, abs=1e-7)


def test_the_second_moment_starts_at_one_and_epsilon_stands_inside_the_root():
    parameter, state = stepped([0.0], [])
    assert (state["mean"].item(), state["square"].item()) == (0.0, 1.0)
    parameter, _ = stepped([0.0], [[1e-4]], lr=1.0, decay=0.0, epsilon=0.04)
    # decay 0: m - g^2 = 0, so the step is d / sqrt(epsilon), not d / epsilon.
    assert parameter.item() == pytest.approx(-1e-4 / 0.2, rel=1e-5)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4, 5)])
def test_many_steps_equal_the_equations(shape):
    random = np.random.default_rng(0)
    weight = random.normal(size=shape)
    gradients = [random.normal(size=shape) * 10.0 ** random.integers(-4, 2) for _ in range(20)]
    parameter, state = stepped(weight, gradients)
    for ours, exact in zip(
        (parameter.detach(), state["mean"], state["square"]),
        literal(weight, gradients),
        strict=True,
    ):
        np.testing.assert_allclose(ours.numpy(), exact, rtol=2e-5, atol=2e-6)


def test_the_compiled_pass_equals_the_torch_operations(monkeypatch):
    random = np.random.default_rng(1)
    gradients = random.normal(size=(10, 100))
    compiled, one = stepped(np.zeros(100), gradients)
    monkeypatch.setattr(module, "_update_cpu", module._update)
    operations, other = stepped(np.zeros(100), gradients)
    for a, b in (
        (compiled.detach(), operations.detach()),
        *zip(one.values(), other.values(), strict=True),
    ):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("threads", [1, 2])
def test_chunks_and_threads_change_no_bit(monkeypatch, threads):
    random = np.random.default_rng(2)
    gradients = random.normal(size=(3, 1000))
    whole, _ = stepped(np.ones(1000), gradients)
    monkeypatch.setattr(module, "CHUNK", 77)
    torch.set_num_threads(threads)
    parts, _ = stepped(np.ones(1000), gradients)
    assert torch.equal(whole, parts)


def test_memory_order_does_not_matter():
    random = np.random.default_rng(3)
    values = torch.from_numpy(random.normal(size=(4, 3, 5, 5)).astype(np.float32))
    gradients = torch.from_numpy(random.normal(size=(5, 4, 3, 5, 5)).astype(np.float32))
    results = []
    for weight_format in (torch.contiguous_format, torch.channels_last):
        for gradient_format in (torch.contiguous_format, torch.channels_last):
            weight = torch.nn.Parameter(values.clone(memory_format=weight_format))
            optimiser = CentredRMSProp([weight], LR, DECAY, EPSILON)
            for gradient in gradients:
                weight.grad = gradient.clone(memory_format=gradient_format)
                optimiser.step()
            results.append(weight.detach())
    assert all(torch.equal(results[0], other) for other in results[1:])


def test_a_parameter_without_a_gradient_stays():
    weight = torch.nn.Parameter(torch.ones(3))
    optimiser = CentredRMSProp([weight], LR, DECAY, EPSILON)
    optimiser.step()
    assert torch.equal(weight.detach(), torch.ones(3))
    assert torch.equal(optimiser.state[weight]["square"], torch.ones(3))


@pytest.mark.parametrize("way", ["_update_cpu", "_update"])
def test_rounding_leaves_the_root_positive(monkeypatch, way):
    # Large gradients that hardly change: m - g^2 is far below the rounding of either.
    monkeypatch.setattr(module, "_update_cpu", getattr(module, way))
    random = np.random.default_rng(4)
    gradient = 30.0 * random.normal(size=2000)
    gradients = [gradient * (1.0 + 1e-4 * random.normal(size=2000)) for _ in range(300)]
    parameter, _ = stepped(np.zeros(2000), gradients + [gradient] * 300, epsilon=0.01 / 32**2)
    assert torch.isfinite(parameter).all()


def adam(weight, gradients, kind=None):
    parameter = torch.nn.Parameter(torch.from_numpy(np.array(weight, np.float32)))
    optimiser = Adam([parameter], lr=LR) if kind is None else kind([parameter], lr=LR)
    for gradient in gradients:
        parameter.grad = torch.from_numpy(np.array(gradient, np.float32))
        optimiser.step()
    return parameter.detach(), optimiser.state[parameter]


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4, 5)])
def test_adam_is_pytorchs(shape):
    random = np.random.default_rng(0)
    weight = random.normal(size=shape)
    gradients = [random.normal(size=shape) * 10.0 ** random.integers(-6, 2) for _ in range(50)]
    ours, state = adam(weight, gradients)
    theirs, kept = adam(weight, gradients, torch.optim.Adam)
    torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=2e-6)
    torch.testing.assert_close(state["mean"], kept["exp_avg"], rtol=2e-5, atol=1e-7)
    torch.testing.assert_close(state["square"], kept["exp_avg_sq"], rtol=2e-5, atol=1e-9)
    assert state["steps"].item() == 50


def test_chunks_change_no_bit_of_adam(monkeypatch):
    gradients = np.random.default_rng(2).normal(size=(3, 1000))
    whole, _ = adam(np.ones(1000), gradients)
    monkeypatch.setattr(module, "CHUNK", 77)
    assert torch.equal(whole, adam(np.ones(1000), gradients)[0])


def test_the_configuration_names_the_optimiser():
    weight = torch.nn.Parameter(torch.zeros(1))
    usual = make_optimiser([weight], LearningConfig())
    assert isinstance(usual, CentredRMSProp)
    assert usual.settings["epsilon"] == 0.01 / 32**2
    other = make_optimiser([weight], LearningConfig(optimiser="adam", learning_rate=0.5))
    assert isinstance(other, Adam)
    assert other.settings["lr"] == 0.5
