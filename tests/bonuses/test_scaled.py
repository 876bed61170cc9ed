"""A bonus at a safe scale: against its definition written out row by row, and what it promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countless.bonuses import load_state, make_bonus, save_state
from countless.bonuses.kernels.scale import total
from countless.bonuses.scaled import MOST, SETTLE, SLOWEST, ScaledBonus, Scaling
from countless.core.errors import BadInput

ENVS = 4


class Given:
    """Pays what it is told, one number per environment."""

    def compute(self, observations, features=None):
        return np.asarray(observations, dtype=np.float64)

    def observe(self, observations, features=None, **more):
        return self.compute(observations)

    def update(self, batch):
        return {"learned": 1.0}

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        assert not state


def literal(scaling, bonuses, starts, active):
    """The definition: all sums are kept, their SD is taken anew at each step."""
    paid = np.zeros_like(bonuses)
    sums, history, mean = [0.0] * ENVS, [], 0.0
    for t, row in enumerate(bonuses):
        seen = len(history)
        beta = scaling.beta * (max(0.0, 1 - seen / scaling.decay) if scaling.decay else 1.0)
        shift = mean if scaling.scale == "standardise" else 0.0
        for i in range(ENVS):
            if not active[t, i]:
                continue
            if scaling.scale == "none":
                paid[t, i] = beta * row[i]
            elif seen >= SETTLE:
                units = (row[i] - shift) / np.std(history)
                paid[t, i] = beta * min(max(units, -MOST), MOST)
        there = [i for i in range(ENVS) if active[t, i]]
        if not there:
            continue
        rate = max(len(there) / (seen + len(there)), len(there) * SLOWEST)
        mean += rate * (np.mean([row[i] for i in there]) - mean)
        shift = mean if scaling.scale == "standardise" else 0.0
        for i in there:
            if scaling.episodic and starts[t, i]:
                sums[i] = 0.0
            sums[i] = scaling.gamma * sums[i] + row[i] - shift
            history.append(sums[i])
    return paid


def stream(steps, seed=0):
    rng = np.random.default_rng(seed)
    bonuses = rng.gamma(1.0, 1.0 / np.sqrt(1 + np.arange(steps)))[:, None] + rng.random((1, ENVS))
    bonuses[steps // 2] = 50.0  # far outside: it is cut
    return bonuses, rng.random((steps, ENVS)) < 0.05, rng.random((steps, ENVS)) < 0.9


@pytest.mark.parametrize("scale", ["none", "std", "standardise"])
@pytest.mark.parametrize("episodic", [False, True])
@pytest.mark.parametrize("decay", [0, 900])
def test_it_is_its_definition(scale, episodic, decay):
    scaling = Scaling(scale=scale, beta=0.3, decay=decay, episodic=episodic)
    bonuses, starts, active = stream(300)
    bonus = ScaledBonus(Given(), scaling)
    paid = [bonus.observe(row, starts=starts[t], active=active[t]) for t, row in enumerate(bonuses)]
    expected = literal(scaling, bonuses, starts, active)
    np.testing.assert_allclose(paid, expected, rtol=1e-9, atol=1e-12)
    assert np.abs(expected).max() > 0.0


def test_standardised_it_does_not_pay_for_staying_alive():
    """A bonus that is the same everywhere adds nothing; one that is not adds nothing on average."""
    rng = np.random.default_rng(1)
    for constant in (True, False):
        bonus = ScaledBonus(Given(), Scaling(scale="standardise"))
        raw = np.full((4_000, ENVS), 3.0) if constant else 3.0 + rng.normal(size=(4_000, ENVS))
        paid = np.array([bonus.observe(row) for row in raw])
        assert abs(paid[SETTLE:].mean()) < 0.01
        assert (paid == 0.0).all() == constant


def test_a_bonus_that_wears_out_is_worn_out():
    """The SD is that of all steps so far: it does not blow up what is left at the end."""
    bonus = ScaledBonus(Given(), Scaling(scale="standardise"))
    rng = np.random.default_rng(1)
    paid = np.array([bonus.observe(rng.random(ENVS) / (1 + t)) for t in range(3_000)])
    late, early = np.abs(paid[-500:]).mean(), np.abs(paid[SETTLE // ENVS :][:50]).mean()
    assert late < early / 10


def test_looking_changes_nothing_and_tells_what_would_be_paid():
    bonus = make_bonus("counts", 5, scale="standardise")
    rng = np.random.default_rng(0)
    for _ in range(400):
        bonus.observe(rng.integers(0, 4, ENVS))
    before = bonus.state_dict()
    looked = bonus.compute([0, 1, 2, 4])
    assert {k: np.asarray(v).tolist() for k, v in bonus.state_dict().items()} == {
        k: np.asarray(v).tolist() for k, v in before.items()
    }
    np.testing.assert_array_equal(looked, bonus.observe([0, 1, 2, 4]))
    assert looked[3] == looked.max()  # the state that was never seen


@pytest.mark.parametrize("name", ["counts", "sr-norm"])
def test_saved_and_loaded_it_goes_on_to_the_bit(name, tmp_path):
    rng = np.random.default_rng(0)
    path = rng.integers(0, 6, (600, ENVS))
    whole, first, second = (
        make_bonus(name, 6, scale="std", decay=5_000, beta=0.5) for _ in range(3)
    )
    paid = [whole.observe(row) for row in path]
    for row in path[:300]:
        first.observe(row)
    save_state(tmp_path / "bonus.npz", first.state_dict())
    second.load_state_dict(load_state(tmp_path / "bonus.npz"))
    np.testing.assert_array_equal([second.observe(row) for row in path[300:]], paid[300:])


class Warming(Given):
    """Pays zeros for its first rows, and says so."""

    def __init__(self, warm_up):
        self.warm_up, self.rows = warm_up, 0

    @property
    def warming(self):
        return self.rows <= self.warm_up

    def observe(self, observations, features=None, *, active=None, **more):
        self.rows += len(observations) if active is None else int(np.sum(active))
        return np.where(self.warming, 0.0, super().observe(observations))

    def state_dict(self):
        return {"inner_rows": self.rows}

    def load_state_dict(self, state):
        self.rows = int(state["inner_rows"])


@pytest.mark.parametrize("scale", ["std", "standardise"])
def test_a_warm_up_inside_stays_out_of_the_statistics(scale):
    """After it, what is paid is what a bonus without a warm-up pays from its first row on."""
    bonuses, starts, active = stream(400)
    steps = 150
    warm_up = int(active[:steps].sum())
    warmed = ScaledBonus(Warming(warm_up), Scaling(scale=scale))
    plain = ScaledBonus(Given(), Scaling(scale=scale))
    for t, row in enumerate(bonuses):
        paid = warmed.observe(row, starts=starts[t], active=active[t])
        expected = np.zeros(ENVS)
        if t >= steps:
            expected = plain.observe(row, starts=starts[t], active=active[t])
        np.testing.assert_array_equal(paid, expected)
    assert np.abs(paid).max() > 0.0


def test_beta_falls_in_a_warm_up_too():
    bonus = ScaledBonus(Warming(40), Scaling(scale="std", beta=1.0, decay=80))
    for _ in range(10):
        bonus.observe(np.ones(ENVS))
    assert bonus.beta == 0.5


def test_saved_in_a_warm_up_it_goes_on_to_the_bit():
    bonuses, _, _ = stream(400)
    whole, first, second = (ScaledBonus(Warming(200), Scaling(scale="std")) for _ in range(3))
    paid = [whole.observe(row) for row in bonuses]
    for row in bonuses[:30]:
        first.observe(row)
    second.load_state_dict(first.state_dict())
    np.testing.assert_array_equal([second.observe(row) for row in bonuses[30:]], paid[30:])


@pytest.mark.parametrize(("warm_up", "counted"), [(0, 40), (40, 0)])
def test_older_states_counted_all_rows(warm_up, counted):
    bonus = ScaledBonus(Warming(warm_up), Scaling(scale="std"))
    for _ in range(10):
        bonus.observe(np.ones(ENVS))
    state = bonus.state_dict()
    del state["scaled.counted"]
    again = ScaledBonus(Warming(warm_up), Scaling(scale="std"))
    again.load_state_dict(state)
    assert again.state_dict()["scaled.counted"] == counted


def test_the_end_of_rnds_warm_up_is_no_burst():
    pytest.importorskip("torch")
    bonus = make_bonus("rnd", (4,), scale="standardise", beta=1.0)
    rng = np.random.default_rng(0)
    state, paid = np.zeros((8, 4)), []
    for _ in range(400):
        state = 0.95 * state + 0.1 * rng.normal(size=(8, 4))
        paid.append(bonus.observe(state))
    assert (np.array(paid[:125]) == 0.0).all()  # 1,000 rows
    at_the_cut = np.abs(paid) >= MOST
    assert np.abs(paid).max() > 0.0
    assert at_the_cut.sum() <= 2


def test_with_another_number_of_environments_the_sums_begin_anew():
    """As when a saved agent goes on in more of them; the statistics are kept."""
    first, second = (ScaledBonus(Given(), Scaling(scale="standardise")) for _ in range(2))
    for row in stream(300)[0]:
        first.observe(row)
    second.load_state_dict(first.state_dict())
    assert second.observe(np.arange(6.0)).shape == (6,)
    shift = second.state_dict()["scaled.mean"]
    np.testing.assert_allclose(second.state_dict()["scaled.sums"], np.arange(6.0) - shift)
    assert second.state_dict()["scaled.counted"] == 300 * ENVS + 6


def test_without_observe_there_is_no_scale():
    bonus = make_bonus("counts", 6, scale="std")
    assert bonus.compute([1, 2]).tolist() == [0.0, 0.0]  # nothing was learned so far
    bonus.update([1, 2])
    with pytest.raises(BadInput, match="call `observe` once per step, or make the bonus with"):
        bonus.compute([1, 2])
    bonus.observe([1, 2])
    assert bonus.compute([1, 2]).tolist() == [0.0, 0.0]
    fading = make_bonus("counts", 6, decay=100)
    fading.update([1, 2])
    assert fading.compute([1])[0] == pytest.approx(2**-0.5)


def test_unscaled_bonuses_are_not_wrapped():
    assert not isinstance(make_bonus("counts", 6, beta=0.3), ScaledBonus)


def test_the_scale_of_the_bonus_inside_does_not_matter():
    scaled = make_bonus("sr-norm", 6, scale="std", beta=0.2)
    assert isinstance(scaled, ScaledBonus)
    assert (scaled.scaling.beta, scaled.bonus.parameters.beta) == (0.2, 1.0)


def test_bad_input():
    with pytest.raises(BadInput, match="scale must be one of none, std, standardise"):
        make_bonus("counts", 6, scale="unit")
    with pytest.raises(BadInput, match="decay must lie in"):
        make_bonus("counts", 6, decay=-1)
    bonus = make_bonus("counts", 6, scale="std")
    with pytest.raises(BadInput, match="saved without scaling"):
        bonus.load_state_dict(make_bonus("counts", 6).state_dict())
    with pytest.raises(BadInput, match="saved with a scale; this bonus has scale='none'"):
        make_bonus("counts", 6).load_state_dict(bonus.state_dict())


def test_the_bonus_inside_gives_one_number_per_environment():
    bonus = ScaledBonus(Given(), Scaling())
    with pytest.raises(BadInput, match=r"must give \(B,\), not \(4, 1\)"):
        bonus.observe(np.zeros((ENVS, 1)))


@given(st.integers(0, 128), st.integers(0, 2**32 - 1))
def test_sums_are_numpys_to_the_bit(size, seed):
    """Records that were made with NumPy's own sums stay what they are."""
    values = np.random.default_rng(seed).lognormal(sigma=8.0, size=size)
    assert total(values) == np.add.reduce(values)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scaled.sums": "?"}, "'scaled.sums' is not a row of numbers"),
        ({"scaled.sums": np.zeros((2, 2))}, "'scaled.sums' is not a row of numbers"),
        ({"scaled.mean": np.nan}, "'scaled.mean' is not a number"),
        ({"scaled.kind": 2}, "saved with scale='standardise', and this bonus has scale='std'"),
        ({"scaled.kind": 7}, "saved with scale='7'"),
    ],
)
def test_a_refused_state_changes_nothing(changed, message):
    saved = make_bonus("counts", 6, scale="std")
    for _ in range(9):
        saved.observe([0, 1])
    bonus = make_bonus("counts", 6, scale="std")
    bonus.observe([0, 1])
    with pytest.raises(BadInput, match=message):
        bonus.load_state_dict(saved.state_dict() | changed)
    assert bonus.bonus.counts(np.arange(2)).tolist() == [1, 1]
    assert bonus.state_dict()["scaled.rows"] == 2
