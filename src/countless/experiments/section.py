"""What an experiment shows: tables, figures and words, and what made them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countless.analysis.tables import Table
from countless.core.errors import CountlessError
from countless.core.progress import Reporter
from countless.core.records import ensure_folder, read_json, versions, write_json
from countless.experiments.published import REPLAY_SEED
from countless.runs.study import Study, load


@dataclass(frozen=True)
class Figure:
    """A drawing on disk, as PNG and SVG with the same stem."""

    stem: Path
    caption: str


@dataclass(frozen=True)
class Section:
    """A finished experiment, ready to be printed or put into the report."""

    name: str
    title: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    words: tuple[str, ...]
    made: dict[str, Any]
    seeds: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "tables": [table.to_json() for table in self.tables],
            "figures": [
                {
                    "png": f"{figure.stem}.png",
                    "svg": f"{figure.stem}.svg",
                    "caption": figure.caption,
                }
                for figure in self.figures
            ],
            "words": self.words,
            "made": self.made,
        }


@dataclass(frozen=True)
class Experiment:
    """How to run a table or figure into a folder, and how to show what lies there."""

    summary: str
    run: Callable[[Path, int, int, Reporter], None]
    show: Callable[[Path], Section]


def write_made(folder: Path, runs: int, seed: int, seconds: float) -> None:
    """Record what made the results in `folder`; written last, so it also says: complete.

    Records that were there already took no time: the seconds first measured are kept then.
    """
    ensure_folder(folder)
    command = f"countless reproduce {folder.name} --runs {runs} --seed {seed}"
    content = {"command": command, "runs": runs, "seed": seed, "versions": versions()}
    before = read_json(folder / "made.json") or {}
    unchanged = all(before.get(key) == value for key, value in content.items())
    if not (unchanged and before.get("seconds", 0.0) >= seconds):
        write_json(folder / "made.json", content | {"seconds": round(seconds, 1)})


def read_made(folder: Path) -> dict[str, Any]:
    """What made the results in `folder`."""
    made = read_json(folder / "made.json")
    if made is None or not {"command", "runs", "seed", "seconds", "versions"} <= set(made):
        raise CountlessError(
            f"{folder} holds no finished results; make them with `countless reproduce {folder.name}`"
        )
    return made


def replay_seeds(made: dict[str, Any]) -> str:
    """The seeds of an experiment that replays the paper and runs afresh."""
    return f"{REPLAY_SEED} for the replay, {made['seed']} for the fresh runs"


def load_study(study: Study, folder: Path) -> Any:
    """The returns of a study that must be there."""
    returns = load(study, folder / study.name)
    if returns is None:
        raise CountlessError(
            f"{folder / study.name} is incomplete; run `countless reproduce {folder.name}` again"
        )
    return returns
