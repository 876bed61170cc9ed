"""Jobs of deep agents: one agent, one environment, one seed; they go on from their checkpoint."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from countless.agents.catalogue import agent_entry
from countless.agents.dqn.agents import FRAMES, make_config
from countless.agents.dqn.checkpoint import Checkpoints, load_learned
from countless.agents.dqn.config import DQNConfig
from countless.agents.dqn.device import Device, make_device, torch_threads, tune_process
from countless.agents.dqn.learner import NonFiniteError
from countless.agents.dqn.trainer import Trainer
from countless.agents.dqn.writers import EpisodeLog, Events, Line
from countless.bonuses.registry import bonus_kind
from countless.core.durable import atomic_path
from countless.core.errors import BadInput, CountlessError, named
from countless.core.parameters import check_count
from countless.core.records import ensure_folder, read_json, write_table
from countless.core.seeding import check_seed, derived_seed
from countless.core.snapshots import Damaged, has_snapshot
from countless.envs.atari import PROTOCOL
from countless.envs.catalog import make_mdp
from countless.envs.frame_env import FrameEnv
from countless.envs.make import canonical_name, make_frame_env, means_atari
from countless.envs.minigrid import PICTURES
from countless.runs.described import read_about, read_reached
from countless.runs.dqn_progress import ProgressNotes
from countless.runs.dqn_resources import (
    check_disk,
    check_episodes_fit,
    check_memory,
    disk_needed,
    memory_needed,
)
from countless.runs.episodes import episode_table
from countless.runs.job import Execution, Outcome, Stopped, as_columns
from countless.runs.solved import Solved, SolvedWatch, read_solved
from countless.runs.stopwatch import Stopwatch
from countless.runs.store import about_records

if TYPE_CHECKING:
    import pyarrow

DAMAGED = (
    "{}: {}; this checkpoint is set aside, and the run goes on from the one before it, or from its "
    "start where there is none"
)
COLLAPSED = (
    "{}: the features have collapsed (effective rank {:.1f}, spread {:.3f}): values and bonus are "
    "nearly the same everywhere (docs/deep.md)"
)


@dataclass(frozen=True)
class DqnJob:
    """All but `frames`, `until` and `save_every` decides its bits.

    With `until` it ends where the task is solved, at `frames` at the latest.
    """

    engine: ClassVar[str] = "dqn"
    agent: str
    env: str
    config: DQNConfig
    seed: int
    frames: int
    device: Device = field(default_factory=Device)
    threads: int = 1
    save_every: float = 600.0  # seconds from one checkpoint to the next
    until: Solved | None = None

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_count("frames", self.frames)
        check_count("threads", self.threads, 4096)

    @property
    def label(self) -> str:
        return f"{self.agent} in {self.env}, seed {self.seed}"

    @property
    def units(self) -> int:
        """Frames. Those of the warm-up are not counted: it learns nothing, and is soon over."""
        return self.frames

    @property
    def frames_per_step(self) -> int:
        """The emulator's; anywhere else a step is a frame."""
        return int(self.config.protocol.frame_skip) if means_atari(self.env) else 1

    def identity(self) -> dict[str, Any]:
        mdp = {"mdp": make_mdp(self.env).fingerprint} if self.env.endswith(".mdp") else {}
        return {
            "engine": self.engine,
            "bits": agent_entry(self.agent).bits,
            "agent": self.agent,
            "env": self.env,
            **mdp,
            "seed": self.seed,
            "device": self.device.name.partition(":")[0],
            "threads": self.threads,
            "precision": self.device.precision,
            "compile": self.device.compile,
            "config": self.config.identity(),
            **self.bonus_version(),
        }

    def bonus_version(self) -> dict[str, Any]:
        """What a bonus of the registry adds; frames may be images."""
        rewards = self.config.rewards
        if rewards.bonus in ("off", "sr") or rewards.bonus_sees == "number":
            return {}
        frames = rewards.bonus_sees == "frames"
        pictures = means_atari(self.env) or self.config.protocol.view == PICTURES
        kind = bonus_kind(rewards.bonus)
        return kind.version(images=frames, vectors=not (frames and pictures))

    def budget(self) -> dict[str, Any]:
        until = {} if self.until is None else {"until": self.until.describe()}
        return {"frames": self.frames, **until}

    def is_met_by(self, finished: Mapping[str, Any]) -> bool:
        if int(finished.get("frames", 0)) >= self.frames:
            return True
        return self.until is not None and finished.get("solved") == self.until.describe()

    def is_whole(self, records: pyarrow.Table, curves: pyarrow.Table | None) -> bool:
        return True  # one file, which is there or not

    def select(self, records: pyarrow.Table) -> pyarrow.Table:
        """The episodes that ended within the budget, and not after the task was solved."""
        import pyarrow.compute

        within = records.filter(pyarrow.compute.field("frames") <= self.frames)
        end = None if self.until is None else self.until.episode(within["return"].to_numpy())
        return within if end is None else within.slice(0, end)

    def check(self, folder: Path | None) -> None:
        """The device, the memory and the disk that it takes, and a replay that holds whole episodes."""
        make_device(self.device.name, self.device.precision, self.device.compile)
        env = make_envs(self, 1)[0]
        check_memory(env, self.config)
        check_episodes_fit(self.env, self.config)
        if folder is not None:
            check_disk(folder, env, self.config)
            finished = read_reached(folder / "finished.json")
            if finished is not None and not has_snapshot(folder / "checkpoint"):
                raise BadInput(
                    f"{folder} holds a run of {finished['frames']:,} frames, but no checkpoint to go "
                    f"on from; give another folder with {named('out')}, or remove this one to start "
                    "afresh"
                )

    def memory(self) -> float:
        """Bytes that it takes."""
        return memory_needed(make_envs(self, 1)[0], self.config)

    def disk(self) -> float:
        """Bytes that it takes in its folder while it runs, about."""
        return disk_needed(make_envs(self, 1)[0], self.config)

    def to_message(self) -> dict[str, Any]:
        """As plain data, for a worker."""
        return {
            "agent": self.agent,
            "env": self.env,
            "config": self.config.describe(),
            "seed": self.seed,
            "frames": self.frames,
            "device": [self.device.name, self.device.precision, self.device.compile],
            "threads": self.threads,
            "save_every": self.save_every,
            "until": None if self.until is None else self.until.describe(),
        }

    def execute(self, folder: Path | None, execution: Execution) -> Outcome:
        """Play and learn until the frames are reached; all of it stays in the folder."""
        assert folder is not None, "a deep run needs a folder for its checkpoints"
        if execution.own_process:
            tune_process(self.threads)
        with torch_threads(self.threads):
            return _Work(self, folder, execution).finish()


def make_job(
    agent: str,
    env: str,
    *,
    seed: int = 0,
    frames: int | None = None,
    scale: str = "paper",
    device: str | Device = "auto",
    precision: str = "float32",
    compile: bool = False,
    threads: int = 1,
    parameters: Mapping[str, Any] | None = None,
    until: Solved | None = None,
) -> DqnJob:
    """A job by name; frames not given are the scale's.

    A device by its name must be there; a `Device` may be that of another machine.
    """
    config = make_config(agent, scale=scale, parameters=parameters)
    frames = FRAMES[scale] if frames is None else frames
    place = device if isinstance(device, Device) else make_device(device, precision, compile)
    return DqnJob(
        agent, canonical_name(env), config, check_seed(seed), frames, place, threads, until=until
    )


def read_job(message: Mapping[str, Any]) -> DqnJob:
    """A job from `to_message`."""
    return DqnJob(
        message["agent"],
        message["env"],
        read_config(message["config"]),
        message["seed"],
        message["frames"],
        Device(*message["device"]),
        message["threads"],
        message["save_every"],
        read_solved(message["until"]),
    )


def read_config(described: Mapping[str, Any]) -> DQNConfig:
    """A configuration from what `describe` made of it."""
    return DQNConfig(**as_columns(described))


def make_envs(job: DqnJob, count: int) -> list[FrameEnv]:
    """The first `count` of the job's environments, each with a seed of its own."""
    protocol = {name: getattr(job.config, name) for name in ("view", *PROTOCOL)}
    return [
        make_frame_env(job.env, derived_seed(job.seed, f"environment {i}") % 2**31, **protocol)
        for i in range(count)
    ]


def make_trainer(job: DqnJob) -> Trainer:
    """The agent and its environments, at the beginning."""
    return Trainer(make_envs(job, job.config.envs), job.config, job.device, job.seed)


class _Work:
    """The execution of a deep job in its folder."""

    def __init__(self, job: DqnJob, folder: Path, execution: Execution) -> None:
        self.job, self.folder, self.execution = job, folder, execution
        self.watch = Stopwatch(folder)
        self.about = about_records(read_json(folder / "job.json") or {})
        self.checkpoints = Checkpoints(folder / "checkpoint")
        (folder / "finished.json").unlink(missing_ok=True)  # this budget is not met yet
        ensure_folder(folder / "records")

    def finish(self) -> Outcome:
        job = self.job
        trainer, before = self._resume()
        first = trainer.step
        with (
            closing(EpisodeLog(self.folder / "episodes.jsonl", before)) as log,
            closing(Events(self.folder / "events", first, trainer.updates)) as events,
        ):
            notes = ProgressNotes(job.config.warmup, trainer, log.scores, self.execution.task)
            watch = SolvedWatch(job.until, log.scores)
            self._learn(trainer, log, events, notes, watch)
        early = job.until is not None and trainer.frames < job.frames
        finished = {
            "frames": trainer.frames if early else job.frames,
            "step": trainer.step,
            "seconds": self.watch.total,
            "steps_per_second": notes.steps_per_second,
            "features": None if (health := trainer.feature_health()) is None else health.describe(),
        }
        if job.until is not None and watch.solved:
            finished["solved"] = job.until.describe()
        return Outcome(job.select(self._write_records(log)), None, finished)

    def _resume(self) -> tuple[Trainer, list[Line]]:
        """The trainer as the last whole checkpoint left it, or new; the episodes until then."""
        while True:
            trainer = make_trainer(self.job)
            try:
                before = self.checkpoints.load(trainer)
            except Damaged as damage:
                self.checkpoints.set_aside(damage)
                self.execution.task.warn(DAMAGED.format(self.job.label, damage))
                continue
            return trainer, before or []

    def _learn(
        self,
        trainer: Trainer,
        log: EpisodeLog,
        events: Events,
        notes: ProgressNotes,
        watch: SolvedWatch,
    ) -> None:
        saved = time.monotonic()
        turns = trainer.turns(self.job.frames)
        try:
            while not watch.solved and (record := next(turns, None)) is not None:
                for ended in record.finished:
                    if not ended.warmup:
                        log.add(ended)
                        events.episode(ended)
                        watch.add(ended.episode.score)
                if record.losses is not None:
                    events.update(trainer.updates, record)
                notes.look(record)
                if record.collapsed and (health := record.features) is not None:
                    said = COLLAPSED.format(self.job.label, health.rank, health.spread)
                    self.execution.task.warn(said)
                if self.execution.stop():
                    self._save(trainer, log)
                    raise Stopped
                if time.monotonic() - saved > self.job.save_every:
                    self._save(trainer, log)
                    saved = time.monotonic()
        except NonFiniteError as error:
            path = self.folder / "nonfinite_batch.npz"
            with atomic_path(path) as temporary, temporary.open("wb") as file:
                np.savez(file, **error.arrays)
            raise CountlessError(
                f"{error} at step {trainer.step}; the batch is in {path}, and the last checkpoint is "
                "as it was"
            ) from None
        notes.end()
        self._save(trainer, log)

    def _save(self, trainer: Trainer, log: EpisodeLog) -> None:
        self.checkpoints.save(trainer, log.episodes)
        self._write_records(log)
        self.watch.save(frames=trainer.frames)

    def _write_records(self, log: EpisodeLog) -> pyarrow.Table:
        table = episode_table(self.job, log.episodes)
        write_table(self.folder / "records" / "episodes.parquet", table, self.about)
        return table


def open_run(folder: Path) -> tuple[DqnJob, Trainer]:
    """A run from its folder, as its checkpoint left it, with a replay too small to learn from."""
    about = read_about(folder / "job.json")
    there = folder / "checkpoint"
    if not about or not has_snapshot(there):
        inside = sorted(path.parent.name for path in folder.glob("*/checkpoint"))
        meant = f"; it holds {', '.join(inside)}" if inside else ""
        raise BadInput(f"{folder} is no run with a checkpoint{meant}")
    try:
        config = read_config(about["identity"]["config"]).replace(envs=1)
        job = DqnJob(about["agent"], about["env"], config, about["seed"], 1)
    except (TypeError, KeyError, AttributeError) as error:
        raise BadInput(f"{folder}/job.json is not of this version: {error}") from None
    # Nothing is learned: the replay may be small.
    small = config.replace(replay=1_000)
    trainer = Trainer(make_envs(job, 1), small, job.device, job.seed)
    load_learned(there, trainer)
    return job, trainer
