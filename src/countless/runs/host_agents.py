"""Other people's agents that a bonus is put around: Stable-Baselines3's PPO and DQN."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from countless.core.parameters import choice, real, validate, whole, word

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.vec_env import VecEnv


@dataclass(frozen=True)
class HostConfig(ABC):
    """What all hosts have: the bonus around them, what both see, and how they learn."""

    agent: ClassVar[str]

    bonus: str = word("none", "a name of `countless list bonuses`, or none")
    beta: float = real(0.3, "factor on the bonus", "[0, inf)")
    scale: str = choice(
        "standardise",
        "how the bonus is scaled: see docs/bonuses.md",
        ("none", "std", "standardise"),
    )
    view: str = choice(
        "symbols",
        "MiniGrid: what the agent sees, the codes of the cells before it or a picture of them; other "
        "environments show what they show",
        ("symbols", "pictures"),
    )
    envs: int = whole(8, "environments stepped together", "[1, 512]")
    learning_rate: float = real(0.0003, "step size of Adam", "(0, inf)")
    gamma: float = real(0.99, "discount", "[0, 1)")

    def __post_init__(self) -> None:
        validate(self)

    @abstractmethod
    def probe(self) -> tuple[Self, int]:
        """What to run, and for how many steps, to know the speed of most of a run."""

    def describe(self) -> dict[str, Any]:
        return asdict(self)

    @abstractmethod
    def model(self, envs: VecEnv, seed: int) -> BaseAlgorithm:
        """The agent that learns in these environments."""


@dataclass(frozen=True)
class PPOConfig(HostConfig):
    """PPO as Stable-Baselines3 has it, but for shorter rollouts."""

    agent: ClassVar[str] = "ppo"

    rollout: int = whole(128, "steps of each environment between updates", "[2, inf)")
    batch: int = whole(256, "steps per gradient", "[2, inf)")
    epochs: int = whole(4, "passes over the steps of an update", "[1, inf)")
    entropy: float = real(0.0, "weight of the entropy in the loss", "[0, inf)")

    def probe(self) -> tuple[Self, int]:
        return self, 2 * self.rollout * self.envs  # two updates

    def model(self, envs: VecEnv, seed: int) -> BaseAlgorithm:
        from stable_baselines3 import PPO

        return PPO(
            _policy(envs),
            envs,
            learning_rate=self.learning_rate,
            n_steps=self.rollout,
            batch_size=self.batch,
            n_epochs=self.epochs,
            gamma=self.gamma,
            ent_coef=self.entropy,
            seed=seed,
            device="cpu",
        )


@dataclass(frozen=True)
class SB3DQNConfig(HostConfig):
    """DQN as Stable-Baselines3 has it, set up for small tasks.

    What an untrained network promises where there is no reward fades by `gamma` with each copy into
    the target network (docs/deep.md): with few copies and a discount near 1 it outlives a short run.
    """

    agent: ClassVar[str] = "sb3-dqn"

    learning_rate: float = real(0.0005, "step size of Adam", "(0, inf)")
    gamma: float = real(0.95, "discount", "[0, 1)")
    batch: int = whole(64, "transitions per gradient", "[1, inf)")
    gradients: int = whole(4, "gradients per step of all environments", "[1, inf)")
    buffer: int = whole(100_000, "transitions in the replay", "[1, inf)")
    warmup: int = whole(2_000, "steps before the first gradient", "[0, inf)")
    target_period: int = whole(100, "steps between two copies into the target network", "[1, inf)")
    epsilon: float = real(0.05, "share of random actions, in the end", "[0, 1]")
    epsilon_share: float = real(0.3, "share of the run over which epsilon falls from 1", "(0, 1]")

    def probe(self) -> tuple[Self, int]:
        return replace(self, warmup=0), 100 * self.envs  # of each a hundred, all with gradients

    def model(self, envs: VecEnv, seed: int) -> BaseAlgorithm:
        from stable_baselines3 import DQN

        return DQN(
            _policy(envs),
            envs,
            learning_rate=self.learning_rate,
            buffer_size=self.buffer,
            learning_starts=self.warmup,
            batch_size=self.batch,
            gamma=self.gamma,
            train_freq=1,
            gradient_steps=self.gradients,
            target_update_interval=self.target_period,
            exploration_fraction=self.epsilon_share,
            exploration_final_eps=self.epsilon,
            seed=seed,
            device="cpu",
        )


HOSTS: dict[str, type[HostConfig]] = {host.agent: host for host in (PPOConfig, SB3DQNConfig)}


def _policy(envs: VecEnv) -> str:
    pixels = len(envs.observation_space.shape or ()) == 3
    return "CnnPolicy" if pixels else "MlpPolicy"
