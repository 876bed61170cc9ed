"""Choosing a device, and observations on their way there."""

import subprocess

import numpy as np
import pytest
import torch

from countless.agents.dqn import device
from countless.agents.dqn.agents import make_config
from countless.agents.dqn.device import (
    PRECISIONS,
    Device,
    available,
    make_device,
    torch_threads,
    tune_process,
)
from countless.agents.dqn.learner import Learner
from countless.agents.dqn.network import Spec
from countless.agents.dqn.replay import Transitions
from countless.core.errors import BadInput


@pytest.mark.parametrize("history", [1, 3, 4])
def test_grey_levels_become_numbers_channels_last(history):
    levels = np.random.default_rng(0).integers(0, 256, (5, history + 1, 7, 6), np.uint8)
    seen = Device().observations(levels[:, 1:])
    assert seen.shape == (5, history, 7, 6)
    assert seen.is_contiguous(memory_format=torch.channels_last)
    expected = torch.from_numpy(levels[:, 1:]).to(torch.float32) / 255
    torch.testing.assert_close(seen, expected, rtol=1e-6, atol=0)


def test_lit_cells_are_scaled_and_vectors_are_not():
    cells = np.array([[[0, 51, 255]]], np.uint8)
    torch.testing.assert_close(Device().observations(cells), torch.tensor([[[0.0, 0.2, 1.0]]]))
    vector = np.array([[[0.0, 51.0, -255.0]]], np.float32)
    torch.testing.assert_close(Device().observations(vector), torch.from_numpy(vector))


def test_threads_are_given_back(monkeypatch):
    monkeypatch.setattr(device.ctypes, "CDLL", None)  # malloc is not touched
    before = torch.get_num_threads()
    with torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before

    def fails():
        with torch_threads(before + 1):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert torch.get_num_threads() == before


def test_a_process_of_our_own_is_tuned_for_good(monkeypatch):
    set_options = []

    class Library:
        def __init__(self, name):
            self.mallopt = lambda option, value: set_options.append(option)

    monkeypatch.setattr(device.ctypes, "CDLL", Library)
    before = torch.get_num_threads()
    tune_process(before + 1)
    assert torch.get_num_threads() == before + 1
    assert set_options == [device.M_MMAP_THRESHOLD, device.M_TRIM_THRESHOLD]


def test_devices_by_name():
    assert available()[0] == "cpu"
    assert make_device("auto").name == available()[-1]
    with pytest.raises(BadInput, match="there is no device 'cuda:99' here"):
        make_device("cuda:99")
    with pytest.raises(BadInput, match="precision must be one of"):
        make_device("cpu", precision="float16")


def test_mixed_precision_computes_in_bfloat16():
    layer = torch.nn.Linear(4, 4)
    with Device(precision="bfloat16").autocast():
        assert layer(torch.ones(1, 4)).dtype == torch.bfloat16
    with Device().autocast():
        assert layer(torch.ones(1, 4)).dtype == torch.float32


@pytest.mark.parametrize(("code", "works"), [(0, True), (1, False), (-4, False)])
def test_a_cpu_that_cannot_do_bfloat16_is_found_out(monkeypatch, code, works):
    done = subprocess.CompletedProcess([], code)
    monkeypatch.setattr(device.subprocess, "run", lambda *arguments, **more: done)
    device._try_bfloat16.cache_clear()
    if works:
        assert make_device("cpu", "bfloat16").precision == "bfloat16"
    else:
        with pytest.raises(BadInput, match="bfloat16 does not work on this CPU"):
            make_device("cpu", "bfloat16")
    device._try_bfloat16.cache_clear()


def test_learning_in_mixed_precision_is_learning_rounded():
    """Layers too small for the matrix units that some virtual machines forbid."""
    config = make_config("dqn-mmc-sr", parameters={"width": 0.0625, "history": 2})
    spec = Spec((4,), 3, pixels=False)
    random = np.random.default_rng(0)
    frames = random.random((16, 2, 4), dtype=np.float32)
    numbers = [random.random(8).astype(np.float32) for _ in range(3)]
    batch = Transitions(frames, random.integers(3, size=8), *numbers, np.zeros(8, bool))
    exact, mixed = (Learner(spec, config, Device(precision=p), 0) for p in PRECISIONS)
    rounded = mixed.update(batch)
    for name, value in exact.update(batch).items():
        assert float(rounded[name]) == pytest.approx(float(value), rel=0.05, abs=1e-4)
    for ours, theirs in zip(exact.network.parameters(), mixed.network.parameters(), strict=True):
        assert ours.dtype == theirs.dtype == torch.float32
