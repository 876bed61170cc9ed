"""The folder of a deep run: its configuration, its episodes, whether it is finished."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from countless.core.errors import BadInput
from countless.core.records import ensure_folder, read_json, read_lines, versions, write_json

LAST = 100  # performance is the mean of the last 100 episodes


def check_folder(folder: Path, identity: dict[str, Any]) -> None:
    """See that a run's folder, if there is one, is this run's."""
    path = folder / "config.json"
    if not path.exists():
        return
    there = read_json(path)
    if there is None:
        raise BadInput(f"{path} cannot be read; remove the folder to start afresh")
    differing = differences(there, identity)
    if differing:
        raise BadInput(
            f"{folder} holds a run of another configuration ({differing}); give another folder "
            "with --out, or the same settings"
        )


def check_nothing_is_lost(folder: Path) -> None:
    """A finished run that lacks its checkpoint cannot go on, and must not be run over."""
    finished = read_json(folder / "finished.json")
    if finished is not None:
        raise BadInput(
            f"{folder} holds a run of {finished['frames']:,} frames, but no checkpoint to go on "
            "from; give another folder with --out, or remove this one to start afresh"
        )


def make_folder(folder: Path, identity: dict[str, Any]) -> None:
    """Make a run's folder, once all is known to be right: a refused run leaves no trace."""
    ensure_folder(folder)
    path = folder / "config.json"
    if not path.exists():
        write_json(path, identity | {"versions": versions()})


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a run's folder: two processes must not go on with the same run."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadInput(
                f"another process is running in {folder}; wait for it, or give another --out"
            ) from None
        yield


def differences(there: dict[str, Any], here: dict[str, Any]) -> str:
    """What one configuration says otherwise than another: "beta 0.05, now 0.1"."""
    here = json.loads(json.dumps(here))
    pairs = [(name, there.get(name), here[name]) for name in here if name != "config"]
    config = there.get("config", {})
    pairs += [(name, config.get(name), value) for name, value in here["config"].items()]
    return ", ".join(f"{name} {old}, now {new}" for name, old, new in pairs if old != new)


def mark_finished(folder: Path, frames: int, step: int) -> None:
    write_json(folder / "finished.json", {"frames": frames, "step": step})


def finished_episodes(
    folder: Path, identity: dict[str, Any], frames: int
) -> list[dict[str, Any]] | None:
    """The episodes of a run that has reached `frames` already, or None."""
    finished, config = read_json(folder / "finished.json"), read_json(folder / "config.json")
    if finished is None or config is None or finished["frames"] < frames:
        return None
    return None if differences(config, identity) else read_episodes(folder, frames)


def read_episodes(folder: Path, frames: int | None = None) -> list[dict[str, Any]]:
    """The episodes of a run, those that ended within `frames`."""
    episodes = read_lines(folder / "episodes.jsonl")
    return [e for e in episodes if frames is None or e["total_frames"] <= frames]


def performance(episodes: list[dict[str, Any]]) -> float | None:
    """The mean score of the last 100 episodes; None before the first one ends.

    >>> performance([{"score": 1.0}, {"score": 4.0}])
    2.5
    """
    last = [float(episode["score"]) for episode in episodes[-LAST:]]
    return sum(last) / len(last) if last else None
