"""A finite Markov decision process as flat arrays, validated once when it is made."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countless.core.errors import BadInput

SUM_TOLERANCE = 1e-9
# The released scripts accept a start distribution whose sum is off by less than 1e-4.
START_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class MDP:
    """States 0..n-1, actions by number, and one row per transition, sorted by (state, action, next).

    A state may offer only some of the actions. `terminated` marks the transitions that end an
    episode. `time_limit` is the length of a run that the MDP's author meant (5,000 in the paper's
    two domains); `episode_limit` restarts an episode early, as Gymnasium's `max_episode_steps`.
    `layout` places states on a grid for pictures (-1: wall). Make one with `build_mdp`.
    """

    name: str
    state: NDArray[np.int64]
    action: NDArray[np.int64]
    next_state: NDArray[np.int64]
    reward: NDArray[np.float64]
    probability: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    start: NDArray[np.float64]
    time_limit: int | None = None
    episode_limit: int | None = None
    layout: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return f"MDP({self.name}: {self.n_states} states, {self.n_actions} actions)"

    @property
    def n_states(self) -> int:
        return len(self.start)

    @cached_property
    def n_actions(self) -> int:
        """How many action numbers there are; a state may offer fewer."""
        return int(self.action.max()) + 1

    @cached_property
    def pair_offsets(self) -> NDArray[np.int64]:
        """Where each (state, action) pair's rows begin, with the number of rows at the end."""
        new = (np.diff(self.state) != 0) | (np.diff(self.action) != 0)
        return np.concatenate([[0], np.flatnonzero(new) + 1, [len(self.state)]])

    @cached_property
    def pair_state(self) -> NDArray[np.int64]:
        return self.state[self.pair_offsets[:-1]]

    @cached_property
    def pair_action(self) -> NDArray[np.int64]:
        return self.action[self.pair_offsets[:-1]]

    @cached_property
    def state_offsets(self) -> NDArray[np.int64]:
        """Where each state's pairs begin, with the number of pairs at the end."""
        return np.searchsorted(self.pair_state, np.arange(self.n_states + 1))

    def actions(self, state: int) -> NDArray[np.int64]:
        """The actions that `state` offers, ascending."""
        return self.pair_action[self.state_offsets[state] : self.state_offsets[state + 1]]

    @cached_property
    def fingerprint(self) -> str:
        """A digest of what the MDP does, whatever its name or file: it goes into the seeds."""
        hasher = hashlib.blake2b(digest_size=8)
        for array in (self.state, self.action, self.next_state, self.reward, self.probability):
            hasher.update(np.ascontiguousarray(array).tobytes())
        hasher.update(self.terminated.tobytes() + self.start.tobytes())
        hasher.update(str(self.episode_limit).encode())
        return hasher.hexdigest()


# What an MDP does, column by column; how it is laid out in a picture is no part of it.
_COLUMNS: dict[str, Any] = {
    "state": np.int64,
    "action": np.int64,
    "next_state": np.int64,
    "reward": np.float64,
    "probability": np.float64,
    "terminated": np.bool_,
    "start": np.float64,
}


def describe_mdp(mdp: MDP) -> dict[str, Any]:
    """An MDP as plain data."""
    columns = {name: getattr(mdp, name).tolist() for name in _COLUMNS}
    limits = {"time_limit": mdp.time_limit, "episode_limit": mdp.episode_limit}
    return {"name": mdp.name, **columns, **limits}


def read_mdp(described: Mapping[str, Any]) -> MDP:
    """An MDP from what `describe_mdp` made of it."""
    columns = {name: np.array(described[name], kind) for name, kind in _COLUMNS.items()}
    return MDP(**{**described, **columns})


def build_mdp(
    name: str,
    rows: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike],
    start: ArrayLike,
    *,
    terminal: Sequence[int] = (),
    terminated: ArrayLike | None = None,
    time_limit: int | None = None,
    episode_limit: int | None = None,
    layout: NDArray[np.int64] | None = None,
    origin: str | None = None,
    lines: ArrayLike | None = None,
) -> MDP:
    """An MDP from columns (state, action, next state, reward, probability), checked.

    Episodes end on entering a `terminal` state, or on the rows marked in `terminated`. `origin`
    (a file) and `lines` (one line number per row) make the errors say where to look. A row of
    probability 0 changes nothing, but for a terminal state, where it declares that the action exists.
    """
    origin = origin or name
    state, action, next_state = (np.asarray(column, dtype=np.int64) for column in rows[:3])
    reward, probability = (np.asarray(column, dtype=np.float64) for column in rows[3:])
    start_array = np.asarray(start, dtype=np.float64)
    ends = np.isin(next_state, np.asarray(terminal, dtype=np.int64))
    if terminated is not None:
        ends |= np.asarray(terminated, dtype=bool)
    declared = _declared_only(state, action, probability, terminal)
    next_state = np.where(declared, state, next_state)
    ends |= declared
    probability = np.where(declared, 1.0, probability)
    line_array = None if lines is None else np.asarray(lines, dtype=np.int64)
    check = _Check(origin, state, action, line_array)
    check.rows(next_state, reward, probability, len(start_array))
    order = np.lexsort((next_state, action, state))
    check = _Check(
        origin, state[order], action[order], None if line_array is None else line_array[order]
    )
    mdp = MDP(
        name=name,
        state=state[order],
        action=action[order],
        next_state=next_state[order],
        reward=reward[order],
        probability=probability[order],
        terminated=ends[order],
        start=start_array,
        time_limit=_check_limit(origin, "time_limit", time_limit),
        episode_limit=_check_limit(origin, "episode_limit", episode_limit),
        layout=layout,
    )
    check.sums(mdp)
    check.states(mdp)
    _check_start(origin, start_array, terminal)
    return _without_impossible(mdp)


def _declared_only(
    state: NDArray[np.int64],
    action: NDArray[np.int64],
    probability: NDArray[np.float64],
    terminal: Sequence[int],
) -> NDArray[np.bool_]:
    """The first row of each pair of a terminal state that has no probability at all."""
    declared = np.zeros(len(state), dtype=bool)
    for row in np.flatnonzero(np.isin(state, np.asarray(terminal, dtype=np.int64))):
        pair = (state == state[row]) & (action == action[row])
        declared[row] = not probability[pair].any() and not declared[pair].any()
    return declared


def _check_limit(origin: str, name: str, limit: int | None) -> int | None:
    if limit is not None and limit < 1:
        raise BadInput(f"{origin}: {name} must be at least 1, not {limit}")
    return limit


def _check_start(origin: str, start: NDArray[np.float64], terminal: Sequence[int]) -> None:
    bad = ~np.isfinite(start) | (start < 0) | (start > 1)
    if bad.any():
        s = int(np.argmax(bad))
        raise BadInput(
            f"{origin}: start state {s}: probability must lie in [0, 1], not {start[s]:g}"
        )
    total = float(start.sum())
    if abs(total - 1.0) >= START_TOLERANCE:
        raise BadInput(
            f"{origin}: the start probabilities sum to {total:.6g}; they must sum to 1 "
            "(in a file: `start, STATE, PROBABILITY` lines)"
        )
    for s in terminal:
        if start[s] > 0:
            raise BadInput(f"{origin}: state {s} is both a start and a terminal state")


def _without_impossible(mdp: MDP) -> MDP:
    keep = mdp.probability > 0
    if keep.all():
        return mdp
    columns = ("state", "action", "next_state", "reward", "probability", "terminated")
    kept = {column: getattr(mdp, column)[keep] for column in columns}
    return MDP(
        name=mdp.name,
        start=mdp.start,
        time_limit=mdp.time_limit,
        episode_limit=mdp.episode_limit,
        layout=mdp.layout,
        **kept,
    )


@dataclass(frozen=True)
class _Check:
    """Finds the first offending row and says where it is."""

    origin: str
    state: NDArray[np.int64]
    action: NDArray[np.int64]
    lines: NDArray[np.int64] | None

    def fail(self, row: int, what: str) -> BadInput:
        line = "" if self.lines is None else f"line {self.lines[row]}: "
        where = f"state {self.state[row]}, action {self.action[row]}"
        return BadInput(f"{self.origin}: {line}{where}: {what}")

    def rows(
        self,
        next_state: NDArray[np.int64],
        reward: NDArray[np.float64],
        probability: NDArray[np.float64],
        n_states: int,
    ) -> None:
        if len(self.state) == 0:
            raise BadInput(f"{self.origin}: there are no transitions")
        for label, values in (("state", self.state), ("next state", next_state)):
            for row in np.flatnonzero((values < 0) | (values >= n_states))[:1]:
                raise self.fail(
                    row, f"{label} {values[row]} is not one of the states 0 to {n_states - 1}"
                )
        for row in np.flatnonzero(self.action < 0)[:1]:
            raise self.fail(row, "an action is a whole number from 0 up")
        for row in np.flatnonzero(~np.isfinite(reward))[:1]:
            raise self.fail(row, f"the reward must be finite, not {reward[row]:g}")
        outside = ~((probability >= 0) & (probability <= 1))
        for row in np.flatnonzero(outside)[:1]:
            raise self.fail(row, f"the probability must lie in [0, 1], not {probability[row]:g}")

    def sums(self, mdp: MDP) -> None:
        totals = np.add.reduceat(mdp.probability, mdp.pair_offsets[:-1])
        for pair in np.flatnonzero(np.abs(totals - 1.0) > SUM_TOLERANCE)[:1]:
            raise self.fail(
                int(mdp.pair_offsets[pair]),
                f"the probabilities sum to {totals[pair]:.6g}; they must sum to 1",
            )

    def states(self, mdp: MDP) -> None:
        empty = np.flatnonzero(np.diff(mdp.state_offsets) == 0)
        for s in empty[:1]:
            raise BadInput(
                f"{self.origin}: state {s} has no action; every state needs at least one "
                "(a terminal state too: give it a self-loop)"
            )
