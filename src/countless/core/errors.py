"""Errors that are meant for people: one line that says what, where, and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CountlessError(Exception):
    """Something went wrong while running; the command line exits with 1."""

    exit_code = 1


class BadInput(CountlessError):  # noqa: N818 (it is the input that is bad, not an error class)
    """The user gave something that cannot be right; the command line exits with 2."""

    exit_code = 2


def unknown_name(kind: str, name: str, known: Iterable[str], hint: str = "") -> BadInput:
    """The error for a name that is not in a catalogue, with the nearest name where there is one.

    >>> str(unknown_name("agent", "sarsa-rs", ["sarsa", "sarsa-sr"]))
    "unknown agent 'sarsa-rs'; did you mean 'sarsa-sr'? Known: sarsa, sarsa-sr"
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    nearest = f"; did you mean {close[0]!r}?" if close else "."
    tail = f". {hint}" if hint else ""
    return BadInput(f"unknown {kind} {name!r}{nearest} Known: {', '.join(names)}{tail}")
