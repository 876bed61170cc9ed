"""RND: what is normalised by what, and that errors fall where it has been."""

import numpy as np
import pytest
import torch

from countless.bonuses import make_bonus
from countless.bonuses.networks.inputs import area_mean, make_device
from countless.bonuses.networks.rnd import make_predictor, make_target
from countless.bonuses.networks.running import RunningStatistics
from countless.core.errors import BadInput


def test_the_published_networks():
    target, predictor = make_target((1, 84, 84), 512), make_predictor((1, 84, 84), 512)
    assert [tuple(p.shape) for p in target.parameters() if p.ndim > 1] == [
        (32, 1, 8, 8), (64, 32, 4, 4), (64, 64, 3, 3), (512, 3136)
    ]  # fmt: skip
    assert [tuple(p.shape) for p in predictor.parameters() if p.ndim == 2] == [
        (512, 3136), (512, 512), (512, 512)
    ]  # fmt: skip
    assert not any(p.requires_grad for p in target.parameters())
    weights = next(iter(predictor.parameters())).reshape(32, 64).detach()
    torch.testing.assert_close(weights @ weights.T, 2 * torch.eye(32), atol=1e-4, rtol=0)


def test_error_falls_on_seen_and_stays_on_unseen():
    rng = np.random.default_rng(0)
    seen, unseen = rng.integers(0, 256, (2, 16, 42, 42), dtype=np.uint8)
    bonus = make_bonus("rnd", (42, 42), size=42, warm_up=0, features=128, lr=1e-3, seed=1)
    bonus.update(np.concatenate([seen, unseen]))  # statistics of all pixels
    before = bonus.compute(seen).mean(), bonus.compute(unseen).mean()
    for _ in range(60):
        bonus.update(seen)
    after = bonus.compute(seen).mean(), bonus.compute(unseen).mean()
    assert after[0] < 0.1 * before[0]
    assert after[1] > 0.5 * before[1]
    assert after[1] > 5 * after[0]


def test_moments_are_those_of_all_values():
    values = torch.as_tensor(np.random.default_rng(0).normal(3.0, 2.0, (1000, 4)))
    moments = RunningStatistics((4,), torch.device("cpu"))
    for chunk in values.split([1, 9, 90, 900]):
        moments.add(chunk)
    torch.testing.assert_close(moments.mean, values.mean(0), rtol=1e-5, atol=0)
    torch.testing.assert_close(moments.variance, values.var(0, correction=0), rtol=1e-4, atol=0)


def test_raw_pixels_are_normalised_and_clipped():
    """Statistics come from raw pixels: afterwards the input has mean 0, SD 1, and no more than 5."""
    bonus = make_bonus("rnd", (36, 36), size=36, warm_up=0, features=16)
    images = np.random.default_rng(0).integers(0, 256, (400, 36, 36), dtype=np.uint8)
    bonus.update(images)
    values = bonus._normalised(bonus._input(images))
    assert float(values.mean()) == pytest.approx(0.0, abs=1e-3)
    assert float(values.std()) == pytest.approx(1.0, abs=1e-2)
    images[0] = 0
    images[1:] = 100
    steady = make_bonus("rnd", (36, 36), size=36, warm_up=0, features=16)
    steady.update(images[1:])
    assert float(steady._normalised(steady._input(images[:1])).min()) == -5.0


@pytest.mark.parametrize("call", ["observe", "update"])
def test_statistics_are_those_of_raw_pixels(call):
    bonus = make_bonus("rnd", (36, 36), size=36, warm_up=0, features=16)
    images = np.random.default_rng(0).integers(0, 256, (40, 36, 36), dtype=np.uint8)
    for chunk in np.split(images, 4):
        getattr(bonus, call)(chunk)
    state = bonus.state_dict()
    np.testing.assert_allclose(state["pixels.mean"][0], images.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(state["pixels.variance"][0], images.var(axis=0), rtol=1e-2)


def test_the_unit_is_the_sd_of_discounted_sums():
    bonus = make_bonus("rnd", (3,), warm_up=0, features=8, gamma=0.9, beta=1.0)
    rng = np.random.default_rng(0)
    sums, seen = np.zeros(4), []
    for _ in range(50):
        values = rng.normal(size=(4, 3))
        given = bonus.observe(values)
        errors = given * float(bonus._scale.deviation())
        sums = 0.9 * sums + errors
        seen.append(sums)
        assert float(bonus._scale.deviation()) == pytest.approx(np.std(seen), rel=0.05)


def test_the_first_frames_only_warm_up():
    bonus = make_bonus("rnd", (3,), warm_up=10, features=8)
    before = bonus.state_dict()
    assert bonus.observe(np.ones((10, 3))).tolist() == [0.0] * 10
    for key, value in bonus.state_dict().items():
        if key.startswith(("predictor", "adam")):
            np.testing.assert_array_equal(value, before[key])
    assert bonus.observe(np.zeros((10, 3))).min() > 0


def test_two_seeds_differ():
    values = np.ones((1, 3))
    first, second = (make_bonus("rnd", (3,), warm_up=0, seed=s).compute(values) for s in (0, 1))
    assert first[0] != second[0]


def test_a_device_that_is_not_there():
    with pytest.raises(BadInput, match="device 'nonsense' cannot be used"):
        make_device("nonsense")
    with pytest.raises(BadInput, match="device 'nonsense' cannot be used"):
        make_bonus("rnd", (3,), device="nonsense")


def test_area_mean_is_that_of_the_density_models():
    from countless.bonuses.images import area_mean as in_numpy

    images = np.random.default_rng(0).integers(0, 256, (2, 30, 50), dtype=np.uint8)
    for size in (10, 21, 40):
        ours = area_mean(torch.as_tensor(images, dtype=torch.float32), size)
        np.testing.assert_allclose(ours.numpy(), in_numpy(images, size), rtol=1e-5)
