"""A checkpoint: a snapshot of safetensors files, the log of episodes and plain numbers.

It holds all that the next step depends on: parameters, target, optimiser, replay, environments,
exploration bonus, random generators, counters, and the episodes so far. Nothing in it is ever executed
when it is read. The replay lies in segments; those that did not change are not written again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors.numpy
import safetensors.torch
from numpy.typing import NDArray
from torch import Tensor

from countless.agents.dqn.replay import Replay
from countless.agents.dqn.trainer import Trainer
from countless.agents.dqn.writers import Line, from_lines, to_lines
from countless.core.errors import BadInput
from countless.core.memory import available_memory
from countless.core.provenance import versions
from countless.core.snapshots import Damaged, KeptFile, Snapshot, last_snapshot, write_snapshot

EPISODES = "episodes.jsonl"
LEARNED = ("network", "target", "optimiser")
HEADER_BYTES = 1 << 20  # of a file of tensors, at most

Arrays = dict[str, NDArray[Any]]


class Checkpoints:
    """The checkpoints of a run in their folder: the last one, and the one before it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._final: dict[str, KeptFile] = {}  # segments on disk that will not change any more

    def save(self, trainer: Trainer, episodes: Sequence[Line] = ()) -> None:
        """Write what changed since the last checkpoint; that one stays until this one is whole."""
        trainer.learner.check_losses()  # nothing is kept that a loss without a number has spoiled
        kept = {
            name: self._final[name] for name in _segments(trainer.replay) if name in self._final
        }
        snapshot = write_snapshot(
            self.folder,
            {
                "versions": versions(),
                "counters": trainer.counters(),
                "replay": trainer.replay.counters(),
            },
            _files(trainer, episodes, kept),
            kept,
        )
        self._remember(snapshot, trainer.replay)

    def _remember(self, snapshot: Snapshot, replay: Replay) -> None:
        """Which segments of this snapshot of `replay` the next one need not write."""
        self._final = {name: snapshot.files[name] for name in _segments(replay, final=True)}

    def load(self, trainer: Trainer) -> list[Line] | None:
        """Bring a new `trainer` to where the last checkpoint was written; the episodes until then.

        None where there is no checkpoint. One that is damaged is a `Damaged`, and the trainer is
        not fit for use then.
        """
        snapshot = last_snapshot(self.folder)
        if snapshot is None:
            return None
        with _fitting(snapshot):
            _load_learned(snapshot, trainer)
            _load_replay(snapshot, trainer.replay)
            for i, actor in enumerate(trainer.actors):
                actor.set_state(_arrays(snapshot, f"env.{i}.safetensors"))
            trainer.set_counters(snapshot.content["counters"])
            self._remember(snapshot, trainer.replay)
            return from_lines(snapshot.read(EPISODES, available_memory()))

    def set_aside(self, damage: Damaged) -> None:
        """Take the last checkpoint, which is damaged, out of the way of the one before."""
        try:
            snapshot = last_snapshot(self.folder)
        except Damaged as manifest:
            snapshot = Snapshot(manifest.path, {}, {})
        if snapshot is not None:
            snapshot.set_aside(damage.path)


def load_learned(folder: Path, trainer: Trainer) -> None:
    """Only what was learned, to look at; the replay is not even read."""
    snapshot = last_snapshot(folder)
    if snapshot is None:
        raise BadInput(f"{folder} holds no checkpoint")
    with _fitting(snapshot):
        _load_learned(snapshot, trainer)
        trainer.frames = int(snapshot.content["counters"]["frames"])


def _segments(replay: Replay, final: bool = False) -> Iterator[str]:
    """The names of the segments that hold a replay, or of those that will not change."""
    for lane in range(replay.lanes):
        for i in replay.segments(lane):
            if not final or replay.is_final(lane, i):
                yield f"replay.{lane}.{i}.safetensors"


def _files(
    trainer: Trainer, episodes: Sequence[Line], kept: Collection[str]
) -> Iterator[tuple[str, bytes]]:
    """What the checkpoint writes, one file after the other."""
    for name, tensors in trainer.learner.tensors_to_keep().items():
        whole = {key: value.detach().contiguous().cpu() for key, value in tensors.items()}
        yield f"{name}.safetensors", safetensors.torch.save(whole)
    for name in _segments(trainer.replay):
        if name not in kept:
            lane, i = (int(part) for part in name.split(".")[1:3])
            yield name, safetensors.numpy.save(trainer.replay.get_segment(lane, i))
    for i, actor in enumerate(trainer.actors):
        yield f"env.{i}.safetensors", safetensors.numpy.save(actor.get_state())
    yield "bonus.safetensors", safetensors.numpy.save(trainer.bonus.get_state())
    yield EPISODES, to_lines(episodes)


def _load_learned(snapshot: Snapshot, trainer: Trainer) -> None:
    own = trainer.learner.tensors_to_keep()
    kept: dict[str, dict[str, Tensor]] = {}
    for name in LEARNED:
        most = HEADER_BYTES + sum(tensor.nbytes for tensor in own[name].values())
        kept[name] = safetensors.torch.load(snapshot.read(f"{name}.safetensors", most))
    trainer.learner.load_tensors(kept)
    trainer.bonus.set_state(_arrays(snapshot, "bonus.safetensors"))


def _load_replay(snapshot: Snapshot, replay: Replay) -> None:
    replay.set_counters(snapshot.content["replay"])
    for lane in range(replay.lanes):
        expected = max(0, int(replay.written[lane]) - replay.capacity)
        for i in replay.segments(lane):
            content = snapshot.read(f"replay.{lane}.{i}.safetensors", replay.most_segment_bytes)
            found = replay.set_segment(lane, safetensors.numpy.load(content))
            if found.start != expected:
                raise ValueError(f"slot {expected} of the replay is missing")
            expected = found.stop
        if expected != int(replay.written[lane]):
            raise ValueError(f"slot {expected} of the replay is missing")


def _arrays(snapshot: Snapshot, name: str) -> Arrays:
    """Arrays that may be written to."""
    kept = safetensors.numpy.load(snapshot.read(name, available_memory()))
    return {key: array.copy() for key, array in kept.items()}


@contextmanager
def _fitting(snapshot: Snapshot) -> Iterator[None]:
    """What goes wrong within, other than damage, is that the checkpoint is another agent's."""
    try:
        yield
    except Damaged:
        raise
    except Exception as error:  # an environment or a bonus may say no in a way of its own
        raise BadInput(
            f"the checkpoint {snapshot.manifest} does not fit this agent ({error}); remove the folder "
            f"{snapshot.manifest.parent} to start afresh"
        ) from None
