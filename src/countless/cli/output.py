"""What a person sees: tables on stdout, progress on stderr."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from countless.analysis.tables import Table
from countless.cli.wrapping import wrapped

LABEL = 24  # columns that a label has at least, if one of its words is that long

WIDE, TIGHT = 3, 2  # columns between those of a table, by whether there is room


def print_json(content: Mapping[str, Any]) -> None:
    """Exactly one JSON document on stdout."""
    sys.stdout.write(json.dumps(content, allow_nan=False) + "\n")


def console() -> Console:
    """Stdout; wide enough for most tables where it is neither a terminal nor told its width."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(highlight=False, width=None if known else 200)


def print_table(table: Table) -> None:
    """The table as wide as the terminal, if its numbers fit: labels go on in the next line."""
    out = console()
    out.print(table.title, style="bold", markup=False)
    widths, gap = column_widths(table, out.width)
    wide = gap == WIDE
    shown = RichTable(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 1 if wide else 0),
        show_edge=wide,
    )
    for i, column in enumerate(table.columns):
        justify = "left" if i < table.labels else "right"
        shown.add_column(column, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for row in table.texts():
        cells = (_folded(cell, width) for cell, width in zip(row, widths, strict=True))
        shown.add_row(*(escape(cell) for cell in cells))
    # Where numbers alone are too wide, lines are: no column is left out.
    out.width = max(sum(widths) + gap * len(widths) + 2, out.width)
    out.print(shown)
    if table.note:
        print_text(table.note)


def column_widths(table: Table, width: int) -> tuple[list[int], int]:
    """The columns' widths, and how many lie between them: those of labels give way, down to their
    longest word, those first that then take the fewest more lines."""
    columns = list(zip(table.columns, *table.texts(), strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    gap = WIDE if sum(widths) + WIDE * len(widths) <= width else TIGHT
    least = [
        min(max(len(word) for cell in column for word in _words(cell)), LABEL)
        for column in columns[: table.labels]
    ]
    room = width - gap * (len(widths) - 1) - 1
    while sum(widths) > room:
        labels = [i for i in range(table.labels) if widths[i] > least[i]]
        if not labels:
            break
        widths[min(labels, key=lambda i: (_cost(columns[i], widths[i]), -widths[i]))] -= 1
    return widths, gap


def _cost(cells: Sequence[str], width: int) -> int:
    """How many more lines there are with a column less; those in the middle of names weigh more."""
    return sum(
        (1 if " " in cell else 5)
        * (_folded(cell, width - 1).count("\n") - _folded(cell, width).count("\n"))
        for cell in cells
    )


def _words(cell: str) -> Sequence[str]:
    """Where a cell may be broken: between words, or in a name after hyphens."""
    return cell.split() if " " in cell else re.findall(r"[^-]*-|[^-]+", cell) or [""]


def _folded(cell: str, width: int) -> str:
    if cell_len(cell) <= width:
        return cell
    if " " in cell:
        return "\n".join(textwrap.wrap(cell, width, break_on_hyphens=False))
    lines = [""]
    for word in _words(cell):
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(piece for line in lines if line for piece in textwrap.wrap(line, width))


def print_text(text: str) -> None:
    """Prose, in lines as wide as the terminal."""
    print_lines(wrapped(text))


def print_lines(text: str) -> None:
    """What may be pasted, such as paths: no line is broken."""
    console().print(text, markup=False, soft_wrap=True)
