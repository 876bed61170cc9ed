"""The tabular SR norm against Eq. 4 written out, and its streams."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countless.bonuses import Batch, make_bonus
from countless.core.errors import BadInput


def literal_sr(n, transitions, eta, gamma):
    """Eq. 4 of the paper, entry by entry."""
    psi = np.zeros((n, n))
    for s, s_next, done in transitions:
        old = psi.copy()
        for j in range(n):
            follow = 0.0 if done else gamma * old[s_next, j]
            psi[s, j] = old[s, j] + eta * (float(s == j) + follow - old[s, j])
    return psi


@given(st.integers(0, 10**6), st.sampled_from([1.0, 2.0, 3.5, np.inf]))
def test_it_is_equation_4(seed, norm):
    rng = np.random.default_rng(seed)
    bonus = make_bonus("sr-norm", 5, norm=norm, eta=0.3, gamma=0.9, beta=2.0)
    states, after, dones = rng.integers(0, 5, 60), rng.integers(0, 5, 60), rng.random(60) < 0.1
    bonus.update(Batch(states, after, dones=dones))
    psi = literal_sr(5, zip(states, after, dones, strict=True), 0.3, 0.9)
    norms = np.linalg.norm(psi, ord=norm, axis=1)
    np.testing.assert_allclose(bonus.norms(), norms, rtol=1e-9, atol=1e-12)
    visited = np.unique(states)
    np.testing.assert_allclose(bonus.compute(visited), 2.0 / norms[visited], rtol=1e-9)


def test_first_visit_pays_beta_over_eta():
    bonus = make_bonus("sr-norm", 4, beta=100.0, eta=0.01)
    assert bonus.observe([2], next_observations=[3]).tolist() == [10_000.0]
    assert bonus.compute([0]).tolist() == [10_000.0]


@pytest.mark.parametrize("name", ["sr-norm", "ssr"])
def test_a_stream_is_its_transitions(name):
    linked, whole = make_bonus(name, 6), make_bonus(name, 6)
    path = np.random.default_rng(0).integers(0, 6, (40, 3))
    starts = np.random.default_rng(1).random((40, 3)) < 0.2
    for t in range(40):
        linked.observe(path[t], starts=starts[t])
        goes_on = ~starts[t]
        if t and goes_on.any():
            whole.update(Batch(path[t - 1][goes_on], path[t][goes_on]))
    np.testing.assert_array_equal(linked.compute(np.arange(6)), whole.compute(np.arange(6)))


@pytest.mark.parametrize("name", ["sr-norm", "ssr"])
def test_transitions_must_be_whole(name):
    bonus = make_bonus(name, 6)
    with pytest.raises(BadInput, match="the batch needs next_observations"):
        bonus.update([1, 2])
    with pytest.raises(BadInput, match="1 next observations for 2 observations"):
        bonus.update(Batch([1, 2], [3]))
    with pytest.raises(BadInput, match="3 flags for 2 observations"):
        bonus.update(Batch([1, 2], [3, 4], dones=[True, False, True]))
    bonus.observe([1, 2])
    with pytest.raises(BadInput, match="3 environments, but 2 in the last call"):
        bonus.observe([1, 2, 3])


def test_ssr_is_the_papers_penalty_up_to_a_constant():
    bonus = make_bonus("ssr", 5, gamma=0.9, beta=3.0)
    rng = np.random.default_rng(0)
    bonus.update(Batch(rng.integers(0, 5, 50), rng.integers(0, 5, 50)))
    penalty = np.array([bonus.ssr.bonus(s) for s in range(5)])
    np.testing.assert_allclose(bonus.compute(np.arange(5)), 3.0 * (10.0 + penalty))


def cycle(features):
    """One-hot features of three states in a ring, as transitions."""
    eye = np.eye(features, dtype=np.float32)
    return Batch(np.arange(3), np.array([1, 2, 0]), features=eye[:3], next_features=eye[[1, 2, 0]])


def test_a_head_on_features_learns_the_successor_features():
    """On a ring of three one-hot states psi is (I - gamma P)^-1: every 1-norm is 1 / (1 - gamma)."""
    bonus = make_bonus(
        "sr-norm", 3, form="features", features=3, gamma=0.8, width=64, target_period=20, lr=0.003
    )
    batch = cycle(3)
    assert bonus.compute(batch.observations, batch.features).tolist() == pytest.approx([1.0] * 3)
    for _ in range(1500):
        bonus.update(batch)
    shift = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    exact = np.linalg.inv(np.eye(3) - 0.8 * shift)
    phi = bonus._reader(None, batch.features)
    np.testing.assert_allclose(bonus.target.psi(phi).detach().numpy(), exact, atol=0.1)
    np.testing.assert_allclose(bonus.norms(batch.observations, batch.features), 5.0, atol=0.2)


def test_targets_of_the_paper_and_of_the_released_code():
    """From zero, with gamma 0, psi goes to phi(s) or to phi(s')."""
    batch = cycle(3)
    for target, wanted in (("current", batch.features), ("next", batch.next_features)):
        bonus = make_bonus(
            "sr-norm", 3, form="features", features=3, gamma=0.0, width=64, target=target,
            target_period=1, lr=0.01,
        )  # fmt: skip
        for _ in range(400):
            bonus.update(batch)
        psi = bonus.target.psi(bonus._reader(None, batch.features)).detach().numpy()
        np.testing.assert_allclose(psi, wanted, atol=0.05)


def test_a_done_ends_the_sum():
    batch = cycle(3)
    bonus = make_bonus(
        "sr-norm", 3, form="features", features=3, width=64, target_period=1, lr=0.01
    )
    for _ in range(400):
        bonus.update({**vars(batch), "dones": [True] * 3})
    np.testing.assert_allclose(bonus.norms(batch.observations, batch.features), 1.0, atol=0.1)


def test_the_network_form_has_a_larger_norm_where_it_has_been():
    rng = np.random.default_rng(0)
    seen, unseen = rng.integers(0, 256, (2, 6, 84, 84), dtype=np.uint8)
    bonus = make_bonus("sr-norm", (84, 84), features=64, width=64, target_period=5, seed=1)
    first = bonus.compute(seen).mean()
    losses = []
    for _ in range(60):
        losses.append(bonus.update(Batch(seen, np.roll(seen, 1, axis=0)))["reconstruction_loss"])
    assert losses[-1] < 0.5 * losses[0]
    assert bonus.compute(seen).mean() < 0.5 * first
    assert bonus.compute(seen).mean() < bonus.compute(unseen).mean()


def test_gradients_of_psi_do_not_reach_phi():
    bonus = make_bonus("sr-norm", (4,), features=8, width=8, reconstruction="no")
    before = {k: v for k, v in bonus.state_dict().items() if k.startswith("network.encoder")}
    bonus.update(Batch(np.ones((3, 4)), np.zeros((3, 4))))
    for key, value in before.items():
        np.testing.assert_array_equal(value, bonus.state_dict()[key])


def test_the_target_network_waits():
    bonus = make_bonus("sr-norm", (4,), features=8, width=8, target_period=3)
    for update in range(1, 7):
        bonus.update(Batch(np.eye(4), np.eye(4)[::-1]))
        assert bool((bonus.norms(np.eye(4)) > 0).any()) == (update >= 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observations": (4,), "form": "tabular"}, "takes state indices, not vectors"),
        ({"observations": 3, "form": "x"}, "form must be one of auto, tabular"),
        (
            {"observations": 3, "features": 1.5, "form": "network"},
            "features must be a whole number",
        ),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(BadInput, match=message):
        make_bonus("sr-norm", **arguments)


def test_features_must_be_given():
    bonus = make_bonus("sr-norm", 3, form="features", features=4)
    with pytest.raises(BadInput, match="form=features needs the features"):
        bonus.compute([0])
    with pytest.raises(BadInput, match=r"features must have shape \(B, 4\), not \(1, 3\)"):
        bonus.compute([0], np.zeros((1, 3)))
    with pytest.raises(BadInput, match="needs features and next_features in a batch"):
        bonus.update(Batch([0], [1], features=np.zeros((1, 4))))
