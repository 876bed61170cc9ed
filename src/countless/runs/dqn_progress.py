"""A few words, a few times a second, on how a deep run stands."""

from __future__ import annotations

import time
from collections import deque

import numpy as np

from countless.agents.dqn.trainer import StepRecord, Trainer
from countless.core.progress import Task

EVERY = 0.5  # seconds
LAST = 100  # episodes in the mean


class ProgressNotes:
    """Watches the loop, and tells a task."""

    def __init__(self, warmup: int, trainer: Trainer, scores: list[float], task: Task) -> None:
        self._warmup, self._task = warmup, task
        self._scores = deque(scores, maxlen=LAST)
        self._episodes = len(scores)
        self._bonus: float | None = None
        self._then = self._seen = time.monotonic()
        self._frames = trainer.frames
        task.advance(self._frames)
        self._record: StepRecord | None = None
        self._learning: tuple[float, int] | None = None  # since when, from which step on

    @property
    def steps_per_second(self) -> float | None:
        """Of the steps that were learned from; None where there was none."""
        if self._learning is None or self._record is None:
            return None
        since, step = self._learning
        return (self._record.step - step) / max(self._seen - since, 1e-9)

    def look(self, record: StepRecord) -> None:
        """Take in one step of the loop."""
        self._seen = time.monotonic()
        if self._learning is None and record.step > 0:
            self._learning = self._seen, record.step
        for ended in record.finished:
            if not ended.warmup:
                self._scores.append(ended.episode.score)
                self._episodes += 1
                if ended.episode.bonus:
                    self._bonus = ended.episode.bonus / ended.episode.steps
        self._record = record
        if self._seen - self._then > EVERY:
            self._tell(record)

    def end(self) -> None:
        """Tell once more, if there was anything left to play."""
        if self._record is not None:
            self._tell(self._record)

    def _tell(self, record: StepRecord) -> None:
        played = record.frames - self._frames
        speed = played / max(self._seen - self._then, 1e-9)
        self._task.note(self._words(record, speed))
        self._task.advance(played)
        self._then, self._frames = self._seen, record.frames

    def _words(self, record: StepRecord, speed: float) -> str:
        if record.frames == 0:
            return f"warm-up, {record.warm:,} of {self._warmup:,} steps"
        mean = "-" if not self._scores else rounded(float(np.mean(self._scores)))
        bonus = "" if self._bonus is None else f", bonus {self._bonus:.2g}"
        return (
            f"{record.frames:,} frames, {speed:,.0f}/s, {self._episodes:,} episodes, mean of last "
            f"{LAST} {mean}, ε {record.epsilon:.2f}{bonus}"
        )


def rounded(value: float) -> str:
    """A mean with as many digits as one reads while it changes.

    >>> rounded(-0.005531), rounded(0.0), rounded(12.345), rounded(2_534.2)
    ('-0.0055', '0', '12.3', '2,534')
    """
    if abs(value) >= 100 or value == round(value):
        return f"{value + 0.0:,.0f}"
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.3g}"
