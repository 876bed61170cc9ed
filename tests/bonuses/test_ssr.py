import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countless.bonuses import SubstochasticSR
from countless.core.errors import BadInput
from countless.core.substochastic import substochastic_sr


@given(st.integers(0, 10**6), st.floats(0.0, 0.99))
def test_it_is_the_definition(seed, gamma):
    rng = np.random.default_rng(seed)
    ssr = SubstochasticSR(5, gamma)
    for s, s_next in rng.integers(0, 5, size=(80, 2)):
        ssr.observe(int(s), int(s_next))
    exact = substochastic_sr(ssr.visits, gamma)
    np.testing.assert_allclose(ssr.matrix, exact, atol=1e-8)
    assert ssr.bonus(2) == pytest.approx(-exact[2].sum())


@given(st.integers(0, 10**6))
def test_counts_are_never_too_low(seed):
    """gap <= gamma / (n + 1), so gamma / gap - 1 is at least n."""
    rng = np.random.default_rng(seed)
    ssr = SubstochasticSR(4, 0.3)
    for s, s_next in rng.integers(0, 4, size=(int(rng.integers(1, 30)), 2)):
        ssr.observe(int(s), int(s_next))
    assert (ssr.counts() >= ssr.visits.sum(axis=1) - 1e-6).all()


def test_bad_input():
    with pytest.raises(BadInput, match="gamma lie in"):
        SubstochasticSR(3, 1.0)
    with pytest.raises(BadInput, match="states are 0 to 2, not 0 and 3"):
        SubstochasticSR(3, 0.5).observe(0, 3)
