"""Progress bars on stderr, in a terminal or a notebook; lines now and then where it is neither."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn
from rich.progress import Task as RichTask
from rich.table import Column
from rich.text import Text

from countless.core.errors import BadInput
from countless.core.progress import Reporter, Task

DELAY = 2.0  # seconds before a bar appears: what is quicker needs none
LINES_EVERY = 10.0  # seconds between lines where stderr is not a terminal
WIDE = 110  # columns from which there is room for the bar itself
SHORTEST = 6  # columns of a name that is cut


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
            self._progress = make_progress(console)
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


def make_progress(console: Console) -> Progress:
    """The lines of the tasks; the last column alone gives way where there is little room."""
    wide = console.width >= WIDE
    return Progress(
        *((BarColumn(bar_width=20, table_column=_fixed(20)),) if wide else ()),
        TextColumn("{task.percentage:3.0f}%", table_column=_fixed(4)),
        _Left(_fixed()),
        *((_Elapsed(_fixed()),) if wide else ()),
        _Words(Column()),
        console=console,
        transient=True,
    )


def _fixed(width: int | None = None) -> Column:
    return Column(no_wrap=True, min_width=width)


class _Left(ProgressColumn):
    """How long it will take, or nothing while that is not known."""

    max_refresh = 0.5

    def render(self, task: RichTask) -> Text:
        seconds = None if task.finished else task.time_remaining
        return Text("" if seconds is None else f"{clock(seconds)} left", style="progress.remaining")


class _Elapsed(ProgressColumn):
    def render(self, task: RichTask) -> Text:
        seconds = task.finished_time if task.finished else task.elapsed
        return Text(f"{clock(seconds or 0.0)} so far", style="progress.elapsed")


class _Words(ProgressColumn):
    """What the task is, and how it stands."""

    def render(self, task: RichTask) -> _Line:
        return _Line(task.description, task.fields["note"])


class _Line:
    """A description and a note in one line, however long they are."""

    def __init__(self, description: str, note: str) -> None:
        self._description, self._note = description, note

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        gap = 2 if self._note else 0
        widest = cell_len(self._description) + gap + cell_len(self._note)
        return Measurement(1, max(1, min(widest, options.max_width)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(
            one_line(self._description, self._note, options.max_width),
            no_wrap=True,
            overflow="crop",
        )


def one_line(description: str, note: str, width: int) -> str:
    """A description and a note in at most so many columns.

    The note is cut at its end. The description is cut before the seed or the number of its task, by
    which it differs from others, and has two thirds of the width at least.

    >>> one_line("dqn in Freeway, seed 3", "20 frames, 5/s", 60)
    'dqn in Freeway, seed 3  20 frames, 5/s'
    >>> one_line("dqn in Freeway, seed 3", "20 frames, 5/s", 30)
    'dqn in Free…, seed 3  20 fram…'
    """
    if not note:
        return _shortened(description, width)
    room = max(width - cell_len(note) - 2, 2 * width // 3)
    description = _shortened(description, room)
    left = width - cell_len(description) - 2
    return f"{description}  {_cut(note, left)}" if left > 1 else description


def _shortened(description: str, width: int) -> str:
    """With its end, from the last comma or bracket on."""
    if cell_len(description) <= width:
        return description
    comma, bracket = description.rfind(", "), description.rfind(" (")
    at = comma if comma >= 0 else bracket
    end = description[at:] if at >= 0 else ""
    room = width - cell_len(end)
    if room < SHORTEST:
        return _cut(description, width)
    return _cut(description[: len(description) - len(end)], room) + end


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)) + "…"


def clock(seconds: float) -> str:
    """A time as a clock shows it; days where they are many.

    >>> clock(7), clock(3_725), clock(1_000_000)
    ('0:07', '1:02:05', '12 days')
    """
    whole = round(seconds)
    if whole >= 4 * 86_400:
        return f"{whole / 86_400:.0f} days"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


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
