"""What sr-norm pays in MiniGrid, where observations differ in few of their numbers."""

import gymnasium
import minigrid  # noqa: F401 (registers the ids)
import numpy as np
import pytest
from minigrid.wrappers import ImgObsWrapper

from countless.bonuses import make_bonus

pytest.importorskip("torch")
ENVS = 8


def late_maximum(task, seed=0, steps=500, **parameters):
    """Random walks: who is paid the maximum at the 15th visit of an observation or a later one.

    For rows up to 500, up to 2,000, and after them: how many are, of how many such visits.
    """

    def make():
        return gymnasium.wrappers.FlattenObservation(
            ImgObsWrapper(gymnasium.make(f"MiniGrid-{task}-v0"))
        )

    envs = gymnasium.vector.SyncVectorEnv([make] * ENVS)
    bonus = make_bonus("sr-norm", envs.single_observation_space, seed=seed, beta=1.0, **parameters)
    most = 1.0 / bonus.parameters.floor
    rng, active = np.random.default_rng(seed), np.ones(ENVS, dtype=bool)
    observations = envs.reset(seed=seed)[0].copy()
    visits, rows = {}, []
    for _ in range(steps):
        reached, _, terminated, truncated, _ = envs.step(rng.integers(0, 7, ENVS))
        paid = bonus.observe(
            observations, next_observations=reached, dones=terminated, active=active
        )
        for i in np.flatnonzero(active):
            key = observations[i].tobytes()
            visits[key] = visits.get(key, 0) + 1
            rows.append((visits[key] >= 15, paid[i] >= 0.999 * most))
        observations, active = reached.copy(), ~(terminated | truncated)
    parts = np.split(np.array(rows), [500, 2_000])
    return [(int(part.all(axis=1).sum()), int(part[:, 0].sum())) for part in parts]


@pytest.mark.parametrize("task", ["Empty-8x8", "DoorKey-6x6", "KeyCorridorS3R1"])
def test_what_was_seen_often_is_not_paid_as_new(task):
    """Not from the first row on; without settling it is (the table in docs/algorithms/sr-norm.md)."""
    found, running = late_maximum(task), late_maximum(task, settle=0)
    print(task, found, "without settling:", running)
    assert [late for late, _ in found] == [0, 0, 0]
    assert all(seen > 30 for _, seen in found)
    assert sum(late for late, _ in running) > 10
