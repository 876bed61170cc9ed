"""Jobs of other people's agents with a bonus of ours: Stable-Baselines3's PPO and DQN.

A host has no checkpoint that would go on to the bit, so a job that was stopped begins anew; its runs
take minutes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from countless.bonuses.registry import bonus_kind
from countless.core.errors import BadInput, install_hint
from countless.core.parameters import check_count
from countless.core.progress import Task
from countless.core.records import ensure_folder, read_json, write_table
from countless.core.seeding import check_seed
from countless.runs.episodes import episode_table
from countless.runs.host_agents import HOSTS, HostConfig, PPOConfig
from countless.runs.job import Execution, Outcome, Stopped
from countless.runs.stopwatch import Stopwatch
from countless.runs.store import about_records

if TYPE_CHECKING:
    import gymnasium
    import pyarrow
    from stable_baselines3.common.vec_env import VecEnv

BITS = 3  # the version number of what decides the bits
SCALED_BITS = 2  # that of a scale around a bonus with a warm-up
LAST = 100  # episodes in the mean that progress shows
EVERY = 0.5  # seconds between two lines of progress


@dataclass(frozen=True)
class HostJob:
    """One seed of a host with one bonus in one environment; all of it decides the bits."""

    engine: ClassVar[str] = "host"
    env: str
    seed: int
    frames: int
    config: HostConfig = field(default_factory=PPOConfig)
    threads: int = 1

    def __post_init__(self) -> None:
        check_seed(self.seed, 32)  # Stable-Baselines3 takes no larger one
        check_count("frames", self.frames)

    @property
    def agent(self) -> str:
        return self.config.agent

    @property
    def label(self) -> str:
        bonus = "no bonus" if self.config.bonus == "none" else self.config.bonus
        seen = " (pictures)" if self.config.view == "pictures" else ""
        return f"{self.agent} with {bonus} in {self.env}{seen}, seed {self.seed}"

    @property
    def units(self) -> int:
        return self.frames

    def identity(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "bits": BITS,
            "agent": self.agent,
            "env": self.env,
            "seed": self.seed,
            "frames": self.frames,
            "threads": self.threads,
            "config": self.config.describe(),
            **self._bonus_version(),
        }

    def _bonus_version(self) -> dict[str, Any]:
        if self.config.bonus == "none":
            return {}
        kind = bonus_kind(self.config.bonus)
        pictures = self.config.view == "pictures"
        version = kind.version(images=pictures, vectors=not pictures)
        # A warm-up once entered the statistics of a scale: only bonuses that have one changed.
        warms_up = "warm_up" in {item.name for item in fields(kind.parameters)}
        if warms_up and self.config.scale != "none":
            version["scaled_bits"] = SCALED_BITS
        return version

    def budget(self) -> dict[str, Any]:
        return {"frames": self.frames}

    def is_met_by(self, finished: Mapping[str, Any]) -> bool:
        return True

    def is_whole(self, records: pyarrow.Table, curves: pyarrow.Table | None) -> bool:
        return True  # one file, which is there or not

    def select(self, records: pyarrow.Table) -> pyarrow.Table:
        return records

    def check(self, folder: Path | None) -> None:
        """The packages that it needs, and the environment."""
        require_hosts(self.agent, self.env)

    def memory(self) -> float:
        """Bytes that the process takes, about."""
        return 1e9 if self.config.view == "pictures" else 5e8

    def execute(self, folder: Path | None, execution: Execution) -> Outcome:
        from countless.agents.dqn.device import torch_threads

        watch = Stopwatch(folder)
        with torch_threads(self.threads):
            episodes = _learn(self, execution)
        table = episode_table(self, episodes)
        if folder is not None:
            about = about_records(read_json(folder / "job.json") or {})
            write_table(ensure_folder(folder / "records") / "episodes.parquet", table, about)
        finished = {
            "frames": self.frames,
            "step": self.frames,
            "seconds": watch.total,
            "steps_per_second": self.frames / max(watch.now, 1e-9),
        }
        return Outcome(table, None, finished)

    def to_message(self) -> dict[str, Any]:
        """As plain data, for a worker."""
        return asdict(self) | {"agent": self.agent}


def read_job(message: Mapping[str, Any]) -> HostJob:
    """A job from `to_message`."""
    settings = dict(message)
    host = HOSTS[settings.pop("agent")]
    return HostJob(**settings | {"config": host(**message["config"])})


def require_hosts(agent: str, env: str) -> None:
    """A clear error where a package that a host needs is missing."""
    for package, extra in (("stable_baselines3", "sb3"), ("torch", "sb3")):
        if find_spec(package) is None:
            raise BadInput(
                f"{agent} needs {package}, which is not installed: {install_hint(extra)}"
            )
    package = env.partition(":")[0]
    if ":" in env and find_spec(package) is None:
        raise BadInput(f"{env} needs {package}, which is not installed: pip install {package}")


def make_env(env: str, view: str) -> gymnasium.Env[Any, Any]:
    """The environment as a host sees it."""
    import gymnasium

    from countless.envs.minigrid import PICTURES, as_pictures, is_minigrid

    made = gymnasium.make(env)
    if not is_minigrid(made):
        return made
    if view == PICTURES:
        return as_pictures(made)
    from minigrid.wrappers import ImgObsWrapper

    symbols = ImgObsWrapper(made)  # type: ignore[no-untyped-call]
    return gymnasium.wrappers.FlattenObservation(symbols)


def _make_envs(job: HostJob) -> VecEnv:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    from countless.adapters.sb3 import BonusVecEnv

    config = job.config
    envs: VecEnv = DummyVecEnv([lambda: Monitor(make_env(job.env, config.view))] * config.envs)
    if config.bonus != "none":
        envs = BonusVecEnv(envs, config.bonus, beta=config.beta, scale=config.scale, seed=job.seed)
    envs.seed(job.seed)
    return envs


def _learn(job: HostJob, execution: Execution) -> list[dict[str, Any]]:
    """Learn to the end of the budget; what is known of each episode."""
    from stable_baselines3.common.callbacks import BaseCallback

    config = job.config
    envs = _make_envs(job)
    diary = _Diary(config.envs, execution.task)

    class Watch(BaseCallback):
        def _on_step(self) -> bool:
            diary.add(self.num_timesteps, self.locals["infos"])
            return not execution.stop()

    model = job.config.model(envs, job.seed)
    model.learn(job.frames, callback=Watch())
    envs.close()
    if execution.stop():
        raise Stopped
    # A host ends with a whole rollout: what lies beyond the budget is not the job's.
    return [episode for episode in diary.episodes if episode["step"] <= job.frames]


class _Diary:
    """What is known of each episode, and a line of progress now and then."""

    def __init__(self, envs: int, task: Task) -> None:
        self.episodes: list[dict[str, Any]] = []
        self._bonuses = np.zeros(envs)
        self._last: deque[float] = deque(maxlen=LAST)
        self._task = task
        self._told, self._then = 0, time.monotonic()

    def add(self, step: int, infos: list[dict[str, Any]]) -> None:
        for lane, info in enumerate(infos):
            self._bonuses[lane] += info.get("intrinsic_reward", 0.0)
            if "episode" not in info:
                continue
            score, steps = float(info["episode"]["r"]), int(info["episode"]["l"])
            self._last.append(score)
            self.episodes.append(
                {
                    "step": step,
                    "total_frames": step,
                    "env": lane,
                    "steps": steps,
                    "score": score,
                    "bonus": self._bonuses[lane] / steps,
                }
            )
            self._bonuses[lane] = 0.0
        now = time.monotonic()
        if now - self._then > EVERY:
            mean = f"{np.mean(self._last):.2f}" if self._last else "-"
            self._task.note(
                f"{step:,} steps, {(step - self._told) / (now - self._then):,.0f}/s, "
                f"{len(self.episodes):,} episodes, mean of last {LAST} {mean}"
            )
            self._task.advance(step - self._told)
            self._told, self._then = step, now
