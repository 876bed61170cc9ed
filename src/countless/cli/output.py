"""What a person sees: tables on stdout, progress on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from countless.analysis.tables import Table

LABEL = 24  # columns that a label has at least, if it is that long


def print_json(content: Mapping[str, Any]) -> None:
    """Exactly one JSON document on stdout."""
    sys.stdout.write(json.dumps(content, allow_nan=False) + "\n")


def console() -> Console:
    """Stdout; wide enough for most tables where it is neither a terminal nor told its width."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(highlight=False, width=None if known else 200)


def print_table(table: Table) -> None:
    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(table.columns):
        label = i < table.labels
        shown.add_column(
            column, justify="left" if label else "right", no_wrap=not label, overflow="fold"
        )
    for row in table.texts():
        shown.add_row(*(escape(cell) for cell in row))
    out = console()
    out.print(table.title, style="bold", markup=False)
    # Labels go on in the next line, inside a word if they must. Where numbers alone are too wide,
    # lines do: no column is left out.
    cells = zip(table.columns, *table.texts(), strict=True)
    widest = [max(map(cell_len, column)) for column in cells]
    least = sum(min(w, LABEL) if i < table.labels else w for i, w in enumerate(widest))
    out.width = max(least + 3 * len(widest), out.width)
    out.print(shown)
    if table.note:
        print_text(table.note)


def print_text(text: str) -> None:
    console().print(text, markup=False, soft_wrap=not sys.stdout.isatty())
