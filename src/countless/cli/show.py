"""What a person sees: tables on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table as RichTable

from countless.analysis.tables import Table
from countless.core.progress import Advance

PATIENCE = 2.0  # seconds before a bar appears
PLAIN_EVERY = 10.0  # seconds between lines where stderr is not a terminal


def print_json(content: Mapping[str, Any]) -> None:
    """Exactly one JSON document on stdout."""
    sys.stdout.write(json.dumps(content, allow_nan=False) + "\n")


def console() -> Console:
    """Stdout; wide enough for any table where it is not a terminal."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 200)


def print_table(table: Table) -> None:
    shown = RichTable(box=box.SIMPLE_HEAD)
    for i, column in enumerate(table.columns):
        label = i < table.labels
        shown.add_column(column, justify="left" if label else "right", no_wrap=not label)
    for row in table.rows:
        shown.add_row(*row)
    out = console()
    out.print(table.title, style="bold", markup=False)
    # In a narrow terminal long lines go on in the next one: no column is left out.
    whole = out.measure(shown, options=out.options.update(width=1_000)).maximum
    out.width = max(whole, out.width)
    out.print(shown)
    if table.note:
        print_text(table.note)


def print_text(text: str) -> None:
    console().print(text, markup=False, soft_wrap=not sys.stdout.isatty())


class Bars:
    """A progress bar on stderr for whatever takes more than two seconds."""

    @contextmanager
    def task(self, description: str, total: int) -> Iterator[Advance]:
        if sys.stderr.isatty():
            with _bar(description, total) as advance:
                yield advance
        else:
            yield _lines(description, total)


@contextmanager
def _bar(description: str, total: int) -> Iterator[Advance]:
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = progress.add_task(description, total=total)
    # Shown by a timer, so that compiling, which advances nothing, is seen too.
    timer = threading.Timer(PATIENCE, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda amount: progress.advance(task, amount)
    finally:
        timer.cancel()
        progress.stop()


def _lines(description: str, total: int) -> Advance:
    done = 0
    last = time.monotonic()

    def advance(amount: int) -> None:
        nonlocal done, last
        done += amount
        if time.monotonic() - last > PLAIN_EVERY:
            last = time.monotonic()
            print(f"{description}: {100 * done // total}%", file=sys.stderr, flush=True)

    return advance
