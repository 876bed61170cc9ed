"""A plain Gymnasium loop, CleanRL's way, with a bonus in three lines: Q-learning in DeepSea.

Gymnasium's vector environments use the step after the end of an episode to reset (their default,
`AutoresetMode.NEXT_STEP`). That step is no transition: neither agent nor bonus may learn from it.

python examples/gymnasium_loop.py
python examples/gymnasium_loop.py --bonus counts --seed 1
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np

import countless.envs  # noqa: F401 (registers the ids)
from countless.bonuses import make_bonus

ENVS = 4


def learn(bonus_name: str | None, beta: float, steps: int, seed: int) -> tuple[int, list[bool]]:
    """Visited states, and the episodes that found the treasure: only ten times right leads there."""
    envs = gymnasium.make_vec("countless/DeepSea-v0", num_envs=ENVS, vectorization_mode="sync")
    states, actions = envs.single_observation_space.n, envs.single_action_space.n
    bonus = make_bonus(bonus_name, int(states), beta=beta) if bonus_name else None  # 1
    # An action never tried is worth the full bonus for ever; without a bonus, nothing.
    q = np.full((states, actions), beta / (1 - 0.95) if bonus else 0.0)
    rng = np.random.default_rng(seed)
    seen: set[int] = set()
    found: list[bool] = []
    obs, _ = envs.reset(seed=seed)
    active = np.ones(ENVS, dtype=bool)  # environments whose next step is not a reset
    for step in range(steps // ENVS):
        epsilon = max(0.0, 0.05 * (1 - 2 * step * ENVS / steps))  # none in the second half
        greedy = (q[obs] + 1e-9 * rng.random((ENVS, actions))).argmax(axis=1)
        action = np.where(rng.random(ENVS) < epsilon, rng.integers(0, actions, ENVS), greedy)
        next_obs, reward, terminated, truncated, _ = envs.step(action)
        found += (reward > 0.5)[terminated].tolist()
        if bonus is not None:
            intrinsic = bonus.observe(  # 2
                obs,
                next_observations=next_obs,
                dones=terminated,
                truncations=truncated,
                active=active,
            )
            reward = reward + intrinsic  # 3
        target = reward + 0.95 * np.where(terminated, 0.0, q[next_obs].max(axis=1))
        for i in np.flatnonzero(active):
            q[obs[i], action[i]] += 0.2 * (target[i] - q[obs[i], action[i]])
        seen.update(obs[active].tolist())
        obs, active = next_obs, ~(terminated | truncated)
    return len(seen), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bonus", default="sr-norm")
    parser.add_argument("--beta", type=float, default=0.01)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in (None, arguments.bonus):
        seen, found = learn(name, arguments.beta, arguments.steps, arguments.seed)
        label = f"with {name}" if name else "without a bonus"
        print(
            f"{label:>16}: {seen} of 55 states seen, the treasure found in {sum(found)} of "
            f"{len(found):,} episodes and in {sum(found[-20:])} of the last 20"
        )


if __name__ == "__main__":
    main()
