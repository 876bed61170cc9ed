"""CTS against its literal twin, its normalisation, and how pseudo-counts behave."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countless.bonuses import make_bonus
from countless.bonuses.images import area_mean, quantise
from countless.core.errors import BadInput
from oracles.cts import LEVELS, DensityModel


def frames(rng, count, size, kinds=LEVELS):
    """Images whose pixels take a few grey levels, so that contexts come back."""
    return rng.integers(0, kinds, (count, size, size)).astype(np.uint8) * 32


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(2, 8))
def test_it_is_the_literal_recursion(seed, size, kinds):
    rng = np.random.default_rng(seed)
    images = frames(rng, 25, size, kinds)
    bonus = make_bonus("cts", (size, size), size=size)
    twin = DensityModel(size, size)
    for image in images:
        assert bonus.log_probability(image[None])[0] == pytest.approx(
            twin.log_probability(image // 32), rel=1e-10
        )
        asked = bonus.pseudo_count(image[None])[0]
        expected = twin.pseudo_count(image // 32)
        assert asked == pytest.approx(expected, rel=1e-6)
        assert bonus.observe(image[None])[0] == pytest.approx(
            0.05 * (expected + 0.01) ** -0.5, rel=1e-6
        )


def test_probabilities_of_all_images_sum_to_one():
    """2 x 2 pixels of 8 levels: 4,096 images, before and after learning."""
    everything = np.array(list(itertools.product(range(8), repeat=4)), np.uint8).reshape(-1, 2, 2)
    bonus = make_bonus("cts", (2, 2), size=2)
    for _ in range(3):
        assert np.exp(bonus.log_probability(everything * 32)).sum() == pytest.approx(1.0, rel=1e-9)
        bonus.update(frames(np.random.default_rng(0), 40, 2, 3))


def test_every_node_of_the_twin_is_normalised():
    twin = DensityModel(3, 3)
    rng = np.random.default_rng(1)
    for image in frames(rng, 60, 3, 3) // 32:
        twin.update(image)
    for node in twin.nodes():
        context = tuple(rng.integers(0, 8, 4 - node.depth))
        total = sum(math.exp(node.log_predict(x, context)) for x in range(LEVELS))
        assert total == pytest.approx(1.0, rel=1e-9)


def test_every_compiled_node_is_normalised():
    """Counts add up to their total, and the two weights to one."""
    bonus = make_bonus("cts", (6, 6), size=6)
    bonus.update(frames(np.random.default_rng(2), 80, 6, 4))
    state = bonus.state_dict()
    inner, leaves = state["inner"], state["leaves"]
    np.testing.assert_array_equal(inner[:, 8:16].sum(axis=1), inner[:, 16])
    np.testing.assert_array_equal(leaves[:, :8].sum(axis=1), leaves[:, 8])
    shares = inner.view(np.float64)[:, 9]
    assert (shares > 0).all()
    assert (shares < 1).all()
    assert inner[:36, 16].tolist() == [80] * 36


def test_the_count_of_a_constant_image_grows_by_one_a_visit():
    image = np.full((1, 1, 1), 200, np.uint8)
    bonus = make_bonus("cts", (1, 1), size=1)
    counts = []
    for _ in range(50):
        counts.append(bonus.pseudo_count(image)[0])
        bonus.update(image)
    np.testing.assert_allclose(np.diff(counts), 1.0, atol=0.15)


def test_a_large_constant_image_is_slower_but_gets_there():
    image = np.full((1, 84, 84), 200, np.uint8)
    bonus = make_bonus("cts", (84, 84))
    for _ in range(300):
        bonus.update(np.repeat(image, 32, axis=0))
    first = bonus.pseudo_count(image)[0]
    for _ in range(10):
        bonus.update(np.repeat(image, 10, axis=0))
    assert (bonus.pseudo_count(image)[0] - first) / 100 == pytest.approx(1.0, abs=0.15)


def test_a_novel_image_jumps():
    rng = np.random.default_rng(3)
    seen, novel = rng.integers(0, 256, (2, 1, 84, 84), dtype=np.uint8)
    bonus = make_bonus("cts", (84, 84))
    first = bonus.observe(seen)[0]
    for _ in range(50):
        bonus.update(np.repeat(seen, 10, axis=0))
    known = bonus.compute(seen)[0]
    assert known < first / 10
    assert bonus.compute(novel)[0] > 10 * known
    patched = seen.copy()
    patched[0, 20:28, 30:38] ^= 128
    assert bonus.compute(patched)[0] > 5 * known


def test_memory_is_bounded_and_reported():
    bonus = make_bonus("cts", (8, 8), size=8, megabytes=0.05)
    metrics = {}
    for seed in range(30):
        metrics = bonus.update(frames(np.random.default_rng(seed), 8, 8))
    assert bonus.memory() <= 0.05 * 2**20
    assert 0.01 < metrics["megabytes"] <= bonus.memory() / 2**20
    assert metrics["refused_nodes"] > 0
    assert np.isfinite(bonus.compute(frames(np.random.default_rng(99), 4, 8))).all()
    with pytest.raises(BadInput, match="64 trees need megabytes="):
        make_bonus("cts", (8, 8), size=8, megabytes=0.001)


def test_broken_trees_are_refused():
    bonus = make_bonus("cts", (4, 4), size=4)
    bonus.update(frames(np.random.default_rng(0), 3, 4))
    for change in (10**6, -1):
        state = bonus.state_dict()
        state["inner"][0, 0] = change
        with pytest.raises(BadInput, match="the trees of this state are broken"):
            make_bonus("cts", (4, 4), size=4).load_state_dict(state)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 12))
def test_area_mean_keeps_the_mean_and_the_range(height, width, size):
    rng = np.random.default_rng(height * 1000 + width)
    image = rng.integers(0, 256, (2, height, width), dtype=np.uint8)
    small = area_mean(image, size)
    np.testing.assert_allclose(small.mean(axis=(1, 2)), image.mean(axis=(1, 2)), rtol=1e-5)
    assert small.min() >= image.min() - 1e-3
    assert small.max() <= image.max() + 1e-3


def test_quantise_is_an_integer_division_of_the_mean_by_32():
    image = np.random.default_rng(0).integers(0, 256, (5, 84, 84), dtype=np.uint8)
    sums = image.reshape(5, 42, 2, 42, 2).astype(int).sum(axis=(2, 4))
    np.testing.assert_array_equal(quantise(image, 42, 8), sums // (4 * 32))
    stack = np.concatenate([np.zeros_like(image)[:, None], image[:, None]], axis=1)
    np.testing.assert_array_equal(quantise(stack, 42, 8), quantise(image, 42, 8))
