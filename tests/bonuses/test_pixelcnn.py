"""PixelCNN: causality, its density, its optimiser written out, and its gains."""

import math

import numpy as np
import pytest
import torch

from countless.bonuses import make_bonus
from countless.bonuses.networks.pixelcnn import PixelCNN, RMSProp
from countless.core.errors import BadInput


def images(seed, count, size=8):
    return np.random.default_rng(seed).integers(0, 256, (count, size, size), dtype=np.uint8)


@pytest.mark.parametrize("kernel", [1, 3])
def test_no_pixel_sees_itself_or_the_future(kernel):
    torch.manual_seed(0)
    network = PixelCNN(maps=4, blocks=2, kernel=kernel)
    levels = torch.randint(0, 8, (1, 9, 9)).to(torch.float32).requires_grad_()
    order = torch.arange(81).reshape(9, 9)
    reach = set()
    for y, x in [(0, 0), (0, 5), (4, 0), (4, 4), (8, 8), (3, 8)]:
        (gradient,) = torch.autograd.grad(network(levels)[0, :, y, x].abs().sum(), levels)
        seen = gradient[0] != 0
        assert not seen[order >= order[y, x]].any()
        reach |= {(y - int(i), x - int(j)) for i, j in seen.nonzero()}
    assert {(0, 1), (1, 0), (1, 1), (1, -1), (3, 3)} <= reach
    # 7 x 7 pixels reach three back; every 3 x 3 of two blocks adds one.
    assert max(back for back, _ in reach) == (3 if kernel == 1 else 5)


def test_a_kernel_has_a_middle():
    with pytest.raises(BadInput, match="kernel must be odd, not 4"):
        make_bonus("pixelcnn", (8, 8), kernel=4)


def test_probabilities_sum_to_one_over_all_images():
    """1 x 2 pixels are read as 2 x 2: all 4,096 images of 2 x 2."""
    bonus = make_bonus("pixelcnn", (2, 2), size=2, maps=4)
    bonus.update(images(0, 20, 2))
    every = np.stack(np.meshgrid(*[np.arange(8)] * 4), axis=-1).reshape(-1, 2, 2).astype(np.uint8)
    assert np.exp(bonus.log_probability(every * 32)).sum() == pytest.approx(1.0, rel=1e-4)


def test_the_optimiser_is_its_equation():
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 1, bias=False)
    weight, v, m = layer.weight.detach().double().clone(), torch.zeros(1, 3), torch.zeros(1, 3)
    optimiser = RMSProp(layer, lr=0.1)
    for step in range(5):
        x = torch.tensor([[1.0, -2.0, 0.5]]) * (step + 1)
        optimiser.step((layer(x) ** 2).sum())
        gradient = 2 * (weight @ x.double().T) * x.double()
        v = 0.95 * v + 0.05 * gradient**2
        m = 0.9 * m + 0.1 * gradient / torch.sqrt(v + 1e-4)
        weight = weight - m
        torch.testing.assert_close(layer.weight.detach().double(), weight, rtol=1e-4, atol=1e-5)


def test_bonus_is_the_formula():
    bonus = make_bonus("pixelcnn", (8, 8), size=8, c=0.3, most=np.inf)
    for n, image in enumerate(images(1, 6), start=1):
        before = bonus.log_probability(image[None])[0]
        asked = bonus.compute(image[None])[0]
        given = bonus.observe(image[None])[0]
        gain = bonus.log_probability(image[None])[0] - before
        expected = math.sqrt(math.expm1(0.3 / math.sqrt(n) * max(gain, 0.0)))
        assert asked == given
        assert given == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_its_own_update_gains_on_average():
    base = images(2, 4, 42)
    bonus = make_bonus("pixelcnn", (42, 42))
    gains = []
    for _ in range(5):
        gains += [bonus.update(image[None])["prediction_gain"] for image in base]
    assert np.mean(gains) > 0
    assert np.mean(np.array(gains) >= 0) > 0.7


def test_a_frame_seen_often_pays_less_than_a_novel_one():
    seen, novel = (np.full((1, 42, 42), level, np.uint8) for level in (40, 200))
    seen[:, 10:20, 10:30] = 120
    novel[:, ::2] = 10
    bonus = make_bonus("pixelcnn", (42, 42), most=np.inf)
    first = bonus.observe(seen)[0]
    for _ in range(25):
        bonus.update(np.repeat(seen, 4, axis=0))
    assert bonus.compute(seen)[0] < 0.5 * first
    assert bonus.compute(novel)[0] > 10 * bonus.compute(seen)[0]


def test_the_bonus_is_cut():
    bonus = make_bonus("pixelcnn", (42, 42), c=100.0, most=0.5)
    assert bonus.observe(images(4, 1, 42)).tolist() == [0.5]
