"""Stable-Baselines3 on a sparse MiniGrid task, with and without a bonus.

    python examples/sb3_minigrid.py                     DQN, counts
    python examples/sb3_minigrid.py --agent ppo --bonus rnd
    python examples/sb3_minigrid.py --steps 4000        a shorter look

The agent must cross a room of 14 x 14 cells to a goal that pays once, in at most 120 steps. The bonus
is added to what the agent learns from; what is printed is the reward of the task alone.
"""

from __future__ import annotations

import argparse
import time

import gymnasium
import minigrid  # noqa: F401 (registers the ids)
import numpy as np
import torch
from minigrid.wrappers import FullyObsWrapper, ImgObsWrapper
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from countless.adapters.sb3 import BonusCallback, BonusVecEnv

ENV = "MiniGrid-Empty-16x16-v0"
LIMIT = 120
ENVS = 4


def make_env() -> gymnasium.Env:
    grid = ImgObsWrapper(FullyObsWrapper(gymnasium.make(ENV, max_episode_steps=LIMIT)))
    return Monitor(gymnasium.wrappers.FlattenObservation(grid))


def make_agent(name: str, env: VecEnv, seed: int) -> BaseAlgorithm:
    if name == "ppo":
        return PPO("MlpPolicy", env, n_steps=128, batch_size=128, ent_coef=0.01, seed=seed)
    return DQN(
        "MlpPolicy", env, learning_starts=500, train_freq=1, gradient_steps=1, buffer_size=20_000,
        target_update_interval=500, learning_rate=1e-3, exploration_fraction=0.2,
        exploration_final_eps=0.05, seed=seed,
    )  # fmt: skip


def train(agent: str, bonus: str | None, beta: float, steps: int, seed: int) -> tuple[float, int]:
    """Mean reward of the last 50 episodes, and how many episodes found the goal at all."""
    env: VecEnv = DummyVecEnv([make_env] * ENVS)
    if bonus is not None:
        env = BonusVecEnv(env, bonus, beta=beta)
    env.seed(seed)
    model = make_agent(agent, env, seed)
    found: list[float] = []

    class Episodes(BonusCallback):
        def _on_step(self) -> bool:
            for info in self.locals["infos"]:
                if "episode" in info:
                    found.append(info["episode"]["r"])
            return super()._on_step()

    model.learn(steps, callback=Episodes())
    return float(np.mean(found[-50:] or [0.0])), int(np.count_nonzero(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agent", choices=("dqn", "ppo"), default="dqn")
    parser.add_argument("--bonus", default="counts")
    parser.add_argument("--beta", type=float, default=0.3)
    parser.add_argument("--steps", type=int, default=16_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for bonus in (None, arguments.bonus):
        began = time.perf_counter()
        last, goals = train(arguments.agent, bonus, arguments.beta, arguments.steps, arguments.seed)
        print(
            f"{arguments.agent} {'with ' + bonus if bonus else 'without a bonus':>16}: mean reward "
            f"of the last 50 episodes {last:.2f}, goal reached {goals} times "
            f"({time.perf_counter() - began:.0f} s)"
        )


if __name__ == "__main__":
    main()
