"""Errors that are meant for people: one line that says what, where, and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class CountlessError(Exception):
    """Something went wrong while running; the command line exits with 1."""

    exit_code = 1


class BadInput(CountlessError):  # noqa: N818 (it is the input that is bad, not an error class)
    """The user gave something that cannot be right; the command line exits with 2."""

    exit_code = 2


_command_line = False


@contextmanager
def naming_options(on: bool = True) -> Iterator[None]:
    """Within it, messages name options (--gamma-sr), not Python parameters (gamma_sr)."""
    global _command_line
    before, _command_line = _command_line, on
    try:
        yield
    finally:
        _command_line = before


def names_options() -> bool:
    """Whether messages name options just now: a worker process is told, and does the same."""
    return _command_line


def named(parameter: str, value: object = None) -> str:
    """A parameter as the person who gave it writes it, with a value where one is suggested.

    >>> named("gamma_sr"), named("sr", False)
    ('gamma_sr', 'sr=False')
    """
    if not _command_line:
        return parameter if value is None else f"{parameter}={value!r}"
    option = f"--{parameter.replace('_', '-')}"
    if isinstance(value, bool):
        value = "on" if value else "off"
    return option if value is None else f"{option} {value}"


def install_hint(extra: str) -> str:
    """How to install an optional part, as someone types it who has a clone of the repository.

    >>> install_hint("deep")
    "in a clone of the repository, pip install '.[deep]'"
    """
    return f"in a clone of the repository, pip install '.[{extra}]'"


def unknown_name(kind: str, name: object, known: Iterable[str], hint: str = "") -> BadInput:
    """The error for a name that is not in a catalogue, with the nearest name where there is one.

    >>> str(unknown_name("agent", "sarsa-rs", ["sarsa", "sarsa-sr"]))
    "unknown agent 'sarsa-rs'; did you mean 'sarsa-sr'? Known: sarsa, sarsa-sr"
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1) if isinstance(name, str) else []
    nearest = f"; did you mean {close[0]!r}?" if close else "."
    tail = f". {hint}" if hint else ""
    return BadInput(f"unknown {kind} {name!r}{nearest} Known: {', '.join(names)}{tail}")


def unknown_parameter(
    owner: str, name: str, known: Iterable[str], others: Iterable[str] = ()
) -> BadInput:
    """The error for a parameter that `owner` does not have, with the nearest one where there is one;
    `others` are not its own, but may have been meant.

    >>> str(unknown_parameter("sarsa-sr", "gama_sr", ["gamma", "gamma_sr"]))
    "sarsa-sr has no parameter 'gama_sr'; did you mean 'gamma_sr'? It takes gamma, gamma_sr"
    """
    names = list(known)
    takes = f"takes {', '.join(map(named, names))}" if names else "takes no parameters"
    close = difflib.get_close_matches(name, [*names, *others], n=1)
    shown = named(name) if _command_line else repr(name)
    if not close:
        return BadInput(f"{owner} has no parameter {shown}; it {takes}")
    nearest = named(close[0]) if _command_line else repr(close[0])
    return BadInput(f"{owner} has no parameter {shown}; did you mean {nearest}? It {takes}")
