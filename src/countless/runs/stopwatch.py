"""Seconds of work on a job, over all the times it was stopped and started again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from countless.core.records import write_json
from countless.runs.described import read_reached


class Stopwatch:
    """Starts with what `progress.json` in a job's folder says."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / "progress.json"
        kept = None if self._path is None else read_reached(self._path)
        self._before = float((kept or {}).get("seconds", 0.0))
        self._began = time.perf_counter()

    @property
    def now(self) -> float:
        """Seconds since this start."""
        return time.perf_counter() - self._began

    @property
    def total(self) -> float:
        """Seconds of all starts together."""
        return round(self._before + self.now, 3)

    def save(self, **reached: Any) -> None:
        """Keep the seconds, and how far the work has come."""
        if self._path is not None:
            write_json(self._path, {**reached, "seconds": self.total})
