"""Progress bars on stderr, in a terminal or a notebook; lines now and then where it is neither."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from countless.core.errors import BadInput
from countless.core.progress import Reporter, Task

DELAY = 2.0  # seconds before a bar appears: what is quicker needs none
LINES_EVERY = 10.0  # seconds between lines where stderr is not a terminal
WIDE = 110  # columns from which there is room for the bar itself


class Bars:
    """One bar for each task that is open."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._open = 0
        self._timer: threading.Timer | None = None

    @contextmanager
    def task(self, description: str, total: int) -> Iterator[Task]:
        console = Console(stderr=True)
        if not (console.is_terminal or console.is_jupyter):
            yield _Lines(description, total)
            return
        progress = self._begin(console)
        bar = progress.add_task(description, total=total, note="")
        try:
            yield _Bar(progress, bar)
        finally:
            progress.remove_task(bar)
            self._end(progress)

    def _begin(self, console: Console) -> Progress:
        if self._progress is None:
            wide = console.width >= WIDE
            self._progress = Progress(
                # What matters most first: a narrow terminal cuts lines off at their end.
                *((BarColumn(bar_width=20),) if wide else ()),
                TextColumn("{task.percentage:3.0f}%"),
                TimeRemainingColumn(compact=True),
                TextColumn("left"),
                *((TimeElapsedColumn(), TextColumn("so far")) if wide else ()),
                TextColumn("{task.description}"),
                TextColumn("{task.fields[note]}"),
                console=console,
                transient=True,
            )
            # Shown by a timer, so that compiling, which advances nothing, is seen too.
            self._timer = threading.Timer(DELAY, self._progress.start)
            self._timer.daemon = True
            self._timer.start()
        self._open += 1
        return self._progress

    def _end(self, progress: Progress) -> None:
        self._open -= 1
        if self._open == 0:
            if self._timer is not None:
                self._timer.cancel()
            progress.stop()
            self._progress = self._timer = None


class _Bar:
    def __init__(self, progress: Progress, bar: TaskID) -> None:
        self._progress, self._bar = progress, bar

    def advance(self, amount: int) -> None:
        self._progress.advance(self._bar, amount)

    def note(self, text: str) -> None:
        self._progress.update(self._bar, note=text)

    def warn(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False)


class _Lines:
    def __init__(self, description: str, total: int) -> None:
        self._description, self._total = description, max(total, 1)
        self._done, self._note = 0, ""
        self._last, self._told = time.monotonic(), 0

    def advance(self, amount: int) -> None:
        self._done += amount
        now = time.monotonic()
        if now - self._last > LINES_EVERY:
            rate = (self._done - self._told) / (now - self._last)
            seconds = (self._total - self._done) / rate if rate > 0 else None
            left = "" if seconds is None else f", about {timedelta(seconds=round(seconds))} left"
            self._last, self._told = now, self._done
            note = f", {self._note}" if self._note else ""
            percent = 100 * self._done // self._total
            print(f"{self._description}: {percent}%{left}{note}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        self._note = text

    def warn(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def reporter_for(progress: bool | Reporter) -> Reporter:
    """The bars for True, silence for False, or the reporter that was given."""
    from countless.core.progress import SILENT

    if isinstance(progress, bool):
        return Bars() if progress else SILENT
    if not hasattr(progress, "task"):
        raise BadInput(f"progress must be True or False, or a Reporter, not {progress!r}")
    return progress
