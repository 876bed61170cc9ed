"""Away from the paper's domains, the default bonus must help: it is never worse than random."""

import numpy as np
import pytest

from countless.agents.catalogue import make_agent
from countless.agents.tabular.kernels import mdp_arrays
from countless.agents.tabular.simulate import simulate
from countless.envs import make_mdp

RUNS = 100


def returns(name, mdp):
    return simulate([make_agent(name, mdp)], mdp, runs=RUNS, steps=5000, seed=0)[0]


@pytest.fixture
def looped(monkeypatch):
    """Tables as arrays: one compiled kernel then serves MDPs of every shape."""
    monkeypatch.setattr(mdp_arrays, "UNROLLED", 0)


@pytest.mark.parametrize(
    "env",
    ["riverswim", "sixarms", "chain-20", "chain-100", "deepsea-8", "gridworld-10", "fourrooms"],
)
def test_no_default_bonus_is_worse_than_random(env, looped):
    mdp = make_mdp(env)
    floor = returns("random", mdp)
    agents = ["sarsa-sr", "sarsa-dr", "sarsa-counts", "spie"]
    if mdp.n_states <= 20:
        agents.append("essr")
    for name in agents:
        ours = returns(name, mdp)
        noise = np.hypot(ours.std(ddof=1), floor.std(ddof=1)) / np.sqrt(RUNS)
        assert ours.mean() > floor.mean() - 2 * noise, name
