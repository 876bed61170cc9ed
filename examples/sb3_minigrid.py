"""Stable-Baselines3 on a sparse MiniGrid task, without and with a bonus.

    python examples/sb3_minigrid.py                                     PPO with sr-norm, two doors
    python examples/sb3_minigrid.py --bonus counts --seeds 0 1 2
    python examples/sb3_minigrid.py --env MiniGrid-DoorKey-6x6-v0 --steps 120000
    python examples/sb3_minigrid.py --agent dqn --env CartPole-v1 --steps 60000
    python examples/sb3_minigrid.py --steps 4000                        a shorter look

By default the agent must open a door, fetch the key behind it, open the locked door with it and pick
up a ball, which pays once. The bonus is added to what the agent learns from; what is printed is the
reward of the task alone.
"""

from __future__ import annotations

import argparse
import time

import gymnasium
import minigrid  # noqa: F401 (registers the ids)
import numpy as np
import torch
from minigrid.wrappers import ImgObsWrapper
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from countless.adapters.sb3 import BonusCallback, BonusVecEnv


def make_env(name: str) -> gymnasium.Env:
    env = gymnasium.make(name)
    if isinstance(env.observation_space, gymnasium.spaces.Dict):  # MiniGrid's cells, and a text
        env = gymnasium.wrappers.FlattenObservation(ImgObsWrapper(env))
    return Monitor(env)


def make_agent(name: str, env: VecEnv, seed: int) -> BaseAlgorithm:
    if name == "ppo":
        return PPO("MlpPolicy", env, n_steps=128, batch_size=256, n_epochs=4, seed=seed)
    # Many copies into the target network, and a smaller discount: where rewards are rare, what an
    # untrained network promises fades by the discount with each copy, and must fade within the run.
    return DQN(
        "MlpPolicy", env, gamma=0.95, target_update_interval=100, learning_rate=5e-4, batch_size=64,
        learning_starts=2_000, train_freq=1, gradient_steps=4, buffer_size=100_000,
        exploration_fraction=0.3, seed=seed,
    )  # fmt: skip


def train(
    agent: str, name: str, bonus: str | None, beta: float, scale: str, steps: int, seed: int
) -> list[float]:
    """The rewards of all episodes."""
    env: VecEnv = DummyVecEnv([lambda: make_env(name)] * 8)
    if bonus is not None:
        env = BonusVecEnv(env, bonus, beta=beta, scale=scale, seed=seed)
    env.seed(seed)
    model = make_agent(agent, env, seed)
    rewards: list[float] = []

    class Episodes(BonusCallback):
        def _on_step(self) -> bool:
            for info in self.locals["infos"]:
                if "episode" in info:
                    rewards.append(info["episode"]["r"])
            return super()._on_step()

    model.learn(steps, callback=Episodes())
    return rewards


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="MiniGrid-KeyCorridorS3R1-v0")
    parser.add_argument("--agent", choices=("dqn", "ppo"), default="ppo")
    parser.add_argument("--bonus", default="sr-norm", help="or none: the agent alone")
    parser.add_argument("--beta", type=float, default=0.3)
    parser.add_argument("--scale", choices=("standardise", "std", "none"), default="standardise")
    parser.add_argument("--steps", type=int, default=70_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    given = parser.parse_args()
    torch.set_num_threads(1)
    for bonus in (None,) if given.bonus == "none" else (None, given.bonus):
        for seed in given.seeds:
            began = time.perf_counter()
            rewards = train(
                given.agent, given.env, bonus, given.beta, given.scale, given.steps, seed
            )
            last = np.array(rewards[-100:] or [0.0])
            print(
                f"{given.agent} {'with ' + bonus if bonus else 'without a bonus':>16}, seed {seed}: "
                f"mean reward of the last 100 episodes {last.mean():.2f}, of the last 20 "
                f"{np.count_nonzero(last[-20:])} are rewarded ({time.perf_counter() - began:.0f} s)",
                flush=True,
            )


if __name__ == "__main__":
    main()
