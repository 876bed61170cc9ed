"""Experience: every frame once, rewards apart, Monte-Carlo returns when an episode ends.

A lane is a ring of slots for one environment. A slot holds the newest frame of an observation and
what was done there; stacks of `history` frames are put together when sampled. Slots are numbered
on and on; slot i lies at place i % capacity. A slot flagged FIRST hides all frames before it: it
is the first of an episode, or, with the released code's stacks, the last frame of the one before.
Only slots of finished episodes can be sampled, none whose stack was partly overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

FIRST, STEP, DONE = 1, 2, 4
# Bytes of a slot beside its frame: action 2, flags 1, rewards 4 + 4, return 4.
SLOT_BYTES = 15
PER_SLOT = ("frames", "actions", "flags", "extrinsic", "intrinsic", "returns")
SEGMENT = 4_096  # slots that a checkpoint keeps in one file
HEADER_BYTES = 4_096  # of such a file

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Transitions:
    """A batch of B transitions, named as in dqn_zoo."""

    s: NDArray[Any]  # (2 B, history, ...): each s_tm1, then each s_t
    a_tm1: NDArray[np.int64]  # (B,)
    r_t: Floats  # (B,), the game's reward
    r_int_t: Floats  # (B,), the bonus of s_tm1
    g_tm1: Floats  # (B,), the Monte-Carlo return of both rewards from s_tm1 on
    terminal_t: NDArray[np.bool_]  # (B,), nothing follows s_t
    s_next: NDArray[Any] | None = None  # (B, history, ...): s_t, or the start of the next episode
    continues_t: NDArray[np.bool_] | None = None  # (B,), whether s_next is known

    @property
    def s_tm1(self) -> NDArray[Any]:
        """(B, history, ...)"""
        return self.s[: len(self.a_tm1)]

    @property
    def s_t(self) -> NDArray[Any]:
        """(B, history, ...)"""
        return self.s[len(self.a_tm1) :]

    def arrays(self) -> dict[str, NDArray[Any]]:
        present = {"s_tm1": self.s_tm1, "s_t": self.s_t} | {
            item.name: getattr(self, item.name) for item in fields(self) if item.name != "s"
        }
        return {name: array for name, array in present.items() if array is not None}


class Replay:
    """`lanes` rings of `capacity` slots each."""

    def __init__(
        self,
        lanes: int,
        capacity: int,
        frame_shape: tuple[int, ...],
        dtype: Any = np.uint8,
        history: int = 4,
        next_starts: bool = False,
    ) -> None:
        """With `next_starts`, batches say where each episode's successor starts."""
        self.lanes, self.capacity, self.history = lanes, capacity, history
        self.next_starts = next_starts
        self.frames = np.zeros((lanes, capacity, *frame_shape), dtype)
        self.actions = np.zeros((lanes, capacity), np.int16)
        self.flags = np.zeros((lanes, capacity), np.uint8)
        self.extrinsic = np.zeros((lanes, capacity), np.float32)
        self.intrinsic = np.zeros((lanes, capacity), np.float32)
        self.returns = np.zeros((lanes, capacity), np.float32)
        self.written = np.zeros(lanes, np.int64)  # slots ever written
        self.opened = np.zeros(lanes, np.int64)  # first slot of the open episode

    def __len__(self) -> int:
        """Slots that can be sampled, a few of which hold an episode's last frame only."""
        return int(self._ranges()[1].sum())

    def append(
        self, lane: int, frame: NDArray[Any], action: int, extrinsic: float, flags: int
    ) -> int:
        """Write a slot; its number. Its bonus is zero until `set_bonus`."""
        slot = int(self.written[lane])
        at = slot % self.capacity
        self.frames[lane, at] = frame
        self.actions[lane, at] = action
        self.flags[lane, at] = flags
        self.extrinsic[lane, at] = extrinsic
        self.intrinsic[lane, at] = 0.0
        self.written[lane] += 1
        return slot

    def set_bonus(self, lane: int, slot: int, bonus: float) -> None:
        """The intrinsic reward of a slot of the open episode, unless it was overwritten."""
        if slot >= self.written[lane] - self.capacity:
            self.intrinsic[lane, slot % self.capacity] = bonus

    def finish(
        self, lane: int, total: Callable[[Floats, Floats], Floats], gamma: float, tail: float
    ) -> None:
        """End the open episode: fill in its returns. `tail` is what comes after its last step."""
        start = max(int(self.opened[lane]), int(self.written[lane]) - self.capacity)
        at = np.arange(start, int(self.written[lane])) % self.capacity
        at = at[(self.flags[lane, at] & STEP) > 0]
        rewards = total(self.extrinsic[lane, at], self.intrinsic[lane, at])
        self.returns[lane, at] = discounted_returns(rewards, gamma, tail)
        self.opened[lane] = self.written[lane]

    def sample(self, size: int, random: np.random.Generator) -> Transitions:
        """`size` transitions, uniformly and with replacement from all that can be sampled."""
        low, sizes = self._ranges()
        bounds = sizes.cumsum()
        before = bounds - sizes
        lane, slot = np.empty(size, np.int64), np.empty(size, np.int64)
        missing = np.arange(size)
        while len(missing):
            drawn = random.integers(bounds[-1], size=len(missing))
            lanes = np.searchsorted(bounds, drawn, side="right")
            slots = low[lanes] + drawn - before[lanes]
            lane[missing], slot[missing] = lanes, slots
            missing = missing[(self.flags[lanes, slots % self.capacity] & STEP) == 0]
        batch = self.gather(lane, slot)
        return self._with_starts(batch, lane, slot) if self.next_starts else batch

    def _with_starts(
        self, batch: Transitions, lane: NDArray[np.int64], slot: NDArray[np.int64]
    ) -> Transitions:
        """The same, and where it goes on: after an episode's end, where the next one starts.

        The start of an episode whose first step was not taken yet is not known.
        """
        s_next, continues_t = batch.s_t.copy(), np.ones(len(slot), np.bool_)
        ends = np.flatnonzero(batch.terminal_t)
        if len(ends):
            after = slot[ends] + 1
            # A slot that is no step holds the last frame; the episode starts behind it.
            after += (self.flags[lane[ends], after % self.capacity] & STEP) == 0
            known = after < self.written[lane[ends]]
            continues_t[ends] = known
            ends, after = ends[known], after[known]
            starts = np.empty((len(ends), *s_next.shape[1:]), s_next.dtype)
            self._copy_stacks(lane[ends], after, starts)
            s_next[ends] = starts
        return replace(batch, s_next=s_next, continues_t=continues_t)

    def _copy_stacks(
        self, lane: NDArray[np.int64], slot: NDArray[np.int64], out: NDArray[Any]
    ) -> None:
        """Write the observations at slots to `out`, (B, history, ...)."""
        frames = self.frames.reshape(self.lanes, self.capacity, -1)
        _copy_stacks(frames, self.flags, lane, slot, out.reshape(*out.shape[:2], frames.shape[2]))

    def observation(self, lane: int, slot: int) -> NDArray[Any]:
        """The stack (history, ...) at a slot."""
        out = np.empty((1, self.history, *self.frames.shape[2:]), self.frames.dtype)
        self._copy_stacks(np.array([lane]), np.array([slot]), out)
        stack: NDArray[Any] = out[0]
        return stack

    def gather(self, lane: NDArray[np.int64], slot: NDArray[np.int64]) -> Transitions:
        """The transitions at the given slots."""
        size, at = len(slot), slot % self.capacity
        s = np.empty((2 * size, self.history, *self.frames.shape[2:]), self.frames.dtype)
        self._copy_stacks(lane, slot, s[:size])
        self._copy_stacks(lane, slot + 1, s[size:])
        return Transitions(
            s=s,
            a_tm1=self.actions[lane, at].astype(np.int64),
            r_t=self.extrinsic[lane, at],
            r_int_t=self.intrinsic[lane, at],
            g_tm1=self.returns[lane, at],
            terminal_t=(self.flags[lane, at] & DONE) > 0,
        )

    def can_sample(self) -> bool:
        """Whether there is a transition that can be sampled: of two slots in a row, one is."""
        return bool((self._ranges()[1] >= 2).any())

    def segments(self, lane: int) -> range:
        """The numbers of the segments in which a lane's slots lie: segment i holds those from
        `SEGMENT` i on, as far as they are written and not yet overwritten."""
        written = int(self.written[lane])
        oldest = max(0, written - self.capacity)
        return range(oldest // SEGMENT, -(-written // SEGMENT))

    def is_final(self, lane: int, segment: int) -> bool:
        """Whether a segment will not change: an episode that is over is never written to again."""
        return (segment + 1) * SEGMENT <= int(self.opened[lane])

    def get_segment(self, lane: int, segment: int) -> dict[str, NDArray[Any]]:
        """The slots of a segment, and the number of the first."""
        written = int(self.written[lane])
        first = max(segment * SEGMENT, written - self.capacity)
        at = np.arange(first, min((segment + 1) * SEGMENT, written)) % self.capacity
        return {name: getattr(self, name)[lane, at] for name in PER_SLOT} | {
            "first": np.array(first, np.int64)
        }

    def set_segment(self, lane: int, arrays: Mapping[str, NDArray[Any]]) -> range:
        """Put slots where they were, once `written` is set; those that are not overwritten yet."""
        written = int(self.written[lane])
        first, size = int(arrays["first"]), len(arrays["flags"])
        oldest = max(first, written - self.capacity, 0)
        if not first >= 0 or first + size > written:
            raise ValueError(f"slots {first} to {first + size - 1} of {written}")
        at = np.arange(oldest, first + size) % self.capacity
        for name in PER_SLOT:
            own, given = getattr(self, name), arrays[name]
            if given.dtype != own.dtype or given.shape != (size, *own.shape[2:]):
                raise ValueError(f"{name} of the replay is {given.dtype} {given.shape}")
            own[lane, at] = given[oldest - first :]
        return range(oldest, first + size)

    def counters(self) -> dict[str, list[int]]:
        """Of each lane, slots ever written, and the first slot of the open episode."""
        return {"written": self.written.tolist(), "opened": self.opened.tolist()}

    def set_counters(self, counters: Mapping[str, list[int]]) -> None:
        written, opened = (np.array(counters[name]) for name in ("written", "opened"))
        if not (
            written.shape == opened.shape == (self.lanes,)
            and written.dtype == opened.dtype == np.int64
            and (opened >= 0).all()
            and (opened <= written).all()
        ):
            raise ValueError("the counters of the replay do not fit")
        self.written[:], self.opened[:] = written, opened

    @property
    def most_segment_bytes(self) -> int:
        """No segment is larger."""
        frame = self.frames[0, :1].nbytes
        return SEGMENT * (frame + SLOT_BYTES) + HEADER_BYTES

    def _ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of each lane, the first slot to sample and how many there are from there."""
        ranges: tuple[NDArray[np.int64], NDArray[np.int64]] = _ranges(
            self.written, self.opened, self.capacity, self.history
        )
        return ranges


@njit(nogil=True, cache=True)
def _ranges(written, opened, capacity, history):  # type: ignore[no-untyped-def]
    """From the first whose stack does not reach back past the tail of a full ring, to the last of
    a finished episode; the slot after it must be written too."""
    low, size = np.zeros_like(written), np.zeros_like(written)
    for lane in range(len(written)):
        if written[lane] > capacity:
            low[lane] = written[lane] - capacity + history - 1
        size[lane] = max(0, min(opened[lane], written[lane] - 1) - low[lane])
    return low, size


@njit(nogil=True, cache=True)
def _copy_stacks(frames, flags, lanes, slots, out):  # type: ignore[no-untyped-def]
    """out[b] = the frames up to slots[b], back to the last that hides those before it; else zero."""
    size, history, places = out.shape
    capacity = frames.shape[1]
    for b in range(size):
        lane, slot = lanes[b], slots[b]
        visible = True
        for back in range(history):
            row = out[b, history - 1 - back]
            visible = visible and slot >= back
            if not visible:
                row[:] = 0
                continue
            at = (slot - back) % capacity
            frame = frames[lane, at]
            for i in range(places):
                row[i] = frame[i]
            visible = (flags[lane, at] & FIRST) == 0


def discounted_returns(rewards: Floats, gamma: float, tail: float) -> Floats:
    """G_t = r_t + gamma G_{t+1}, the last one followed by `tail`.

    >>> discounted_returns(np.array([1.0, 0.0, 2.0], np.float32), 0.5, 0.0).tolist()
    [1.5, 1.0, 2.0]
    """
    returns = np.empty_like(rewards)
    following = tail
    for i in range(len(rewards) - 1, -1, -1):
        following = float(rewards[i]) + gamma * following
        returns[i] = following
    return returns


def bytes_needed(slots: int, frame_bytes: int) -> int:
    """Memory of a replay of `slots` slots.

    >>> bytes_needed(1_000_000, 84 * 84) / 1e9
    7.071
    """
    return slots * (frame_bytes + SLOT_BYTES)
