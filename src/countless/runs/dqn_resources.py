"""Whether a deep run fits: into memory, onto the disk, and its episodes into its replay."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np

from countless.agents.dqn.config import DQNConfig
from countless.agents.dqn.replay import bytes_needed
from countless.core.errors import BadInput, named
from countless.core.memory import available_memory
from countless.envs.frame_env import FrameEnv
from countless.envs.make import means_atari

HEADROOM = 1.5e9  # bytes for the network and its activations


def check_episodes_fit(env: str, c: DQNConfig) -> None:
    """Only finished episodes are learned from: each environment's share must hold two of them."""
    longest = -(-c.max_frames // c.frame_skip)
    if means_atari(env) and c.lane_capacity < 2 * longest:
        raise BadInput(
            f"{named('replay')} {c.replay:,} over {c.envs} environments is {c.lane_capacity:,} frames "
            f"each, less than two episodes of {longest:,} steps; give a larger {named('replay')} or "
            f"fewer {named('envs')}"
        )


def memory_needed(env: FrameEnv, config: DQNConfig) -> float:
    """Bytes that a run takes: its replay and its network."""
    return bytes_needed(config.replay, _frame_bytes(env)) + HEADROOM


def _frame_bytes(env: FrameEnv) -> int:
    return int(np.prod(env.frame_shape)) * int(np.dtype(env.dtype).itemsize)


def check_memory(env: FrameEnv, config: DQNConfig) -> None:
    """The replay and the network must fit into memory."""
    needed, there = memory_needed(env, config), available_memory()
    if needed > there:
        fits = int((there - HEADROOM) / (needed - HEADROOM) * config.replay) // 1000 * 1000
        hint = f"{named('replay', fits)} would fit" if fits >= 1000 else "too little"
        raise BadInput(
            f"a replay of {config.replay:,} frames needs {needed / 1e9:.1f} GB of memory with the "
            f"network, {there / 1e9:.1f} GB are free; {hint}"
        )


def check_memory_together(sizes: Sequence[float], at_once: int) -> None:
    """The largest jobs that may run together must fit into memory together."""
    needed, there = sum(sorted(sizes, reverse=True)[:at_once]), available_memory()
    if needed > there:
        fits = sum(total <= there for total in accumulate(sorted(sizes, reverse=True)[:at_once]))
        several = f"{fits} at once would fit" if fits > 1 else "one at a time would fit"
        raise BadInput(
            f"{at_once} runs at once need {needed / 1e9:.1f} GB of memory, {there / 1e9:.1f} GB are "
            f"free; {several}: give fewer {named('seeds')}, more {named('threads')} each, or a "
            f"{named('replay')} that needs at most {there / at_once / 1e9:.1f} GB"
        )


def disk_needed(env: FrameEnv, config: DQNConfig) -> float:
    """Bytes of two checkpoints: the old one stays until the new one is whole."""
    return 2.0 * (bytes_needed(config.replay, _frame_bytes(env)) + 5e8 * float(config.width) ** 2)


def check_disk(folder: Path, env: FrameEnv, config: DQNConfig) -> None:
    """A checkpoint, and what changes from one to the next, must fit: the last two are kept."""
    needed = disk_needed(env, config)
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    kept = sum(path.stat().st_size for path in folder.glob("checkpoint*/*"))
    there = shutil.disk_usage(existing).free + kept
    if needed > there:
        raise BadInput(
            f"checkpoints need up to {needed / 1e9:.1f} GB in {folder}, {there / 1e9:.1f} GB are "
            f"free; give another folder with {named('out')}, or a smaller {named('replay')}"
        )
