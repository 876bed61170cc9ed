"""A deep run and its folder: it starts, goes on, stops and resumes there."""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from countless.agents.dqn import checkpoint
from countless.agents.dqn.agents import FRAMES, make_config
from countless.agents.dqn.config import DQNConfig
from countless.agents.dqn.device import Device, make_device
from countless.agents.dqn.features import FeatureHealth
from countless.agents.dqn.learner import NonFiniteLossError
from countless.agents.dqn.replay import bytes_needed
from countless.agents.dqn.trainer import FinishedEpisode, StepRecord, Trainer
from countless.agents.dqn.writers import EpisodeLog, Events
from countless.core.errors import BadInput, CountlessError
from countless.core.memory import available_memory
from countless.core.records import read_json
from countless.core.seeding import check_seed, derived_seed
from countless.envs.atari import PROTOCOL
from countless.envs.game import Game
from countless.envs.games import game_label, make_game, means_atari, one_name
from countless.runs.deep_folder import (
    LAST,
    check_folder,
    check_nothing_is_lost,
    finished_episodes,
    locked,
    make_folder,
    mark_finished,
    performance,
    read_episodes,
)

REPORT_EVERY = 0.5  # seconds
HEADROOM = 1.5e9  # bytes for the network and its activations


@dataclass(frozen=True)
class DeepJob:
    """What to run; all but `frames`, `device` and `save_every` decides its bits."""

    agent: str
    env: str
    config: DQNConfig
    seed: int
    frames: int
    device: Device = field(default_factory=Device)
    save_every: float = 600.0
    label: str = ""  # the folder's name, where it is not the agent's

    def folder(self, out: Path) -> Path:
        return out / (self.label or self.agent) / game_label(self.env) / f"seed-{self.seed}"

    def identity(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "env": self.env,
            "seed": self.seed,
            "precision": self.device.precision,
            "compile": self.device.compile,
            "config": self.config.describe(),
        }


@dataclass(frozen=True)
class Status:
    """How a run stands, for whoever shows it."""

    job: DeepJob
    warm: int
    frames: int
    frames_per_second: float
    episodes: int
    mean_score: float | None
    epsilon: float
    bonus: float | None


@dataclass(frozen=True)
class DeepResult:
    """A run that reached its frames."""

    job: DeepJob
    folder: Path
    episodes: list[dict[str, Any]]
    seconds: float  # of this call
    steps_per_second: float | None  # of this call, after the warm-up
    features: FeatureHealth | None  # at the end

    @property
    def scores(self) -> list[float]:
        return [float(episode["score"]) for episode in self.episodes]

    @property
    def performance(self) -> float | None:
        """The mean of the last 100 episodes; None before the first one ends."""
        return performance(self.episodes)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.job.identity(),
            "frames": self.job.frames,
            "episodes": len(self.episodes),
            "performance": self.performance,
            "last_scores": self.scores[-LAST:],
            "seconds": self.seconds,
            "steps_per_second": self.steps_per_second,
            "features": None if self.features is None else self.features.describe(),
            "folder": str(self.folder),
        }


class Stopped(Exception):  # noqa: N818 (nothing went wrong)
    """The run was asked to stop, and its checkpoint is written."""


def no_stop() -> bool:
    return False


def run_deep(
    job: DeepJob,
    out: Path,
    *,
    report: Callable[[Status], None] = lambda status: None,
    stop: Callable[[], bool] = no_stop,
) -> DeepResult:
    """Run a job, or go on with it, until its frames are played; all of it stays in its folder."""
    check_seed(job.seed)
    if job.frames < 1:
        raise BadInput(f"frames must be at least 1, not {job.frames}")
    folder = job.folder(out)
    finished = finished_episodes(folder, job.identity(), job.frames)
    if finished is not None:
        return DeepResult(job, folder, finished, 0.0, None, None)
    check_folder(folder, job.identity())
    trainer = make_trainer(job)
    check_room(folder, trainer, job)
    make_folder(folder, job.identity())
    with locked(folder):
        return _run_locked(job, folder, trainer, report, stop)


def _run_locked(
    job: DeepJob,
    folder: Path,
    trainer: Trainer,
    report: Callable[[Status], None],
    stop: Callable[[], bool],
) -> DeepResult:
    began = time.perf_counter()
    kept = checkpoint.find(folder / "checkpoint")
    if kept is not None:
        checkpoint.load(kept, trainer)
    else:
        check_nothing_is_lost(folder)
    first = trainer.step
    with (
        closing(EpisodeLog(folder / "episodes.jsonl", keep_until=first)) as log,
        closing(Events(folder / "events", purge=first, updates=trainer.updates)) as events,
    ):
        watch = _Watch(job, trainer, log.scores, report)
        _go_on(job, folder, trainer, log, events, watch, stop)
    seconds = time.perf_counter() - began
    mark_finished(folder, job.frames, trainer.step)
    episodes, features = read_episodes(folder, job.frames), trainer.feature_health()
    return DeepResult(job, folder, episodes, seconds, watch.steps_per_second, features)


def _go_on(
    job: DeepJob,
    folder: Path,
    trainer: Trainer,
    log: EpisodeLog,
    events: Events,
    watch: _Watch,
    stop: Callable[[], bool],
) -> None:
    saved = time.monotonic()
    try:
        for moment in trainer.turns(job.frames):
            for ended in moment.finished:
                if not ended.warmup:
                    log.add(ended)
                    events.episode(ended)
            if moment.losses is not None:
                events.update(trainer.updates, moment)
            watch.look(moment)
            if stop():
                _save(folder, trainer)
                raise Stopped
            if time.monotonic() - saved > job.save_every:
                _save(folder, trainer)
                saved = time.monotonic()
    except NonFiniteLossError as error:
        path = folder / "nonfinite_batch.npz"
        np.savez(path, **error.batch.arrays())  # type: ignore[arg-type]
        raise CountlessError(f"{error} at step {trainer.step}; the batch is in {path}") from None
    watch.end()
    _save(folder, trainer)


def _save(folder: Path, trainer: Trainer) -> None:
    checkpoint.save(folder / "checkpoint", trainer)


class _Watch:
    """Reports on the run a few times a second."""

    def __init__(
        self,
        job: DeepJob,
        trainer: Trainer,
        scores: list[float],
        report: Callable[[Status], None],
    ) -> None:
        self._job, self._report = job, report
        self._last = deque(scores, maxlen=LAST)
        self._bonus: float | None = None
        self._episodes = len(scores)
        self._then = time.monotonic()
        self._frames = self._played(trainer.frames, trainer.warm)
        self._speed, self._warm = 0.0, True
        self._moment: StepRecord | None = None
        self._seen = self._then
        self._learning: tuple[float, int] | None = None  # since when, from which step on

    @property
    def steps_per_second(self) -> float | None:
        """Of the steps that were learned from; None where there was none."""
        if self._learning is None or self._moment is None:
            return None
        since, step = self._learning
        return (self._moment.step - step) / max(self._seen - since, 1e-9)

    def look(self, moment: StepRecord) -> None:
        self._seen = time.monotonic()
        if self._learning is None and moment.step > 0:
            self._learning = self._seen, moment.step
        for ended in moment.finished:
            if not ended.warmup:
                self._count(ended)
        self._moment = moment
        if self._seen - self._then > REPORT_EVERY:
            self.tell(moment)

    def _count(self, ended: FinishedEpisode) -> None:
        self._last.append(ended.episode.score)
        self._episodes += 1
        if ended.episode.bonus:
            self._bonus = ended.episode.bonus / ended.episode.steps

    def _played(self, frames: int, warm: int) -> int:
        return frames + warm * self._job.config.protocol.frame_skip

    def end(self) -> None:
        """A last report, if there was anything left to play."""
        if self._moment is not None:
            self.tell(self._moment)

    def tell(self, moment: StepRecord) -> None:
        now, played = time.monotonic(), self._played(moment.frames, moment.warm)
        speed = (played - self._frames) / max(now - self._then, 1e-9)
        # The warm-up is faster than learning: its speed says nothing about what is left.
        fresh = self._speed == 0.0 or self._warm
        self._speed = speed if fresh else 0.9 * self._speed + 0.1 * speed
        self._then, self._frames, self._warm = now, played, moment.frames == 0
        self._report(
            Status(
                job=self._job,
                warm=moment.warm,
                frames=moment.frames,
                frames_per_second=self._speed,
                episodes=self._episodes,
                mean_score=float(np.mean(self._last)) if self._last else None,
                epsilon=moment.epsilon,
                bonus=self._bonus,
            )
        )


def make_trainer(job: DeepJob) -> Trainer:
    """The agent and its environments, at the beginning."""
    c = job.config
    protocol = {name: getattr(c, name) for name in PROTOCOL}
    games: list[Game] = [
        make_game(job.env, derived_seed(job.seed, f"environment {i}") % 2**31, **protocol)
        for i in range(c.envs)
    ]
    _check_memory(games[0], c)
    _check_lanes(job)
    return Trainer(games, c, job.device, job.seed)


def _check_lanes(job: DeepJob) -> None:
    """Only finished episodes are learned from: each environment's share must hold two of them."""
    c = job.config
    longest = -(-c.max_frames // c.frame_skip)
    if means_atari(job.env) and c.lane_capacity < 2 * longest:
        raise BadInput(
            f"replay {c.replay:,} over {c.envs} environments is {c.lane_capacity:,} frames each, "
            f"less than two episodes of {longest:,} steps; give a larger --replay or fewer --envs"
        )


def memory_needed(game: Game, config: DQNConfig) -> float:
    """Bytes that a run takes: its replay and its network."""
    frame = int(np.prod(game.frame_shape)) * np.dtype(game.dtype).itemsize
    return bytes_needed(config.replay, frame) + HEADROOM


def _check_memory(game: Game, config: DQNConfig) -> None:
    needed, there = memory_needed(game, config), available_memory()
    if needed > there:
        fits = int((there - HEADROOM) / (needed - HEADROOM) * config.replay)
        hint = f"--replay {max(fits, 0) // 1000 * 1000} would fit" if fits >= 1000 else "too little"
        raise BadInput(
            f"a replay of {config.replay:,} frames needs {needed / 1e9:.1f} GB of memory with the "
            f"network, {there / 1e9:.1f} GB are free; {hint}"
        )


def check_room(folder: Path, trainer: Trainer, job: DeepJob) -> None:
    """Two checkpoints must fit on the disk: the old one stays until the new one is whole."""
    slot = trainer.replay.frames[0, 0].nbytes
    needed = 2 * (bytes_needed(job.config.replay, slot) + 5e8 * job.config.width**2)
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    kept = sum(path.stat().st_size for path in folder.glob("checkpoint*/*"))
    there = shutil.disk_usage(existing).free + kept
    if needed > there:
        raise BadInput(
            f"checkpoints need up to {needed / 1e9:.1f} GB in {folder}, {there / 1e9:.1f} GB are "
            "free; give another folder with --out, or a smaller --replay"
        )


def open_run(folder: Path) -> tuple[DeepJob, Trainer]:
    """A run from its folder, as its checkpoint left it, with a replay too small to learn from."""
    kept = read_json(folder / "config.json")
    there = checkpoint.find(folder / "checkpoint")
    if kept is None or there is None:
        inside = sorted(path.parent.name for path in folder.glob("*/config.json"))
        meant = f"; it holds {', '.join(inside)}" if inside else "; name a folder like .../seed-0"
        raise BadInput(f"{folder} is no run with a checkpoint{meant}")
    try:
        settings: dict[str, Any] = {
            k: float(v) if v == "inf" else v for k, v in kept["config"].items()
        }
        config = DQNConfig(**settings).replace(envs=1)
        job = DeepJob(kept["agent"], kept["env"], config, kept["seed"], 0)
    except (TypeError, KeyError, AttributeError) as error:
        raise BadInput(f"{folder}/config.json is not of this version: {error}") from None
    game = make_game(job.env, job.seed, **{name: getattr(config, name) for name in PROTOCOL})
    # Nothing is learned: the replay may be small.
    trainer = Trainer([game], config.replace(replay=1_000), job.device, job.seed)
    checkpoint.load_learned(there, trainer)
    return job, trainer


def make_job(
    agent: str,
    env: str,
    *,
    seed: int = 0,
    frames: int | None = None,
    scale: str = "paper",
    variant: str = "paper",
    device: str = "auto",
    precision: str = "float32",
    compile: bool = False,
    parameters: dict[str, Any] | None = None,
    label: str = "",
) -> DeepJob:
    """A job by name; frames not given are the scale's."""
    config = make_config(agent, variant=variant, scale=scale, parameters=parameters)
    return DeepJob(
        agent,
        one_name(env),
        config,
        check_seed(seed),
        FRAMES[scale] if frames is None else int(frames),
        make_device(device, precision, compile),
        label=label,
    )
