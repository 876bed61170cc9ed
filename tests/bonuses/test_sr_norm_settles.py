"""How sr-norm learns while it does not know its inputs yet, against a twin that is written out."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countless.bonuses import Transitions, make_bonus
from countless.bonuses.networks.first_rows import FirstRows
from countless.bonuses.networks.running import FIRST_COUNT
from countless.core.errors import BadInput
from oracles.sr_head import PlainHead

SIZE, ROWS = 5, 3  # numbers in an observation, transitions in a batch
SMALL = {"features": 12, "tables": 3, "planes": 4, "norm": 2.0, "eta": 0.1, "gamma": 0.9}


class Twin:
    """The network form for vectors as its page has it, in float64, with nothing learned in place."""

    def __init__(self, bonus):
        state, self.parameters = bonus.state_dict(), bonus.parameters
        self.layers = [
            tuple(state[f"encoder.{i}.{part}"].astype(float) for part in ("weight", "bias"))
            for i in (0, 2)
        ]
        self.planes = state["head.planes"]
        self.kept, self.seen, self.looked_at, self.updates = [], [], 0, 0
        self.settled = self.parameters.settle == 0
        self.mean, self.deviation = np.zeros(SIZE), np.ones(SIZE)
        self.begin_again()

    def begin_again(self):
        self.head = PlainHead(self.parameters.features, self.planes, self.parameters.tables)
        self.copy_to_target()

    def copy_to_target(self):
        alone = self.parameters.target_period == 1
        self.target = self.head if alone else copy.deepcopy(self.head)

    def statistics(self, rows):
        """Mean and SD of the rows and of a first guess, mean 0 and variance 1, of little weight."""
        rows, weight = np.concatenate(rows), FIRST_COUNT
        mean = rows.sum(axis=0) / (len(rows) + weight)
        squares = ((rows - mean) ** 2).sum(axis=0) + weight * (1.0 + mean**2)
        return mean, np.sqrt(squares / (len(rows) + weight))

    def root_mean_square(self, rows):
        """Of their distances from the mean as it stands, and of those of the first guess."""
        rows, weight = np.concatenate(rows), FIRST_COUNT
        squares = ((rows - self.mean) ** 2).sum(axis=0) + weight * (1.0 + self.mean**2)
        return np.sqrt(squares / (len(rows) + weight))

    def phi(self, observations):
        x = np.clip((observations - self.mean) / (self.deviation + 1e-8), -5, 5)
        for weight, bias in self.layers:
            x = np.maximum(x @ weight.T + bias, 0)
        return x

    def step(self, before, after, dones, rate):
        phi = self.phi(before)
        self.head.centre += rate * (phi.mean(axis=0) - self.head.centre)
        follows = np.array([self.target.psi(row) for row in self.phi(after)])
        own = phi / np.maximum(np.linalg.norm(phi, axis=1, keepdims=True), 1e-8)
        goal = own + self.parameters.gamma * ~dones[:, None] * follows
        self.head.learn(phi, goal, self.parameters.eta, 0.0)
        self.updates += 1
        if self.updates % self.parameters.target_period == 0:
            self.copy_to_target()

    def learn(self, before, after, dones):
        self.seen.append(before)
        if not self.settled:
            self.kept.append((before, after, dones))
            total = sum(len(rows) for rows, _, _ in self.kept)
            self.settled = total >= self.parameters.settle
            if not self.settled and total < 2 * self.looked_at:
                return self.step(before, after, dones, 0.0)
            self.looked_at, self.updates = total, 0
            firsts = [rows for rows, _, _ in self.kept]
            self.mean, self.deviation = self.statistics(firsts)
            self.begin_again()
            self.head.centre = self.phi(np.concatenate(firsts)).mean(axis=0)
            self.copy_to_target()
            for batch in self.kept:
                self.step(*batch, 0.0)
            return None
        rate = self.parameters.recency
        if self.parameters.settle:
            self.deviation = np.maximum(self.deviation, self.root_mean_square(self.seen))
        else:
            self.mean, self.deviation = self.statistics(self.seen)
            rate = max(1.0 / (self.updates + 1), rate)
        return self.step(before, after, dones, rate)

    def norms(self, observations):
        return [np.linalg.norm(self.target.psi(row)) for row in self.phi(observations)]


def transitions(steps, seed=0):
    """Batches of walks that first go far away and then stay where they are."""
    rng = np.random.default_rng(seed)
    walk = rng.normal(size=(ROWS, SIZE))
    for step in range(steps):
        after = walk + rng.normal(size=walk.shape) * (0.3 * step if step < steps // 2 else 0.01)
        dones = rng.random(ROWS) < 0.1
        yield walk, after, dones
        walk = np.where(dones[:, None], rng.normal(size=walk.shape), after)


@pytest.mark.parametrize("target_period", [1, 4])
@pytest.mark.parametrize("settle", [0, 1, 14, 10_000])
def test_it_is_the_twin(settle, target_period):
    bonus = make_bonus("sr-norm", (SIZE,), settle=settle, target_period=target_period, **SMALL)
    twin = Twin(bonus)
    for step, (before, after, dones) in enumerate(transitions(24)):
        bonus.update(Transitions(before, after, dones=dones))
        twin.learn(before, after, dones)
        asked = np.concatenate([before, after, 3 * after])
        np.testing.assert_allclose(
            bonus.norms(asked), twin.norms(asked), rtol=1e-4, atol=1e-5, err_msg=str(step)
        )
    assert twin.settled == (settle < 10_000)


@pytest.mark.parametrize("wrong", ["a mean", "an SD", "the order", "nothing"])
def test_the_twin_notices(wrong):
    """One thing changed in the twin, so that it is known to tell."""
    bonus = make_bonus("sr-norm", (SIZE,), settle=14, **SMALL)
    twin = Twin(bonus)
    for before, after, dones in transitions(12):
        bonus.update(Transitions(before, after, dones=dones))
        twin.learn(before, after, dones)
        if wrong == "a mean":
            twin.mean, _ = twin.statistics(twin.seen)
        elif wrong == "an SD":
            _, twin.deviation = twin.statistics(twin.seen[:5])
        elif wrong == "the order":
            twin.kept.reverse()
    close = np.allclose(bonus.norms(after), twin.norms(after), rtol=1e-4, atol=1e-5)
    assert close == (wrong == "nothing")


@pytest.mark.parametrize("more", [{}, {"target_period": 3}, {"reconstruction": True}])
def test_it_goes_on_from_any_moment_to_the_bit(more):
    """Before the first rows are learned again, after it, and when they are forgotten."""
    parameters = SMALL | {"settle": 20, **more}
    batches = list(transitions(12))
    whole = make_bonus("sr-norm", (SIZE,), seed=1, **parameters)
    states = []
    for before, after, dones in batches:
        states.append(whole.state_dict())
        whole.observe(before, next_observations=after, dones=dones)
    for stop, state in enumerate(states):
        resumed = make_bonus("sr-norm", (SIZE,), seed=2, **parameters)
        resumed.load_state_dict(state)
        for before, after, dones in batches[stop:]:
            resumed.observe(before, next_observations=after, dones=dones)
        for name, value in whole.state_dict().items():
            np.testing.assert_array_equal(value, resumed.state_dict()[name], err_msg=name)


def state_of(**parameters):
    """Of a bonus that has learned one batch of three rows."""
    bonus = make_bonus("sr-norm", (SIZE,), **SMALL | parameters)
    before, after, dones = next(transitions(1))
    bonus.update(Transitions(before, after, dones=dones))
    return bonus.state_dict()


@pytest.mark.parametrize(
    "wrong",
    [
        {"first.after": np.zeros((2, SIZE))},
        {"first.before": np.zeros((3, SIZE + 1)), "first.after": np.zeros((3, SIZE + 1))},
        {"first.before": np.array(["a"] * 3)},
        {"first.dones": np.zeros((3, 1), dtype=bool)},
        {"first.sizes": np.array([2])},
        {"first.sizes": np.array([4, -1])},
        {"first.sizes": np.array([3.0])},
        {"first.rows": 4},
        {"first.rows": 9},  # all are there: none is kept any more
    ],
    ids=lambda wrong: " ".join(f"{name} {np.shape(value)}" for name, value in wrong.items()),
)
def test_first_rows_that_do_not_fit(wrong):
    bonus = make_bonus("sr-norm", (SIZE,), settle=9, **SMALL)
    with pytest.raises(BadInput, match=r"do not fit together, or not this bonus: after \d rows"):
        bonus.load_state_dict(state_of(settle=9) | wrong)


def test_states_of_another_bonus():
    settling = make_bonus("sr-norm", (SIZE,), settle=9, **SMALL)
    with pytest.raises(BadInput, match="saved with settle=2, and this bonus has settle=9"):
        settling.load_state_dict(state_of(settle=2))
    with pytest.raises(BadInput, match="saved with settle=9, and this bonus has settle=0"):
        make_bonus("sr-norm", (SIZE,), settle=0, **SMALL).load_state_dict(state_of(settle=9))
    lacks = {name: value for name, value in state_of(settle=9).items() if name != "first.sizes"}
    with pytest.raises(BadInput, match=r"lacks 'first\.sizes'"):
        settling.load_state_dict(lacks)


def test_images_do_not_settle():
    with pytest.raises(BadInput, match="images do not settle: settle=0, their default, not 8"):
        make_bonus("sr-norm", (84, 84), settle=8)
    assert make_bonus("sr-norm", (84, 84)).parameters.settle == 0


@pytest.mark.parametrize("settle", [0, 10])
@pytest.mark.parametrize(
    "more", [{}, {"target_period": 3}, {"reconstruction": True, "target_period": 4}]
)
def test_observe_pays_what_compute_does(more, settle):
    bonus = make_bonus("sr-norm", (SIZE,), seed=1, settle=settle, **SMALL | more)
    for before, after, dones in transitions(12):
        paid = bonus.observe(before, next_observations=after, dones=dones)
        np.testing.assert_array_equal(paid, bonus.compute(before))


def test_rounding_makes_nothing_new():
    """phi differs in its last bits between batches of different sizes: one observation stays one."""
    bonus = make_bonus("sr-norm", (SIZE,), beta=1.0)
    one = np.arange(1.0, SIZE + 1.0)[None]
    for step in range(300):
        rows = np.repeat(one, 1 + step % 7, axis=0)
        bonus.observe(rows, next_observations=rows, dones=np.zeros(len(rows), dtype=bool))
    for count in (1, 7, 33):
        assert (bonus.compute(np.repeat(one, count, axis=0)) < 0.2).all(), count
    assert bonus.compute(one + 1.0) > 19.9


def test_given_features_are_not_rounded():
    """A large constant among an agent's features must not hide all others."""
    often, seldom = np.zeros((2, 1, 4), np.float32)
    often[:, 0], seldom[:, 1] = 1.0, 1.0
    often[:, 3] = seldom[:, 3] = 1e6
    bonus = make_bonus("sr-norm", 2, form="features", features=4, beta=1.0, settle=50, eta=0.1)
    for step in range(400):
        phi = seldom if step % 40 == 0 else often
        bonus.update(Transitions([0], [0], features=phi, next_features=phi, dones=[True]))
    assert bonus.compute([0], seldom) > 1.2 * bonus.compute([0], often)


def test_what_is_kept_is_dropped_in_the_end():
    bonus = make_bonus("sr-norm", (SIZE,), settle=9, **SMALL)
    kept = []
    for before, after, dones in transitions(5):
        bonus.update(Transitions(before, after, dones=dones))
        kept.append(len(bonus.state_dict()["first.before"]))
    assert kept == [3, 6, 0, 0, 0]


def test_arrays_that_a_loop_uses_again_are_copied():
    """Vector environments may write each step's observations into the same array."""
    reused, fresh = (make_bonus("sr-norm", (SIZE,), settle=9, **SMALL) for _ in range(2))
    (row, after_row), flags = np.zeros((2, ROWS, SIZE)), np.zeros(ROWS, dtype=bool)
    for before, after, dones in transitions(5):
        row[:], after_row[:], flags[:] = before, after, dones
        reused.observe(row, next_observations=after_row, dones=flags)
        fresh.observe(before, next_observations=after, dones=dones)
    np.testing.assert_array_equal(reused.compute(row), fresh.compute(row))


def test_places_far_from_the_first_ones_are_told_apart():
    """With the SDs of the first rows for ever, all of them would be cut at five SDs, and look alike."""
    bonus = make_bonus("sr-norm", (1,), settle=200, beta=1.0)
    rng = np.random.default_rng(0)

    def stay(place, steps, width):
        for _ in range(steps):
            seen = rng.normal(place, width, (4, 1))
            bonus.observe(seen, next_observations=seen, dones=np.zeros(4, dtype=bool))

    stay(0.0, 100, 0.01)
    assert not bonus.state_dict()["first.rows"] < 200
    for place in rng.permutation(np.linspace(-1, 1, 41)):
        stay(place, 5, 0.01)
    stay(0.5, 200, 0.01)
    often, seldom = bonus.compute([[0.5]]), bonus.compute([[0.9], [-0.5], [-0.9]])
    assert (seldom > 1.5 * often).all(), (often, seldom)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(1, 300))
def test_first_rows(sizes, most):
    """All rows are looked at in their order, again each time they have doubled, and at the end."""
    first, rows, looked_at = FirstRows("bonus", most), np.arange(sum(sizes)), []
    ends = np.cumsum(sizes)
    for end, size in zip(ends, sizes, strict=True):
        if not first.open:
            break
        part = rows[end - size : end]
        due = first.keep(part, part + 1, part % 2 == 0)
        np.testing.assert_array_equal(first.before, rows[:end])
        np.testing.assert_array_equal(first.after, rows[:end] + 1)
        np.testing.assert_array_equal(first.dones, rows[:end] % 2 == 0)
        again = np.concatenate([rows[batch] for batch in first.batches()])
        np.testing.assert_array_equal(again, rows[:end])
        assert due == (end >= most or end >= 2 * (looked_at[-1] if looked_at else 0))
        looked_at += [end] if due else []
    assert first.open == (ends[-1] < most)
    if not first.open:
        assert looked_at[-1] == ends[ends >= most][0]
    assert sum(looked_at) <= 3 * looked_at[-1]


def test_what_is_learned_again_is_learned_by_the_encoder_as_it_is_now():
    """Right after it, the target's encoder is the one that reconstruction has moved."""
    bonus = make_bonus(
        "sr-norm", (SIZE,), settle=20, reconstruction=True, lr=0.1, **SMALL | {"target_period": 99}
    )
    same = []
    for before, after, dones in transitions(6):
        bonus.update(Transitions(before, after, dones=dones))
        state = bonus.state_dict()
        same.append(
            all(
                np.array_equal(value, state[f"target_{name}"])
                for name, value in state.items()
                if name.startswith("encoder.")
            )
        )
    assert same == [True, True, False, True, False, False]  # at 3, 6 and 12 rows


def test_psi_is_learned_where_the_encoder_puts_an_observation_now():
    """Not where the target, an older one, has it."""
    import torch

    bonus = make_bonus(
        "sr-norm", 7, form="network", settle=0, reconstruction=True, lr=0.1, target_period=999,
        **SMALL,
    )  # fmt: skip
    states = np.arange(7)
    given = Transitions(states, (states + 1) % 7)
    for _ in range(20):
        bonus.update(given)
    with torch.no_grad():
        one_hot = torch.eye(7)
        phi = bonus.encoder(one_hot).numpy()
        old = bonus.target_encoder(one_hot).numpy()
    expected, head = bonus.head.weights.copy(), bonus.head.copy()
    head.move_centre(phi, 1.0 / 21)
    rows, old_rows = head.code(phi).index, head.code(old).index
    assert set(rows.ravel()) != set(old_rows.ravel())
    bonus.update(given)
    changed = np.flatnonzero((bonus.head.weights != expected).any(axis=1))
    assert set(changed) == set(rows.ravel())
