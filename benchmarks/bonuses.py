"""How fast the bonuses are, and what they add to an agent: each ratio within this one run.

    python benchmarks/bonuses.py            frames/s, memory of CTS, share of a DQN step, SB3
    python benchmarks/bonuses.py sb3        only what Stable-Baselines3 keeps of its speed
    python benchmarks/bonuses.py --json     one JSON document

Frames are 84 x 84 with a moving block on a fixed background. Frames/s depend on what else the
machine does: the load average is printed with them.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

import countless.envs  # noqa: F401 (registers the ids)
from countless.adapters.sb3 import BonusVecEnv
from countless.analysis.tables import Table
from countless.bonuses import Bonus, make_bonus
from countless.cli.output import print_table

BATCHES = (1, 8, 32)
FRAMES = 512
SECONDS = 2.0
REPEATS = 3
STATES = 104
SB3_STEPS = 8_192
SB3_ENVS = 8
SB3_BONUSES = ("counts", "sr-norm", "rnd")
IMAGE_BONUSES = ("counts", "cts", "pixelcnn", "rnd", "sr-norm")
STATE_BONUSES = ("counts", "sr-norm", "ssr")


def make_frames(seed: int = 0) -> np.ndarray:
    """(FRAMES, 84, 84): one background, a block that wanders."""
    rng = np.random.default_rng(seed)
    frames = np.repeat(rng.integers(0, 256, (1, 84, 84), dtype=np.uint8), FRAMES, axis=0)
    place = np.array([36, 36])
    for frame in frames:
        place = np.clip(place + rng.integers(-6, 7, 2), 0, 72)
        frame[place[0] : place[0] + 12, place[1] : place[1] + 12] = 255
    return frames


def seconds_each(work: Callable[[int], Any], seconds: float = SECONDS) -> float:
    """Seconds of one call: the best of a few stretches."""
    work(0)
    calls, best = 0, float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter()
        first = calls
        while time.perf_counter() - began < seconds / REPEATS or calls == first:
            calls += 1
            work(calls)
        best = min(best, (time.perf_counter() - began) / (calls - first))
    return best


def feeder(bonus: Bonus, data: np.ndarray, batch: int) -> Callable[[int], Any]:
    """observe() on consecutive slices: compute and update in one pass."""

    def step(i: int) -> None:
        at = (i * batch) % (len(data) - batch)
        bonus.observe(data[at : at + batch], next_observations=data[at + 1 : at + batch + 1])

    return step


def throughput() -> list[dict[str, Any]]:
    frames = make_frames()
    walk = np.random.default_rng(0).integers(0, STATES, 4096)
    rows = []
    for kind, names, data, observations in (
        ("image", IMAGE_BONUSES, frames, (84, 84)),
        ("states", STATE_BONUSES, walk, STATES),
    ):
        for name in names:
            row: dict[str, Any] = {"bonus": name, "observations": kind}
            for batch in BATCHES:
                bonus = make_bonus(name, observations, **({"warm_up": 0} if name == "rnd" else {}))
                each = seconds_each(feeder(bonus, data, batch))
                row[str(batch)] = batch / each
                if name == "cts":
                    row["megabytes"] = bonus.memory() / 2**20  # type: ignore[attr-defined]
            rows.append(row)
    return rows


class DQNStep:
    """One step of eight environments: choose eight actions, two updates of batch 32 (one in four)."""

    def __init__(self) -> None:
        self.network = self._network()
        self.target = self._network()
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=1e-4, fused=True)
        rng = np.random.default_rng(0)
        self.stacks = torch.as_tensor(rng.integers(0, 256, (64, 4, 84, 84), dtype=np.uint8))

    @staticmethod
    def _network() -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(),
            nn.Linear(512, 18),
        )  # fmt: skip

    def __call__(self, i: int) -> None:
        inputs = self.stacks.float() / 255.0
        with torch.no_grad():
            self.network(inputs[:8]).argmax(dim=1)
        for _ in range(2):
            with torch.no_grad():
                goal = 0.99 * self.target(inputs[32:]).max(dim=1).values
            loss = nn.functional.smooth_l1_loss(self.network(inputs[:32])[:, 0], goal)
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()


def share_of_dqn() -> list[dict[str, Any]]:
    """Time that a bonus adds to a DQN step at B = 8; both sides measured in turn."""
    frames = make_frames()
    step = DQNStep()
    rows = []
    for name in ("rnd", "sr-norm", "cts", "counts"):
        bonus = make_bonus(name, (84, 84), **({"warm_up": 0} if name == "rnd" else {}))
        feed = feeder(bonus, frames, 8)
        alone, added = [], []
        for _ in range(REPEATS):
            alone.append(seconds_each(step))
            added.append(seconds_each(feed))
        rows.append({
            "bonus": name, "dqn_ms": 1e3 * min(alone), "bonus_ms": 1e3 * min(added),
            "share": min(added) / min(alone),
        })  # fmt: skip
    return rows


def sb3_kept() -> list[dict[str, Any]]:
    """Steps/s of SB3's PPO and DQN on vectors, alone and with a bonus, turn about; what is kept."""
    hosts: dict[str, Callable[[Any], Any]] = {
        "PPO": lambda env: PPO(
            "MlpPolicy", env, n_steps=128, batch_size=256, n_epochs=4, device="cpu", seed=0
        ),
        "DQN": lambda env: DQN("MlpPolicy", env, learning_starts=100, device="cpu", seed=0),
    }

    def speed(host: str, bonus: str) -> float:
        env: Any = DummyVecEnv([lambda: gymnasium.make("CartPole-v1")] * SB3_ENVS)
        model = hosts[host](BonusVecEnv(env, bonus) if bonus else env)
        began = time.perf_counter()
        model.learn(SB3_STEPS)
        return SB3_STEPS / (time.perf_counter() - began)

    rows = []
    for host in hosts:
        kinds = ("", *SB3_BONUSES)
        speeds = [[speed(host, bonus) for bonus in kinds] for _ in range(REPEATS)]
        plain, *others = (max(column) for column in zip(*speeds, strict=True))
        rows += [
            {"host": host, "bonus": bonus, "plain": plain, "with": best, "kept": best / plain}
            for bonus, best in zip(SB3_BONUSES, others, strict=True)
        ]
    return rows


def tables(result: dict[str, Any]) -> list[Table]:
    made = []
    if "throughput" in result:
        speed = tuple(
            (row["bonus"], row["observations"], *(f"{row[str(b)]:,.0f}" for b in BATCHES))
            for row in result["throughput"]
        )
        memory = max(row.get("megabytes", 0.0) for row in result["throughput"])
        shares = tuple(
            (row["bonus"], f"{row['bonus_ms']:.1f}", f"{row['dqn_ms']:.1f}", f"{row['share']:.0%}")
            for row in result["share_of_dqn"]
        )
        made += [
            Table(
                "Frames/s, compute and update",
                ("bonus", "observations", *(f"B = {b}" for b in BATCHES)), speed, labels=2,
                note=f"CTS: trees of {memory:.0f} MB at most",
            ),
            Table(
                "Added to a DQN step of 8 environments (ms)", ("bonus", "bonus", "DQN", "added"),
                shares,
            ),
        ]  # fmt: skip
    kept = tuple(
        (
            row["host"],
            row["bonus"],
            f"{row['plain']:,.0f}",
            f"{row['with']:,.0f}",
            f"{row['kept']:.0%}",
        )
        for row in result["sb3"]
    )
    note = f"load average {result['load']:.1f}, {result['threads']} torch threads"
    columns = ("host", "bonus", "alone", "with the bonus", "kept")
    title = f"Stable-Baselines3 on CartPole-v1, {SB3_ENVS} environments: steps/s"
    return [*made, Table(title, columns, kept, labels=2, note=note)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=("sb3",), help="only this part")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--threads", type=int, default=1, help="of torch (default: 1)")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    result: dict[str, Any] = {"load": os.getloadavg()[0], "threads": arguments.threads}
    if arguments.part is None:
        result |= {"throughput": throughput(), "share_of_dqn": share_of_dqn()}
    result["sb3"] = sb3_kept()
    if arguments.json:
        print(json.dumps(result))
        return
    for table in tables(result):
        print_table(table)


if __name__ == "__main__":
    main()
