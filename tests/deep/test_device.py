"""Choosing a device, and observations on their way there."""

import numpy as np
import pytest
import torch

from countless.core.errors import BadInput
from countless.deep.device import Device, available, make_device


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


def test_devices_by_name():
    assert available()[0] == "cpu"
    assert make_device("auto").name == available()[-1]
    with pytest.raises(BadInput, match="there is no device 'cuda:99' here"):
        make_device("cuda:99")
    with pytest.raises(BadInput, match="precision must be one of"):
        make_device("cpu", precision="float16")


def test_mixed_precision_computes_in_bfloat16():
    layer = torch.nn.Linear(4, 4)
    with make_device("cpu", precision="bfloat16").autocast():
        assert layer(torch.ones(1, 4)).dtype == torch.bfloat16
    with make_device("cpu").autocast():
        assert layer(torch.ones(1, 4)).dtype == torch.float32
