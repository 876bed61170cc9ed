import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from countless.agents.tabular.kernels.streams import draw, open_streams
from countless.core.errors import BadInput
from countless.core.seeding import check_seed, check_seeds, run_stream, seed_words, stream_key


@njit
def next_draw(a, b, c, w):
    return draw(a, b, c, w, 0)


words = st.integers(0, 2**32 - 1)


@given(st.integers(0, 2**64 - 1), st.tuples(words, words), st.integers(0, 2**32 - 1))
def test_compiled_streams_are_numpys(seed, key, run):
    state = [np.empty(1, dtype=np.uint64) for _ in range(4)]
    open_streams(seed_words(seed), np.array(key, dtype=np.uint32), run, *state)
    ours = [next_draw(*state) for _ in range(5)]
    theirs = run_stream(seed, key, run).random_raw(5) >> np.uint64(11)
    np.testing.assert_array_equal(ours, theirs.astype(np.float64))


def test_streams_differ_between_seeds_runs_and_configurations():
    key, other = stream_key({"x": 1}), stream_key({"x": 2})
    firsts = {
        int(run_stream(seed, k, run).random_raw())
        for seed in range(20)
        for run in range(20)
        for k in (key, other)
    }
    assert len(firsts) == 800


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "3", True, None])
def test_bad_seed(seed):
    with pytest.raises(BadInput, match="seed must be a whole number"):
        check_seed(seed)


def test_a_seed_of_fewer_bits():
    assert check_seed(2**32 - 1, 32) == 2**32 - 1
    with pytest.raises(BadInput, match=r"from 0 to 2\^32 - 1, not 4294967296"):
        check_seed(2**32, 32)


def test_a_list_of_seeds_names_each_once():
    assert check_seeds([3, 0]) == (3, 0)
    with pytest.raises(BadInput, match="names a seed twice: 1 2 1"):
        check_seeds([1, 2, 1])
