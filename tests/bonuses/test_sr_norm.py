"""The tabular SR norm against Eq. 4 written out, and its streams."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from countless.bonuses import Transitions, make_bonus
from countless.bonuses.networks.sr_head import SuccessorHead
from countless.bonuses.sr_norm import IMAGES, SRNormParameters
from countless.core.errors import BadInput
from oracles.sr_head import PlainHead


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
    bonus.update(Transitions(states, after, dones=dones))
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
            whole.update(Transitions(path[t - 1][goes_on], path[t][goes_on]))
    np.testing.assert_array_equal(linked.compute(np.arange(6)), whole.compute(np.arange(6)))


@pytest.mark.parametrize(("shape", "layout"), [((40, 48, 3), None), ((6, 7), "vector")])
def test_a_stream_of_observations_that_are_converted_is_its_transitions(shape, layout):
    """RGB pictures become grey, grids become vectors: what a stream remembers is not read twice."""
    linked, whole = (
        make_bonus("sr-norm", shape, layout=layout, features=8, planes=4) for _ in range(2)
    )
    path = np.random.default_rng(0).integers(0, 256, (5, 2, *shape), dtype=np.uint8)
    linked.observe(path[0])
    for before, after in itertools.pairwise(path):
        linked.observe(after)
        whole.update(Transitions(before, after))
    np.testing.assert_array_equal(linked.compute(path[0]), whole.compute(path[0]))


@pytest.mark.parametrize("name", ["sr-norm", "ssr"])
def test_transitions_must_be_whole(name):
    bonus = make_bonus(name, 6)
    with pytest.raises(BadInput, match="the batch needs next_observations"):
        bonus.update([1, 2])
    with pytest.raises(BadInput, match="1 next observations for 2 observations"):
        bonus.update(Transitions([1, 2], [3]))
    with pytest.raises(BadInput, match="3 flags for 2 observations"):
        bonus.update(Transitions([1, 2], [3, 4], dones=[True, False, True]))
    bonus.observe([1, 2])
    with pytest.raises(BadInput, match="3 environments, but 2 in the last call"):
        bonus.observe([1, 2, 3])


def test_ssr_is_the_papers_penalty_up_to_a_constant():
    bonus = make_bonus("ssr", 5, gamma=0.9, beta=3.0)
    rng = np.random.default_rng(0)
    bonus.update(Transitions(rng.integers(0, 5, 50), rng.integers(0, 5, 50)))
    penalty = np.array([bonus.ssr.bonus(s) for s in range(5)])
    np.testing.assert_allclose(bonus.compute(np.arange(5)), 3.0 * (10.0 + penalty))


def ring(**more):
    """One-hot features of three states in a ring, as transitions."""
    eye = np.eye(3, dtype=np.float32)
    return Transitions(
        np.arange(3), np.array([1, 2, 0]), features=eye, next_features=eye[[1, 2, 0]], **more
    )


def on_features(**more):
    return make_bonus("sr-norm", 3, form="features", features=3, tables=0, **more)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 2.0]))
def test_one_hot_features_are_the_table(seed, norm):
    rng = np.random.default_rng(seed)
    common = {"eta": 0.1, "gamma": 0.9, "norm": norm}
    table = make_bonus("sr-norm", 6, **common)
    head = make_bonus("sr-norm", 6, form="features", features=6, tables=0, floor=0.1, **common)
    eye = np.eye(6, dtype=np.float32)
    for _ in range(40):
        s, s_next = rng.integers(0, 6, 2)
        done = rng.random() < 0.1
        table.update(Transitions([s], [s_next], dones=[done]))
        head.update(Transitions([s], [s_next], None, [done], eye[[s]], eye[[s_next]]))
    np.testing.assert_allclose(
        head.compute(np.arange(6), eye), table.compute(np.arange(6)), rtol=1e-4
    )


def test_targets_of_the_paper_and_of_the_released_code():
    """With gamma 0, psi goes to phi(s) or to phi(s')."""
    batch = ring()
    for target, wanted in (("current", batch.features), ("next", batch.next_features)):
        bonus = on_features(gamma=0.0, target=target, eta=0.3, norm=2)
        for _ in range(40):
            bonus.update(batch)
        psi = bonus.target_head.psi(bonus._code(None, batch.features))
        np.testing.assert_allclose(psi, wanted, atol=1e-3)


def test_the_head_learns_the_successor_features():
    """On a ring psi is (I - gamma P)^-1: every 1-norm is 1 / (1 - gamma); after a done it is 1."""
    bonus = on_features(gamma=0.8, eta=0.3)
    for _ in range(200):
        bonus.update(ring())
    np.testing.assert_allclose(bonus.norms(np.arange(3), np.eye(3)), 5.0, atol=1e-3)
    for _ in range(200):
        bonus.update(ring(dones=[True] * 3))
    np.testing.assert_allclose(bonus.norms(np.arange(3), np.eye(3)), 1.0, atol=1e-3)


def test_tables_tell_apart_what_shares_a_background():
    """A large part common to all features makes all alike to a linear head, not to tables."""
    shared = np.ones((5, 16), np.float32) * 5.0
    shared[np.arange(5), np.arange(5)] += 1.0
    stands_out = {}
    for tables in (0, 8):
        bonus = make_bonus(
            "sr-norm", 5, form="features", features=16, tables=tables, eta=0.05, floor=1e-3
        )
        for step in range(300):
            s, s_next = step % 4, (step + 1) % 4
            bonus.update(Transitions([s], [s_next], None, None, shared[[s]], shared[[s_next]]))
        values = bonus.compute(np.arange(5), shared)
        stands_out[tables] = values[4] / values[:4].mean()
    assert stands_out[0] < 1.1
    assert stands_out[8] > 3


@pytest.mark.parametrize("tables", [0, 8])
def test_every_observation_counts(tables):
    """Even one that is all there is, and so equals the mean."""
    same = make_bonus("sr-norm", (5,), eta=0.1, tables=tables)
    paid = [same.observe(np.ones((1, 5)), next_observations=np.ones((1, 5)))[0] for _ in range(9)]
    assert paid[-1] < 0.5 * paid[0]


def test_more_planes_tell_finer():
    """Of two directions at an angle a, a share of (1 - a / pi)^planes of the tables agrees."""
    rng = np.random.default_rng(0)
    angle, tables = 0.4, 400
    near = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]], np.float32)
    for planes in (1, 4, 16):
        directions = rng.normal(size=(2, tables * planes)).astype(np.float32)
        index = SuccessorHead(2, directions, tables, sums=True).code(near).index
        agree = (index[0] == index[1]).mean()
        assert agree == pytest.approx((1 - angle / np.pi) ** planes, abs=0.08)


@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.parametrize(("tables", "planes"), [(0, 0), (1, 3), (8, 5), (4, 62)])
def test_the_head_is_the_plain_one(tables, planes, sums):
    rng = np.random.default_rng(tables)
    directions = rng.normal(size=(12, tables * planes)).astype(np.float32) if tables else None
    head, twin = SuccessorHead(12, directions, tables, sums), PlainHead(12, directions, tables)
    # A table with many planes and a centre that moves would have more keys than rows.
    rate = 0.2 if planes < 10 else 0.0
    known = np.abs(rng.normal(size=(9, 12))).astype(np.float32)
    for step in range(30):
        phi = known[rng.integers(0, 9, 5)]
        goal = rng.random((5, 12)).astype(np.float32)
        head.move_centre(phi, rate)
        head.learn(head.code(phi), goal.sum(1, keepdims=True) if sums else goal, 0.1)
        twin.learn(phi, goal, 0.1, rate)
        psi = np.array([twin.psi(row) for row in phi])
        wanted = psi.sum(1, keepdims=True) if sums else psi
        np.testing.assert_allclose(head.psi(head.code(phi)), wanted, atol=1e-4, err_msg=str(step))


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_the_sum_is_the_1_norm_where_no_entry_is_negative(seed):
    """Of few observations that share no row: each is a state of its own, as in a table."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(6, 8 * 40)).astype(np.float32)
    whole, summed = (SuccessorHead(6, directions, 8, sums) for sums in (False, True))
    phi = np.eye(6, dtype=np.float32) - np.float32(0.2)
    assume(all(np.unique(head.code(phi).index).size == 6 * 8 for head in (whole, summed)))
    for _ in range(20):
        s, s_next = rng.integers(0, 6, 2)
        for head, first in ((whole, np.eye(6, dtype=np.float32)[[s]]), (summed, 1.0)):
            goal = first + np.float32(0.9) * head.psi(head.code(phi[[s_next]]))
            head.learn(head.code(phi[[s]]), goal, 0.1)
    norms = np.abs(whole.psi(whole.code(phi))).sum(1)
    np.testing.assert_allclose(summed.psi(summed.code(phi))[:, 0], norms, rtol=1e-4)


def test_a_step_pays_what_computing_it_anew_would():
    """The code of the observations that were just learned is used again."""
    rng = np.random.default_rng(1)
    bonus = make_bonus("sr-norm", (6,))
    for _ in range(20):
        seen, after = rng.normal(size=(2, 4, 6))
        paid = bonus.observe(seen, next_observations=after, dones=np.zeros(4, bool))
        np.testing.assert_allclose(paid, bonus.compute(seen), rtol=1e-5)


def blocks(places):
    """A bright block on a grey ground, a place each."""
    images = np.full((len(places), 84, 84), 60, np.uint8)
    for image, (y, x) in zip(images, places, strict=True):
        image[y : y + 14, x : x + 14] = 250
    return images


def test_the_network_form_has_a_larger_norm_where_it_has_been():
    seen, unseen = blocks([(0, 14 * i) for i in range(6)]), blocks([(56, 14 * i) for i in range(6)])
    bonus = make_bonus("sr-norm", (84, 84), features=64, eta=0.05, floor=1e-3, seed=1)
    for _ in range(30):
        bonus.update(Transitions(seen, np.roll(seen, 1, axis=0)))
    assert 1.5 * bonus.compute(seen).mean() < bonus.compute(unseen).mean()


def test_images_that_differ_in_what_does_not_matter_are_told_by_the_place():
    """Something moves at the bottom wherever the player is: no two pictures are the same."""
    rng = np.random.default_rng(0)

    def shown(places):
        images = blocks([(14 * (place // 6), 14 * (place % 6)) for place in places])
        for image in images:
            x = rng.integers(70)
            image[70:, x : x + 14] = 200
        return images

    bonus = make_bonus("sr-norm", (84, 84))
    for _ in range(400):
        often = rng.random() < 0.95
        bonus.observe(shown([rng.integers(3) if often else rng.integers(3, 30)]), starts=[False])
    common, rare = (bonus.compute(shown(rng.integers(*span, 40))) for span in ((0, 3), (3, 30)))
    assert rare.mean() > 1.6 * common.mean()


def test_images_have_defaults_of_their_own_below_what_is_given():
    assert make_bonus("sr-norm", (84, 84)).parameters.tables == IMAGES["tables"]
    assert make_bonus("sr-norm", (84, 84), tables=3).parameters.tables == 3
    assert make_bonus("sr-norm", (84,)).parameters.tables == SRNormParameters().tables


def test_reconstruction_learns_to_predict():
    images = blocks([(14 * i, 14 * i) for i in range(6)])
    bonus = make_bonus(
        "sr-norm", (84, 84), features=64, reconstruction=True, lr=1e-3, target_period=2
    )
    losses = [
        bonus.update(Transitions(images, np.roll(images, 1, axis=0)))["reconstruction_loss"]
        for _ in range(40)
    ]
    assert losses[-1] < 0.6 * losses[0]


def test_without_reconstruction_phi_stays_as_it_was():
    bonus = make_bonus("sr-norm", (4,), features=8)
    before = {k: v for k, v in bonus.state_dict().items() if k.startswith("encoder.")}
    assert before
    bonus.update(Transitions(np.ones((3, 4)), np.zeros((3, 4))))
    for key, value in before.items():
        np.testing.assert_array_equal(value, bonus.state_dict()[key])


def test_the_target_network_waits():
    bonus = make_bonus("sr-norm", (4,), features=8, target_period=3)
    for update in range(1, 7):
        bonus.update(Transitions(np.eye(4), np.eye(4)[::-1]))
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
    with pytest.raises(BadInput, match="form='features' needs the features"):
        bonus.compute([0])
    with pytest.raises(BadInput, match=r"features must have shape \(B, 4\), not \(1, 3\)"):
        bonus.compute([0], np.zeros((1, 3)))
    with pytest.raises(BadInput, match="needs features and next_features in a batch"):
        bonus.update(Transitions([0], [1], features=np.zeros((1, 4))))


def in_a_chain(bonus, steps, observe):
    """0 -> 1 -> 2 -> 3, which is terminal; the step after it only resets, Gymnasium's default."""
    one_hot, state, active = np.eye(4, dtype=np.float32), 0, np.array([True])
    for _ in range(steps):
        reached = state + 1 if active[0] else 0
        done = np.array([bool(active[0]) and reached == 3])
        observe(bonus, np.array([state]), one_hot[[state]], np.array([reached]), done, active)
        state, active = reached, ~done
    return bonus


@pytest.mark.parametrize("complete", [False, True])
def test_features_are_linked_within_an_episode(complete):
    """As the table learns them: not over its end, nor over the step that only resets."""
    parameters = {"eta": 0.1, "gamma": 0.9, "beta": 1.0, "floor": 1e-9}

    def by_features(bonus, states, phi, reached, dones, active):
        more = {"next_observations": reached} if complete else {}
        bonus.observe(states, phi, dones=dones, active=active, **more)

    def by_states(bonus, states, phi, reached, dones, active):
        bonus.observe(states, next_observations=reached, dones=dones, active=active)

    one_hot = np.eye(4, dtype=np.float32)
    features = make_bonus(
        "sr-norm", 4, form="features", features=4, tables=0, settle=0, **parameters
    )
    in_a_chain(features, 4_000, by_features)
    table = in_a_chain(make_bonus("sr-norm", 4, **parameters), 4_000, by_states)
    found = features.norms(np.arange(3), one_hot[:3])
    np.testing.assert_allclose(found, 1.0 / table.compute(np.arange(3)), rtol=1e-3)
    np.testing.assert_allclose(found, [2.71, 1.9, 1.0], rtol=1e-3)  # 1 + 0.9 (1 + 0.9), ...


@pytest.mark.parametrize("parameters", [{}, {"form": "network"}])
def test_features_that_are_not_read_are_refused(parameters):
    """As in `observe(observations, next_observations)`, where a name was left out."""
    bonus = make_bonus("sr-norm", 4, **parameters)
    with pytest.raises(BadInput, match="reads no features; the observations that came next are"):
        bonus.observe(np.array([0]), np.eye(4)[[1]])
