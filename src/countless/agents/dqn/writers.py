"""Who writes down what the loop yields: one line per episode, TensorBoard events."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from countless.agents.dqn.trainer import FinishedEpisode, StepRecord
from countless.core.durable import cannot_write, write_bytes

UPDATES_PER_EVENT = 100

Line = dict[str, Any]  # an episode, as the log tells it


def to_lines(episodes: Sequence[Line]) -> bytes:
    """Episodes as lines of JSON."""
    return "".join(json.dumps(episode) + "\n" for episode in episodes).encode()


def from_lines(content: bytes) -> list[Line]:
    """What `to_lines` made lines of; a `ValueError` for anything else."""
    episodes = [json.loads(line) for line in content.splitlines()]
    for episode in episodes:
        if not isinstance(episode, dict) or not {"step", "score"} <= set(episode):
            raise ValueError("the log of episodes has lines that are no episodes")
        if not all(isinstance(value, int | float) for value in episode.values()):
            raise ValueError("the log of episodes has values that are no numbers")
    return episodes


class EpisodeLog:
    """`episodes.jsonl`: one JSON line per episode, flushed when it ends."""

    def __init__(self, path: Path, before: Sequence[Line] = ()) -> None:
        """Go on after `before`, which a checkpoint kept: what was logged later is played again."""
        self.episodes = list(before)
        self._path = path
        write_bytes(path, to_lines(before))
        self._file = path.open("a")

    @property
    def scores(self) -> list[float]:
        return [float(episode["score"]) for episode in self.episodes]

    def close(self) -> None:
        with contextlib.suppress(OSError):  # on a full disk; a checkpoint has what counts
            self._file.close()

    def add(self, ended: FinishedEpisode) -> None:
        episode = ended.episode
        line = {
            "step": ended.step,
            "total_frames": ended.frames,
            "env": ended.env,
            "score": episode.score,
            "steps": episode.steps,
            "frames": episode.frames,
            "bonus": episode.bonus / episode.steps,
            "sr_norm": episode.sr_norm / episode.steps,
        }
        if ended.coverage is not None:
            line |= ended.coverage._asdict()
        self.episodes.append(line)
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        except OSError as error:
            raise cannot_write(self._path, error) from None


class Events:
    """TensorBoard, with CleanRL's keys where it has them; the x axis is agent steps."""

    def __init__(self, folder: Path, purge: int, updates: int) -> None:
        """Open for going on at step `purge`, after so many updates."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder), purge_step=purge + 1)
        self._then, self._step, self._updates = time.monotonic(), purge, updates

    def close(self) -> None:
        self._writer.close()

    def episode(self, ended: FinishedEpisode) -> None:
        episode = ended.episode
        self._add("charts/episodic_return", episode.score, ended.step)
        self._add("charts/episodic_length", episode.steps, ended.step)
        if episode.bonus:
            self._add("bonus/mean", episode.bonus / episode.steps, ended.step)
        if episode.sr_norm:
            self._add("bonus/sr_norm", episode.sr_norm / episode.steps, ended.step)
        if ended.coverage is not None:
            self._add("exploration/rooms", ended.coverage.rooms, ended.step)
            self._add("exploration/cells", ended.coverage.cells, ended.step)

    def update(self, updates: int, record: StepRecord) -> None:
        """Every hundredth update, or the turn in which it fell; features when they are measured."""
        if record.features is not None:
            for name, measured in record.features.describe().items():
                if name != "of" and measured is not None:
                    self._add(f"features/{name}", measured, record.step)
        due = updates // UPDATES_PER_EVENT > self._updates // UPDATES_PER_EVENT
        self._updates = updates
        if not due or record.losses is None:
            return
        now, step = time.monotonic(), record.step
        losses = dict(record.losses)
        losses |= {"td_loss": losses["td"], "q_values": losses.pop("q")}
        for name, value in losses.items():
            self._add(f"losses/{name}", float(value), step)
        self._add("charts/epsilon", record.epsilon, step)
        self._add("charts/SPS", (step - self._step) / max(now - self._then, 1e-9), step)
        self._then, self._step = now, step

    def _add(self, key: str, value: float, step: int) -> None:
        self._writer.add_scalar(key, value, step)
