"""Prose in lines as wide as the terminal; what is to be pasted stays in one line."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Sequence

LEAST = 20  # columns: narrower terminals break lines by themselves
KEPT = 2  # spaces before a line that is not broken: a command, or a line of a file
HARD = "\N{NO-BREAK SPACE}"
COMMAND, GAP = 32, 3  # the longest command that has its words beside it, and the space between them


def terminal_width() -> int:
    """Columns of the terminal, or what COLUMNS says; 80 where neither is known."""
    return max(shutil.get_terminal_size().columns, LEAST)


def filled(text: str, indent: str = "", width: int | None = None) -> str:
    """One paragraph; words, and commands between backquotes, are never broken.

    >>> print(filled("Everything is told by `countless list agents`.", width=30))
    Everything is told by
    `countless list agents`.
    """
    whole = re.sub("`[^`]*`", lambda found: found[0].replace(" ", HARD), text)
    return textwrap.fill(
        whole,
        terminal_width() if width is None else width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ).replace(HARD, " ")


def wrapped(text: str, width: int | None = None) -> str:
    """Each line is a paragraph; those with two spaces before them stay as they are.

    >>> print(wrapped("A line of many words, then a command:\\n  countless run sarsa riverswim", 20))
    A line of many
    words, then a
    command:
      countless run sarsa riverswim
    """
    lines = []
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        kept = indent == KEPT or not line.strip()
        lines.append(line if kept else filled(line.strip(), " " * indent, width))
    return "\n".join(lines)


def two_columns(pairs: Sequence[tuple[str, str]], width: int | None = None) -> str:
    """Commands and what they do: side by side, or below each other where that is too wide."""
    width = terminal_width() if width is None else width
    column = KEPT + GAP + max(len(command) for command, _ in pairs if len(command) <= COMMAND)
    if any(column + len(what) > width for _, what in pairs):
        return "\n".join(f"  {command}\n{filled(what, ' ' * 6, width)}" for command, what in pairs)
    lines = []
    for command, what in pairs:
        short = len(command) <= COMMAND
        first, second = (f"  {command}", "") if short else ("", f"  {command}\n")
        lines.append(f"{second}{first:<{column}}{what}")
    return "\n".join(lines)
