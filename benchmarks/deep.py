"""Speed of the deep agents, each figure a ratio within one run.

python benchmarks/deep.py            all of it, one thread, about five minutes
python benchmarks/deep.py update     an update as a share of a 4096^3 sgemm
python benchmarks/deep.py peers      dqn and dqn-mmc-sr against Stable-Baselines3's DQN
python benchmarks/deep.py small      the same with two dense layers, in CartPole and DeepSea
python benchmarks/deep.py replay     bytes per transition, time to sample
python benchmarks/deep.py profile    where a step of the paper's agent goes
python benchmarks/deep.py scales     steps/s of the scale presets on Montezuma's Revenge

Only when asked for, since it takes 8 GB of memory and 15 GB of disk:

python benchmarks/deep.py checkpoints   the share of a run that checkpoints take, the replay full
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from torch.utils.flop_counter import FlopCounterMode

from countless.agents.dqn.agents import make_config
from countless.agents.dqn.checkpoint import Checkpoints
from countless.agents.dqn.cost import best_time, measure_cost, random_replay
from countless.agents.dqn.device import LEVEL, Device, tune_process
from countless.agents.dqn.learner import Learner
from countless.agents.dqn.network import Spec
from countless.agents.dqn.replay import STEP, bytes_needed
from countless.agents.dqn.trainer import Trainer
from countless.envs.atari import AtariFrameEnv
from countless.envs.make import make_frame_env

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

GAME = "MontezumaRevenge"
EPISODE = 1_000  # frames: short episodes, so that some end before the measurement
SMALL_STEPS = 500
ROUNDS, STEPS = 16, 100  # short rounds: a clock that wanders slows all of a round alike


def update() -> None:
    a, b = torch.randn(4096, 4096), torch.randn(4096, 4096)
    batch = random_replay(AtariFrameEnv(GAME, 0), make_config("dqn")).sample(
        32, np.random.default_rng(0)
    )
    spec = Spec((84, 84), 18, pixels=True)
    configs = {
        "paper": make_config("dqn-mmc-sr"),
        "authors": make_config("dqn-mmc-sr", variant="authors"),
        "Nature-size": make_config("dqn-mmc-sr", parameters={"network": "nature"}),
        "Nature-size, dqn": make_config("dqn", parameters={"network": "nature"}),
    }
    for name, config in configs.items():
        learner = Learner(spec, config, Device(), 0)
        with FlopCounterMode(display=False) as counter:
            learner.losses(batch).total.backward()
        flops = counter.get_total_flops()
        learner.update(batch)
        # Turn and turn about, so that other work on the machine slows both.
        ours, limit = [], []
        for _ in range(6):
            limit.append(best_time(lambda: a @ b, 1))
            ours.append(best_time(lambda learner=learner: learner.update(batch), 1))
        rate, peak = flops / min(ours), 2 * 4096**3 / min(limit)
        print(
            f"update, {name}: {1e3 * min(ours):.0f} ms, {flops / 1e9:.1f} GFLOP, "
            f"{rate / 1e9:.0f} GFLOP/s = {rate / peak:.0%} of sgemm's {peak / 1e9:.0f}"
        )


class Stacked(gymnasium.Env[Any, Any]):
    """The same game for Stable-Baselines3."""

    def __init__(self) -> None:
        self.game = AtariFrameEnv(GAME, 0, max_frames=EPISODE)
        self.observation_space = spaces.Box(0, 255, (84, 84, 1), np.uint8)
        self.action_space = spaces.Discrete(self.game.n_actions)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return self.game.reset()[..., None], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        step = self.game.step(int(action))
        return step.frame[..., None], step.reward, step.terminated, step.truncated, {}


def steady(trainer: Trainer, steps: int) -> Callable[[], float]:
    """Steps/s of the next `steps` steps of an agent that learns."""
    while trainer.step < 50:
        trainer.turn()

    def measure() -> float:
        began = time.perf_counter()
        for _ in range(steps):
            trainer.turn()
        return steps / (time.perf_counter() - began)

    return measure


def ours(agent: str, **parameters: Any) -> Callable[[], float]:
    """An agent in an Atari game."""
    settings = {
        "network": "nature", "replay": 10_000, "warmup": 500, "epsilon": 0.1,
        "epsilon_start": 0.1, "target_period": 10_000, "max_frames": EPISODE,
    }  # fmt: skip
    config = make_config(agent, parameters=settings | parameters)
    game = AtariFrameEnv(GAME, 0, max_frames=config.max_frames)
    return steady(Trainer([game], config, Device(), 0), STEPS)


def theirs(policy: str, env: VecEnv, steps: int, **parameters: Any) -> Callable[[], float]:
    """Stable-Baselines3's DQN: same network, game, batch and update period."""
    from stable_baselines3 import DQN

    settings = {
        "buffer_size": 10_000, "learning_starts": 500, "batch_size": 32, "train_freq": 4,
        "gradient_steps": 1, "gamma": 0.99, "target_update_interval": 10_000,
        "exploration_initial_eps": 0.1, "exploration_final_eps": 0.1, "device": "cpu", "seed": 0,
    }  # fmt: skip
    model = DQN(policy, env, **settings | parameters)
    model.learn(550)

    def measure() -> float:
        began = time.perf_counter()
        model.learn(steps, reset_num_timesteps=False)
        return steps / (time.perf_counter() - began)

    return measure


def compare(runs: dict[str, Callable[[], float]]) -> None:
    """Each against the first, in rounds that take turns."""
    speeds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, measure in runs.items():
            speeds[name].append(measure())
    first = next(iter(runs))
    for name, values in speeds.items():
        low, middle, high = np.quantile(np.array(values) / speeds[first], (0.25, 0.5, 0.75))
        print(
            f"{name}: {np.median(values):.0f} steps/s, {middle:.2f} x in the median of {ROUNDS} "
            f"rounds (middle half: {low:.2f} to {high:.2f})"
        )


def peers() -> None:
    from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack

    compare({
        "Stable-Baselines3 DQN": theirs(
            "CnnPolicy", VecFrameStack(DummyVecEnv([Stacked]), 4), STEPS
        ),
        "dqn": ours("dqn"),
        "dqn-mmc-sr, Nature-size": ours("dqn-mmc-sr"),
        "dqn-mmc-sr, Nature-size, --sr-target next": ours("dqn-mmc-sr", sr_target="next"),
    })  # fmt: skip


class Vectors(gymnasium.Env[Any, Any]):
    """An environment for Stable-Baselines3, its frames as vectors in the network's own units."""

    def __init__(self, name: str) -> None:
        self.game = make_frame_env(name, 0, max_frames=EPISODE)
        self.factor = LEVEL if self.game.dtype == np.uint8 else 1.0
        size = int(np.prod(self.game.frame_shape))
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self.action_space = spaces.Discrete(self.game.n_actions)

    def _vector(self, frame: Any) -> Any:
        return frame.reshape(-1) * np.float32(self.factor)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        return self._vector(self.game.reset()), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        step = self.game.step(int(action))
        return self._vector(step.frame), step.reward, step.terminated, step.truncated, {}


def small() -> None:
    """Two layers of 128 units, Adam, an update every four steps."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    settings = {
        "update_period": 4, "replay": 10_000, "warmup": 500, "epsilon": 0.1, "epsilon_start": 0.1,
        "target_period": 500, "max_frames": EPISODE,
    }  # fmt: skip
    for name in ("CartPole-v1", "bsuite-deepsea-20"):
        env = DummyVecEnv([lambda name=name: Vectors(name)])
        runs = {
            f"{name}, Stable-Baselines3 DQN": theirs(
                "MlpPolicy", env, SMALL_STEPS, target_update_interval=500, learning_rate=0.001,
                policy_kwargs={"net_arch": [128, 128]},
            )
        }  # fmt: skip
        for agent in ("dqn", "dqn-mmc-sr"):
            game = make_frame_env(name, 0, max_frames=EPISODE)
            config = make_config(agent, scale="small", parameters=settings)
            runs[f"{name}, {agent}"] = steady(Trainer([game], config, Device(), 0), SMALL_STEPS)
        compare(runs)


def replay() -> None:
    memory = random_replay(AtariFrameEnv(GAME, 0), make_config("dqn"))
    size = sum(
        getattr(memory, name).nbytes
        for name in ("frames", "actions", "flags", "extrinsic", "intrinsic", "returns")
    )
    random = np.random.default_rng(0)
    seconds = best_time(lambda: memory.sample(32, random), 200)
    print(
        f"replay: {size / memory.capacity:,.0f} bytes per transition, "
        f"{bytes_needed(10**6, 84 * 84) / 1e9:.2f} GB per million; a batch of 32 in "
        f"{1e3 * seconds:.2f} ms"
    )


def profile() -> None:
    """Milliseconds a step of the paper's agent, by part."""
    cost = measure_cost(AtariFrameEnv(GAME, 0), make_config("dqn-mmc-sr"), Device(), rounds=4)
    print(f"a step of the paper's agent: {1e3 * cost.step:.1f} ms, {1 / cost.step:.1f} steps/s")
    for name, seconds in cost.parts.items():
        print(f"  {name}: {1e3 * seconds:.2f} ms, {seconds / cost.step:.0%}")


def scales() -> None:
    for scale in ("smoke", "laptop", "paper"):
        config = make_config("dqn-mmc-sr", scale=scale)
        names = ("network", "width", "update_period")
        settings: dict[str, Any] = {name: getattr(config, name) for name in names}
        speed = float(np.median([ours("dqn-mmc-sr", **settings)() for _ in range(2)]))
        print(f"dqn-mmc-sr --scale {scale}: {speed:.0f} steps/s on one core")


def checkpoints(every: float = 600.0) -> None:
    """How long the paper's agent waits for a checkpoint every ten minutes, its replay full."""
    config = make_config("dqn-mmc-sr")
    game = AtariFrameEnv(GAME, 0)
    step = measure_cost(game, config, Device(), rounds=2).step
    trainer = Trainer([game], config, Device(), 0)
    frames = np.random.default_rng(0).integers(0, 256, (997, *game.frame_shape), np.uint8)

    def play(slots: int) -> None:
        for i in range(slots):
            trainer.replay.append(0, frames[i % len(frames)], 0, 0.0, STEP)
            if i % EPISODE == EPISODE - 1:
                trainer.replay.finish(0, lambda extrinsic, _: extrinsic, 0.99, 0.0)

    play(config.replay + 10_000)
    print(f"{config.replay:,} frames, a checkpoint every {every:.0f} s")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        kept = Checkpoints(Path(folder) / "checkpoint")
        for speed in (0.0, 1 / step, 100.0, 1000.0):
            play(int(every * speed))
            began = time.perf_counter()
            kept.save(trainer)
            seconds = time.perf_counter() - began
            newest = max(int(path.name.split(".")[-2]) for path in kept.folder.glob("network.*"))
            files = kept.folder.glob(f"*.{newest}.safetensors")
            written = sum(path.stat().st_size for path in files) / 1e9
            name = f"what changed at {speed:.0f} steps/s" if speed else "all of it, once"
            print(
                f"{name}: {written:.2f} GB in {seconds:.1f} s, {seconds / every:.1%} of {every:.0f} s"
            )


PARTS: dict[str, Callable[[], None]] = {
    "update": update, "peers": peers, "small": small, "replay": replay, "profile": profile,
    "scales": scales, "checkpoints": checkpoints,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    arguments = parser.parse_args()
    tune_process(threads=1)
    for name in arguments.parts or [name for name in PARTS if name != "checkpoints"]:
        if name not in PARTS:
            parser.error(f"unknown part {name!r}; there are {', '.join(PARTS)}")
        PARTS[name]()


if __name__ == "__main__":
    main()
