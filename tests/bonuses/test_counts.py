"""Exact counts: what is one observation, and what is another."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from countless.bonuses import make_bonus
from countless.core.errors import BadInput


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int8, np.int64, np.uint8])
@pytest.mark.parametrize("shape", [(3,), (84, 84), (2, 12, 12)])
def test_an_observation_is_its_values_and_not_their_type(shape, kind):
    bonus = make_bonus("counts", shape)
    seen = np.random.default_rng(0).integers(0, 100, (2, *shape))
    bonus.observe(seen)
    assert bonus.counts(seen.astype(kind)).tolist() == [1, 1]
    assert bonus.counts(seen.tolist()).tolist() == [1, 1]
    assert bonus.counts(seen + 1).tolist() == [0, 0]


def test_levels_between_whole_ones_are_levels_of_their_own():
    bonus = make_bonus("counts", (12, 12))
    whole = np.full((1, 12, 12), 7.0)
    bonus.observe(np.concatenate([whole, whole + 0.5]))
    assert bonus.counts(np.concatenate([whole, whole + 0.5, whole + 0.25])).tolist() == [1, 1, 0]


def test_zero_has_no_sign():
    bonus = make_bonus("counts", (2,))
    bonus.observe(np.array([[0.0, -0.0]]))
    assert bonus.counts([[-0.0, 0.0]]).tolist() == [1]


@pytest.mark.parametrize("nested", [False, True])
def test_tensors_in_parts_come_back_as_tensors(nested):
    part = spaces.Box(0, 1, (2,))
    space = spaces.Tuple([part, part]) if nested else spaces.Dict(a=part)
    seen = torch.zeros(3, 2)
    paid = make_bonus("counts", space).observe((seen, seen) if nested else {"a": seen})
    assert isinstance(paid, torch.Tensor)
    assert paid.dtype == torch.float32


def test_tensors_that_numpy_has_no_type_for():
    bonus = make_bonus("counts", (2,))
    bonus.observe(torch.ones(1, 2, dtype=torch.bfloat16))
    assert bonus.counts(np.ones((1, 2))).tolist() == [1]


def test_a_state_of_other_observations_is_refused():
    """Its digests would match nothing: all that was seen would be new again."""
    state = make_bonus("counts", (2,)).state_dict()
    for other, name in (((5,), r"observations of shape \(5,\)"), (2, "2 states")):
        bonus = make_bonus("counts", other)
        with pytest.raises(
            BadInput, match=rf"counts observations of shape \(2,\), this bonus {name}"
        ):
            bonus.load_state_dict(state)
    older = {name: value for name, value in state.items() if name != "of"}
    make_bonus("counts", (2,)).load_state_dict(older)
