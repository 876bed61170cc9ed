"""A checkpoint: a folder of safetensors, npy and JSON, written beside the old one, then renamed.

It holds all that the next step depends on: parameters, target, optimiser, replay, environments,
exploration bonus, random generators, counters. Nothing in it is ever executed when it is read.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from countless.agents.dqn.trainer import Trainer
from countless.core.errors import BadInput, CountlessError
from countless.core.provenance import versions

SCHEMA = 3
STATE = "state.json"


def save(folder: Path, trainer: Trainer) -> None:
    """Write a checkpoint of `trainer`; the one before stays until this one is whole."""
    trainer.learner.check_losses()  # nothing is kept that a loss without a number has spoiled
    try:
        _save(folder, trainer)
    except (OSError, SafetensorError) as error:
        raise CountlessError(f"cannot write the checkpoint {folder}: {error}") from None


def _save(folder: Path, trainer: Trainer) -> None:
    fresh, old = folder.with_name(folder.name + ".new"), folder.with_name(folder.name + ".old")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for name, tensors in trainer.learner.tensors_to_keep().items():
        whole = {key: value.detach().contiguous().cpu() for key, value in tensors.items()}
        save_file(whole, fresh / f"{name}.safetensors")
    for name, array in trainer.replay.arrays().items():
        np.save(fresh / f"replay.{name}.npy", array)
    for i, actor in enumerate(trainer.actors):
        _save_arrays(fresh / f"env.{i}", actor.get_state())
    _save_arrays(fresh / "bonus", trainer.bonus.get_state())
    sums = {path.name: _checksum(path) for path in sorted(fresh.iterdir())}
    content = {"schema": SCHEMA, "versions": versions(), "files": sums}
    (fresh / STATE).write_text(json.dumps(content | {"counters": trainer.counters()}, indent=1))
    for path in fresh.iterdir():
        _sync(path)
    _sync(fresh)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    fresh.rename(folder)
    _sync(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def find(folder: Path) -> Path | None:
    """The checkpoint to go on from: the last whole one, or None."""
    for candidate in (folder, folder.with_name(folder.name + ".old")):
        if (candidate / STATE).is_file():
            return candidate
    return None


def read_state(folder: Path, only: tuple[str, ...] = ("",)) -> dict[str, Any]:
    """What a checkpoint says of itself, after checking the sum of every file, or of those whose
    names begin so."""
    try:
        content = json.loads((folder / STATE).read_text())
        schema, files = content["schema"], dict(content["files"])
        sums = {name: _checksum(folder / name) for name in files if name.startswith(only)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, f"cannot be read ({error})") from None
    for name, found in sums.items():
        if found != files[name]:
            raise _damaged(folder, f"is damaged: {name} has changed since it was written")
    if schema != SCHEMA:
        raise _damaged(folder, f"is of format {schema}, this version reads {SCHEMA}")
    state: dict[str, Any] = content
    return state


def load(folder: Path, trainer: Trainer) -> dict[str, Any]:
    """Bring `trainer` to where a checkpoint was written; what was saved with it."""
    state = read_state(folder)
    with _fitting(folder):
        _load_learned(folder, trainer)
        names = [name for name in state["files"] if name.startswith("replay.")]
        trainer.replay.load_arrays(
            {
                name.split(".")[1]: np.load(folder / name, mmap_mode="r", allow_pickle=False)
                for name in names
            }
        )
        for i, actor in enumerate(trainer.actors):
            actor.set_state(_load_arrays(folder / f"env.{i}"))
        trainer.set_counters(state["counters"])
    return state


def load_learned(folder: Path, trainer: Trainer) -> dict[str, Any]:
    """Only what was learned, to look at; the replay is not even read."""
    state = read_state(folder, only=("network", "target", "optimiser", "bonus"))
    with _fitting(folder):
        _load_learned(folder, trainer)
        trainer.frames = int(state["counters"]["frames"])
    return state


def _load_learned(folder: Path, trainer: Trainer) -> None:
    names = ("network", "target", "optimiser")
    trainer.learner.load_tensors(
        {name: load_file(folder / f"{name}.safetensors") for name in names}
    )
    trainer.bonus.set_state(_load_arrays(folder / "bonus"))


@contextmanager
def _fitting(folder: Path) -> Iterator[None]:
    """What goes wrong within is the checkpoint's fault."""
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise _damaged(folder, f"does not fit this agent ({error})") from None


def _damaged(folder: Path, what: str) -> BadInput:
    return BadInput(f"the checkpoint {folder} {what}; remove the folder to start afresh")


def _save_arrays(stem: Path, arrays: dict[str, NDArray[Any]]) -> None:
    with stem.with_name(stem.name + ".npz").open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _load_arrays(stem: Path) -> dict[str, NDArray[Any]]:
    with np.load(stem.with_name(stem.name + ".npz"), allow_pickle=False) as kept:
        return {name: kept[name] for name in kept.files}


def _checksum(path: Path) -> int:
    total = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 22):
            total = zlib.crc32(chunk, total)
    return total


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
