"""The released code's `.mdp` files: a header, then `s, a, s', r, p` rows and a few named lines.

s, a, s', r, p
0, 0, 1, 0.0, 1.0
1, 0, 1, 2.5, 1.0
start, 0, 1.0
terminal, 1
time_limit, 5000
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countless.core.errors import BadInput
from countless.envs.mdp import MDP, build_mdp

MOST = 10_000_000
HEADER = "s, a, s', r, p"
TRANSITION = "a transition is five values: s, a, s', r, p"
NAMED_LINES = {
    "start": (3, "start, STATE, PROBABILITY"),
    "terminal": (2, "terminal, STATE"),
    "time_limit": (2, "time_limit, STEPS"),
}


@dataclass
class _Contents:
    rows: list[tuple[int, int, int, float, float]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    start: dict[int, tuple[float, int]] = field(default_factory=dict)  # probability, line
    terminal: dict[int, int] = field(default_factory=dict)
    time_limit: int | None = None


def read_mdp(path: Path) -> MDP:
    """The MDP in a `.mdp` file; whatever is wrong with it is a `BadInput` that names the line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: is not a text file") from None
    return parse_mdp(path, text)


def parse_mdp(path: Path, text: str) -> MDP:
    """The MDP in the text of a `.mdp` file; `path` is what errors name."""
    contents = _parse(path, text)
    if not contents.rows:
        raise BadInput(f"{path}: there are no transitions; {TRANSITION}")
    columns = tuple(np.array(column) for column in zip(*contents.rows, strict=True))
    n_states = int(max(columns[0].max(), columns[2].max())) + 1
    _check_not_sparse(path, columns[0], n_states)
    start = np.zeros(n_states)
    for s, (probability, line) in contents.start.items():
        _check_known(path, f"line {line}: start", s, n_states)
        if not 0.0 <= probability <= 1.0:
            raise BadInput(
                f"{path}: line {line}: start state {s}: the probability must lie in [0, 1], "
                f"not {probability:g}"
            )
        start[s] = probability
    for s, line in contents.terminal.items():
        _check_known(path, f"line {line}: terminal", s, n_states)
    return build_mdp(
        path.stem,
        (columns[0], columns[1], columns[2], columns[3], columns[4]),
        start,
        terminal=tuple(contents.terminal),
        time_limit=contents.time_limit,
        origin=str(path),
        lines=contents.lines,
    )


def mdp_text(mdp: MDP) -> str:
    """The MDP as such a file: `read_mdp` makes the same one of it, to the bit, but for its picture.

    A file ends episodes on entering a state. An MDP that ends them on some of the transitions into a
    state only, or cuts them by a limit of their own, is a `BadInput`.

    >>> from countless.envs import make_mdp
    >>> mdp_text(make_mdp("chain-2")).splitlines()[:3]
    ["s, a, s', r, p", '0, 0, 0, 0.0, 1.0', '0, 1, 1, 0.0, 1.0']
    """
    ends = np.unique(mdp.next_state[mdp.terminated])
    if mdp.episode_limit is not None or not mdp.terminated[np.isin(mdp.next_state, ends)].all():
        raise BadInput(
            f"{mdp.name}: an .mdp file ends episodes in terminal states, and nowhere else"
        )
    columns = (mdp.state, mdp.action, mdp.next_state, mdp.reward, mdp.probability)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = [", ".join(map(repr, row)) for row in rows]
    lines += [f"start, {s}, {float(mdp.start[s])!r}" for s in np.flatnonzero(mdp.start)]
    lines += [f"terminal, {s}" for s in ends]
    lines += [] if mdp.time_limit is None else [f"time_limit, {mdp.time_limit}"]
    return "\n".join((HEADER, *lines)) + "\n"


def _check_not_sparse(path: Path, states: NDArray[np.int64], n_states: int) -> None:
    """A large number on a single line must not take the memory of as many states."""
    if n_states > len(states):
        there = np.unique(states)
        missing = int(np.argmin(np.append(there, n_states) == np.arange(len(there) + 1)))
        raise BadInput(
            f"{path}: state {missing} has no action; every state needs at least one (a terminal "
            "state too: give it a self-loop)"
        )


def _check_known(path: Path, what: str, state: int, n_states: int) -> None:
    if not 0 <= state < n_states:
        raise BadInput(
            f"{path}: {what} state {state} has no transition; states are 0 to {n_states - 1}"
        )


def _parse(path: Path, text: str) -> _Contents:
    contents = _Contents()
    seen: dict[tuple[int, int, int], int] = {}
    reader = csv.reader(text.splitlines())
    for row in _rows(path, reader):
        line = reader.line_num
        values = [value.strip() for value in row]
        if not any(values):
            continue
        where = f"{path}: line {line}"
        if line == 1:
            _check_header(where, values)
        elif values[0] in NAMED_LINES:
            _named_line(contents, where, line, values)
        else:
            transition = _transition(where, values)
            key = transition[:3]
            if key in seen:
                raise BadInput(
                    f"{where}: state {key[0]}, action {key[1]}: the transition to {key[2]} "
                    f"stands already on line {seen[key]}"
                )
            seen[key] = line
            contents.rows.append(transition)
            contents.lines.append(line)
    return contents


def _rows(path: Path, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise BadInput(f"{path}: is not a CSV file: {error}") from None


def _check_header(where: str, values: list[str]) -> None:
    first = values[0]
    if first in NAMED_LINES or first.lstrip("+-").replace(".", "", 1).isdigit():
        raise BadInput(f"{where}: the first line must be the header `{HEADER}`")


def _named_line(contents: _Contents, where: str, line: int, values: list[str]) -> None:
    keyword = values[0]
    length, form = NAMED_LINES[keyword]
    if len(values) != length:
        raise BadInput(f"{where}: has {len(values)} values; the form is `{form}`")
    number = _whole(where, keyword, values[1])
    if keyword == "start":
        if number in contents.start:
            raise BadInput(f"{where}: start state {number} is given twice")
        probability = _finite(where, f"start probability of state {number}", values[2])
        contents.start[number] = (probability, line)
    elif keyword == "terminal":
        contents.terminal[number] = line
    elif contents.time_limit is not None:
        raise BadInput(f"{where}: the time limit is given twice")
    else:
        contents.time_limit = number


def _transition(where: str, values: list[str]) -> tuple[int, int, int, float, float]:
    if len(values) != 5:
        raise BadInput(f"{where}: has {len(values)} values; {TRANSITION}")
    s = _whole(where, "state", values[0])
    a = _whole(where, "action", values[1])
    s_next = _whole(where, "next state", values[2])
    pair = f"state {s}, action {a}"
    return (
        s,
        a,
        s_next,
        _finite(where, f"{pair}: reward", values[3]),
        _finite(where, f"{pair}: probability", values[4]),
    )


def _whole(where: str, what: str, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= MOST:
        raise BadInput(
            f"{where}: {what} must be a whole number from 0 to {MOST:,}, not {text[:40]!r}"
        )
    return number


def _finite(where: str, what: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(f"{where}: {what} must be a finite number, not {text!r}")
    return number
