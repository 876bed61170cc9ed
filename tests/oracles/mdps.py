"""Random MDPs for property tests. All have the tables' shape of RiverSwim: two slots, three outcomes,
so that one compiled kernel serves them all."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from countless.envs.mdp import MDP, build_mdp


def random_mdp(seed: int, *, episodic: bool = False, ragged: bool = False) -> MDP:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    terminal = n - 1 if episodic else None
    rows = []
    for s in range(n):
        # State 0 always has both actions and three outcomes: the shape is then (2, 3).
        actions = [1] if ragged and s > 0 and rng.random() < 0.5 else [0, 1]
        for a in actions:
            k = 3 if s == 0 else int(rng.integers(1, 4))
            targets = rng.choice(n, size=k, replace=False)
            probabilities = rng.dirichlet(np.ones(k))
            for to, p in zip(targets, probabilities, strict=True):
                rows.append((s, a, int(to), float(rng.normal()), float(p)))
    start = np.zeros(n)
    starts = rng.choice(n - 1 if episodic else n, size=2, replace=False)
    start[starts] = rng.dirichlet(np.ones(2))
    columns = tuple(np.array(c) for c in zip(*rows, strict=True))
    return build_mdp("random", columns, start, terminal=() if terminal is None else (terminal,))


mdps = st.builds(random_mdp, st.integers(0, 10**6), episodic=st.booleans(), ragged=st.booleans())
