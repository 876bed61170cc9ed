"""What holds for every registered bonus."""

import numpy as np
import pytest
import torch

from bonuses.cases import CASES
from countless.bonuses import (
    Bonus,
    ScaledBonus,
    Scaling,
    Transitions,
    bonus_names,
    load_state,
    make_bonus,
    save_state,
)
from countless.bonuses.registry import bonus_kind
from countless.core.errors import BadInput
from countless.core.observations import as_reader

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def rows(features, index):
    return None if features is None else features[index]


def transition(case, count, seed=0):
    (observations, features), (after, after_features) = (
        case.batch(count, seed=seed), case.batch(count, seed=seed + 1000)
    )  # fmt: skip
    dones = np.arange(count) % 3 == 2
    return Transitions(observations, after, None, dones, features, after_features)


def same(first, second):
    assert first.keys() == second.keys()
    for key, value in first.items():
        np.testing.assert_array_equal(np.asarray(value), np.asarray(second[key]), err_msg=key)


def test_the_cases_cover_the_registry():
    assert {case.name for case in CASES} == set(bonus_names())
    for name in bonus_names():
        kind = bonus_kind(name)
        made = {as_reader(case.observations).kind for case in CASES if case.name == name}
        assert made == set(kind.observations), name


@every_case
def test_shapes_and_kinds(case):
    bonus = case.make()
    assert isinstance(bonus, Bonus)
    for count in (1, 5):
        observations, features = case.batch(count)
        result = bonus.compute(observations, features)
        assert isinstance(result, np.ndarray)
        assert result.shape == (count,)
        assert result.dtype == np.float64
        tensors = torch.as_tensor(observations), None
        if features is not None:
            tensors = tensors[0], torch.as_tensor(features)
        given = bonus.compute(*tensors)
        assert isinstance(given, torch.Tensor)
        assert given.dtype == torch.float32
        assert given.device == tensors[0].device
        assert not given.requires_grad
        np.testing.assert_allclose(given.numpy(), result, rtol=1e-6)
        other = case.make()
        seen = other.observe(*tensors)
        assert isinstance(seen, torch.Tensor)
        assert seen.shape == (count,)


@every_case
def test_the_same_seed_the_same_bits(case):
    first, second = case.make(seed=3), case.make(seed=3)
    for step in range(4):
        observations, features = case.batch(3, seed=step)
        np.testing.assert_array_equal(
            first.observe(observations, features), second.observe(observations, features)
        )
    first.update(transition(case, 4))
    second.update(transition(case, 4))
    same(first.state_dict(), second.state_dict())


@every_case
def test_a_bonus_leaves_the_streams_of_others_alone(case):
    torch.manual_seed(11)
    np.random.seed(11)
    expected = torch.rand(1).item(), np.random.random()
    torch.manual_seed(11)
    np.random.seed(11)
    bonus = case.make(seed=5)
    bonus.observe(*case.batch(2))
    bonus.update(transition(case, 2))
    assert (torch.rand(1).item(), np.random.random()) == expected


@every_case
def test_compute_changes_nothing(case):
    bonus = case.make()
    bonus.update(transition(case, 6))
    bonus.observe(*case.batch(3))
    before = bonus.state_dict()
    kept = {key: np.array(value) for key, value in before.items()}
    first = bonus.compute(*case.batch(4, seed=9))
    np.testing.assert_array_equal(first, bonus.compute(*case.batch(4, seed=9)))
    same(kept, bonus.state_dict())


@every_case
def test_compute_of_a_batch_is_compute_of_its_rows(case):
    bonus = case.make()
    bonus.update(transition(case, 6))
    observations, features = case.batch(5, seed=4)
    singles = [
        bonus.compute(observations[i : i + 1], rows(features, slice(i, i + 1)))[0] for i in range(5)
    ]
    np.testing.assert_allclose(bonus.compute(observations, features), singles, rtol=1e-4)


@pytest.mark.parametrize("case", [case for case in CASES if case.in_order], ids=str)
def test_observe_of_a_batch_is_observe_of_its_rows(case):
    together, apart = case.make(), case.make()
    given = transition(case, 6)
    batch = together.observe(
        given.observations, given.features, next_observations=given.next_observations
    )
    singles = []
    for i in range(6):
        one = slice(i, i + 1)
        singles.append(
            apart.observe(
                given.observations[one],
                rows(given.features, one),
                next_observations=given.next_observations[one],
            )[0]
        )
    if case.name in ("ssr", "sr-norm"):  # learn from all, then look: the last row agrees
        batch, singles = batch[-1:], singles[-1:]
    np.testing.assert_allclose(batch, singles, rtol=1e-6)
    probe = case.batch(5, seed=77)
    np.testing.assert_allclose(together.compute(*probe), apart.compute(*probe), rtol=1e-6)


@every_case
def test_save_and_load_to_the_bit(case, tmp_path):
    bonus = case.make(seed=1)
    for step in range(3):
        bonus.observe(*case.batch(3, seed=step))
    bonus.update(transition(case, 6))
    save_state(tmp_path / "bonus.npz", bonus.state_dict())
    again = case.make(seed=2)
    again.load_state_dict(load_state(tmp_path / "bonus.npz"))
    same(bonus.state_dict(), again.state_dict())
    for step in range(3, 6):
        given = case.batch(3, seed=step)
        np.testing.assert_array_equal(bonus.compute(*given), again.compute(*given))
        np.testing.assert_array_equal(bonus.observe(*given), again.observe(*given))
    assert bonus.update(transition(case, 6, seed=7)) == again.update(transition(case, 6, seed=7))
    same(bonus.state_dict(), again.state_dict())


@every_case
def test_finite_and_never_negative(case):
    bonus = case.make()
    observations, features = case.batch(4)
    if isinstance(case.observations, int):
        extremes = [np.zeros(4, int), np.full(4, case.observations - 1)]
    elif len(case.observations) == 1:
        extremes = [np.zeros_like(observations), observations * 1e12, -observations * 1e-12]
    else:
        extremes = [np.zeros_like(observations), np.full_like(observations, 255)]
    for step in range(3):
        for values in [*extremes, observations]:
            for scale in (0.0, 1.0, 1e6):
                given = None if features is None else features * scale
                for result in (
                    bonus.compute(values, given), bonus.observe(values, given),
                    bonus.compute(case.batch(4, seed=step)[0], given),
                ):  # fmt: skip
                    assert np.isfinite(result).all()
                    assert (result >= 0).all()


@every_case
def test_nan_is_refused(case):
    bonus = case.make()
    before = bonus.state_dict()
    observations, features = case.batch(3)
    broken = observations.astype(np.float64)
    broken[1] = np.nan
    for call in (bonus.compute, bonus.observe):
        with pytest.raises(BadInput, match=rf"{case.name}: observation 1 holds NaN"):
            call(broken, features)
    with pytest.raises(BadInput, match="holds NaN"):
        bonus.update({"observations": broken, "next_observations": observations})
    if features is not None:
        broken_features = features.copy()
        broken_features[2, 0] = np.nan
        with pytest.raises(BadInput, match="feature vector 2 holds NaN"):
            bonus.compute(observations, broken_features)
    same(before, bonus.state_dict())


@pytest.mark.parametrize("name", ["sr-norm", "rnd"])
def test_networks_refuse_what_they_cannot_hold(name):
    """A value beyond float32 became infinite, and the bonus NaN for ever."""
    bonus = make_bonus(name, (3,))
    wrong = np.ones((2, 3))
    wrong[1, 2] = -1e39
    for _ in range(2):
        with pytest.raises(BadInput, match=rf"{name}: observation 1 holds a value beyond 3.4e\+38"):
            bonus.observe(wrong, next_observations=wrong)
    assert np.isfinite(bonus.observe(np.ones((2, 3)), next_observations=np.ones((2, 3)))).all()


@every_case
def test_a_state_of_another_bonus_is_refused(case):
    bonus = case.make()
    state = bonus.state_dict()
    with pytest.raises(BadInput, match="unknown entry 'strange'"):
        bonus.load_state_dict(state | {"strange": 1})
    first = next(iter(state))
    with pytest.raises(BadInput, match=f"lacks '{first}'"):
        bonus.load_state_dict({key: value for key, value in state.items() if key != first})


@every_case
def test_wrong_shapes_are_refused(case):
    bonus = case.make()
    with pytest.raises(BadInput, match="observations must"):
        bonus.compute(np.zeros((2, 3, 5, 7, 9)))
    with pytest.raises(BadInput):
        bonus.compute(np.array(["a", "b"]))


@every_case
def test_beta_is_the_scale(case):
    single = make_bonus(case.name, case.observations, **case.parameters | {"beta": 0.25})
    double = make_bonus(case.name, case.observations, **case.parameters | {"beta": 0.5})
    for step in range(3):
        given = case.batch(3, seed=step)
        np.testing.assert_allclose(2 * single.observe(*given), double.observe(*given), rtol=1e-6)


@every_case
def test_arrays_that_are_reversed_or_read_only_or_big_endian(case):
    bonus = case.make()
    observations, features = case.batch(3)
    expected = bonus.compute(observations, features)
    reversed_features = None if features is None else features[::-1]
    np.testing.assert_allclose(
        bonus.compute(observations[::-1], reversed_features)[::-1], expected, rtol=1e-5
    )
    swapped = observations.astype(observations.dtype.newbyteorder(">"))
    np.testing.assert_array_equal(bonus.compute(swapped, features), expected)
    observations.flags.writeable = False
    np.testing.assert_array_equal(bonus.compute(observations, features), expected)


@every_case
def test_an_empty_batch_teaches_nothing(case):
    bonus = case.make()
    bonus.update(transition(case, 3))
    before = bonus.state_dict()
    observations, features = case.batch(3)
    none = observations[:0], rows(features, slice(0, 0))
    assert bonus.compute(*none).shape == (0,)
    bonus.update(Transitions(none[0], none[0], None, None, none[1], none[1]))
    same(before, bonus.state_dict())


@every_case
def test_active_has_a_flag_for_each_environment(case):
    for bonus in (case.make(), ScaledBonus(case.make(), Scaling(scale="std"))):
        before = bonus.state_dict()
        for flags in ([True], [True, False, True, True]):
            with pytest.raises(BadInput, match=f"{len(flags)} flags for 3 observations"):
                bonus.observe(*case.batch(3), active=flags)
        same(before, bonus.state_dict())


@every_case
def test_an_episode_has_a_flag_for_each_environment(case):
    bonus, (seen, features) = case.make(), case.batch(3)
    for name in ("dones", "starts", "truncations"):
        with pytest.raises(BadInput, match="2 flags for 3 observations"):
            bonus.observe(seen, features, **{name: [False, True]})


@every_case
def test_environments_that_only_reset_teach_nothing(case):
    """What an inactive row holds does not matter: it is paid 0, and nothing is learned from it."""
    first, second = case.make(), case.make()
    active = np.array([True, False, True])
    for step in range(4):
        observations, features = case.batch(3, seed=step)
        other, other_features = case.batch(3, seed=step + 50)
        changed = np.where(active.reshape(-1, *[1] * (observations.ndim - 1)), observations, other)
        more = {} if step % 2 else {"next_observations": case.batch(3, seed=step + 9)[0]}
        if features is not None:
            other_features = np.where(active[:, None], features, other_features)
        else:
            other_features = None
        paid = first.observe(observations, features, active=active, **more)
        same_paid = second.observe(changed, other_features, active=active, **more)
        np.testing.assert_array_equal(paid, same_paid)
        assert paid[1] == 0
        tensor = first.observe(torch.as_tensor(observations), features, active=[False] * 3)
        assert tensor.tolist() == [0, 0, 0]
        second.observe(observations, features, active=[False] * 3)
    same(first.state_dict(), second.state_dict())
