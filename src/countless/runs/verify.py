"""Looks at every file of a store: is it as it was written?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countless.core.durable import ASIDE, DAMAGED, TEMPORARY, UNVERIFIED, WHOLE
from countless.core.errors import BadInput
from countless.core.records import examine_record
from countless.core.snapshots import check_snapshots
from countless.runs.lock import is_locked
from countless.runs.store import RUNNING, is_record, record_files


@dataclass(frozen=True)
class Verdict:
    """What was found in one folder of a store; paths are relative to the store."""

    folder: str
    running: bool = False  # its files change just now, so they were not looked at
    files: dict[str, int] = field(default_factory=dict)  # how many are whole, unverified, damaged
    damage: tuple[str, ...] = ()  # one line each
    aside: tuple[str, ...] = ()  # what was found damaged before, and set aside
    litter: tuple[str, ...] = ()  # what a killed process left; the next run removes it

    @property
    def state(self) -> str:
        """running, damaged, unverified or whole."""
        if self.running:
            return RUNNING
        if self.damage:
            return DAMAGED
        return UNVERIFIED if self.files.get(UNVERIFIED) else WHOLE

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": self.folder,
            "state": self.state,
            "files": {state: self.files.get(state, 0) for state in (WHOLE, UNVERIFIED, DAMAGED)},
            "damage": list(self.damage),
            "set_aside": list(self.aside),
            "litter": list(self.litter),
        }


def verify(store: Path) -> list[Verdict]:
    """A verdict on each folder that holds a job, or a plan of an experiment."""
    if not store.is_dir():
        raise BadInput(f"there is no folder {store}")
    marks = ("job.json", "job.json" + ASIDE, "plan.json", "records", "checkpoint")
    folders = {path.parent for mark in marks for path in store.rglob(mark)}
    return [_verdict(folder, store) for folder in sorted(folders)]


def _verdict(folder: Path, store: Path) -> Verdict:
    name = str(folder.relative_to(store)) if folder != store else folder.name
    if is_locked(folder):
        return Verdict(name, running=True)
    states: Counter[str] = Counter()
    damage = []
    for path in record_files(folder):
        state = examine_record(path) if is_record(path) else DAMAGED
        states[state] += 1
        if state == DAMAGED:
            damage.append(f"{path.relative_to(store)} is not as it was written")
    checked = check_snapshots(folder / "checkpoint")
    states[WHOLE] += checked.whole
    states[UNVERIFIED] += checked.unknown
    states[DAMAGED] += len(checked.damage)
    damage += [f"{one.path.relative_to(store)} {one.what}" for one in checked.damage]
    if not (folder / "job.json").exists() and not (folder / "plan.json").exists():
        damage.append(f"{name} has no job.json")
    return Verdict(
        name,
        files=dict(states),
        damage=tuple(damage),
        aside=_names(folder, f"*{ASIDE}*", store),
        litter=_names(folder, TEMPORARY, store),
    )


def _names(folder: Path, pattern: str, store: Path) -> tuple[str, ...]:
    return tuple(str(path.relative_to(store)) for path in sorted(folder.rglob(pattern)))
