"""What a step of a deep agent costs here, part by part, without running the agent."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch.utils.flop_counter import FlopCounterMode

from countless.agents.dqn.actor import Actor
from countless.agents.dqn.bonus import make_exploration_bonus
from countless.agents.dqn.config import DQNConfig
from countless.agents.dqn.device import Device
from countless.agents.dqn.learner import Learner
from countless.agents.dqn.network import Spec
from countless.agents.dqn.replay import FIRST, STEP, Replay
from countless.envs.frame_env import FrameEnv

PLAYED = 20  # steps of the environment that are timed at once
EPISODE = 100
# What one accelerator is taken to do of these small convolutions in float32, and what waits beside.
ASSUMED_FLOPS, ASSUMED_OVERHEAD = 5e12, 1.5e-3


@dataclass(frozen=True)
class Cost:
    """Seconds of an agent step by part, and the floating-point operations of an update."""

    parts: dict[str, float]
    update_flops: float
    update_period: int

    @property
    def step(self) -> float:
        return sum(self.parts.values())

    @property
    def assumed_step(self) -> float:
        """Seconds of a step on an accelerator, estimated: see `ASSUMED_FLOPS`."""
        waiting = ASSUMED_OVERHEAD + self.parts["environment"]
        return self.update_flops / self.update_period / ASSUMED_FLOPS + waiting


def measure_cost(game: FrameEnv, config: DQNConfig, device: Device, rounds: int = 2) -> Cost:
    """Time each part of a step a few times; the best counts."""
    spec, learning = Spec(game.frame_shape, game.n_actions, game.pixels), config.learning
    learner = Learner(spec, config, device, 0)
    memory = random_replay(game, config)
    random = np.random.default_rng(0)
    batch = memory.sample(learning.batch, random)
    with FlopCounterMode(display=False) as counter:
        learner.with_gradients(batch)

    bonus = make_exploration_bonus(config, spec, learner, 0, warm=True)
    actor = Actor(game, config.architecture.history, across=False)
    actor.begin()

    def give_bonuses() -> None:
        for slot in range(bonus.batch):
            bonus.observe([actor])
            bonus.remember(0, slot, actor.stack)

    period = learning.update_period
    parts = {
        "environment": best_time(lambda: play(game), rounds) / PLAYED,
        "action": (1 - config.exploration.epsilon)
        * best_time(lambda: learner.greedy(batch.s_tm1[:1]), 3 * rounds),
        "replay": best_time(lambda: memory.sample(learning.batch, random), 5 * rounds) / period,
        "losses and gradients": best_time(lambda: learner.with_gradients(batch), rounds) / period,
        "optimiser": best_time(learner.optimiser.step, rounds) / period,
        "bonus": best_time(give_bonuses, 3 * rounds) / bonus.batch,
    }
    return Cost(parts, float(counter.get_total_flops()), period)


def play(game: FrameEnv) -> None:
    """Some steps, over the ends of episodes."""
    for _ in range(PLAYED):
        step = game.step(0)
        if step.terminated or step.truncated:
            game.reset()


def random_replay(game: FrameEnv, config: DQNConfig, slots: int = 500) -> Replay:
    """A replay of random frames in short episodes."""
    random = np.random.default_rng(0)
    replay = Replay(1, slots, game.frame_shape, game.dtype, config.architecture.history)
    for i in range(slots):
        frame = random.integers(0, 256, game.frame_shape).astype(game.dtype)
        flags = STEP | (FIRST if i % EPISODE == 0 else 0)
        replay.append(0, frame, i % game.n_actions, 0.0, flags)
        if i % EPISODE == EPISODE - 1:
            replay.finish(0, lambda extrinsic, intrinsic: extrinsic, config.losses.gamma, 0.0)
    return replay


def best_time(work: Callable[[], Any], rounds: int) -> float:
    """The shortest of several times, in seconds."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)
