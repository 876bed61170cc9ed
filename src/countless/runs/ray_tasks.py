"""What happens on the nodes of a Ray cluster: orders are executed, and a board is told how it goes.

An order is plain data: a job with its store, or some parts of the job that all tasks share. What comes
out goes to the store on disk, which all nodes share; only a word on each order comes back.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import ray

from countless.core.errors import BadInput, CountlessError, naming_options
from countless.core.provenance import versions
from countless.runs.job import Execution, Stopped
from countless.runs.lock import is_locked
from countless.runs.messages import read

SPEAK_EVERY = 0.5  # seconds
HEAR_WITHIN = 60.0  # seconds, after which whoever gave the order is taken to be gone
# A node that died may hold the lock of a job for a while: NFS gives it back after 90 seconds.
LOCK_PATIENCE = 120.0
DONE, STOPPED, FAILED = "done", "stopped", "failed"


@dataclass
class News:
    """What a task says of the orders that it executes."""

    advanced: dict[int, int] = field(default_factory=dict)  # units, by order
    begun: set[int] = field(default_factory=set)  # orders of tasks that have started
    warnings: list[str] = field(default_factory=list)

    def merge(self, other: News) -> None:
        for order, amount in other.advanced.items():
            self.advanced[order] = self.advanced.get(order, 0) + amount
        self.begun |= other.begun
        self.warnings += other.warnings


class Board:
    """An actor beside the engine: tasks leave their news there, and see whether to stop."""

    def __init__(self) -> None:
        self._news = News()
        self._stopping = False

    def tell(self, news: News) -> bool:
        """Leave news; whether to stop."""
        self._news.merge(news)
        return self._stopping

    def read(self) -> News:
        """All that was left since the last time."""
        news, self._news = self._news, News()
        return news

    def stop(self) -> None:
        """Ask all tasks to stop."""
        self._stopping = True


class _Line:
    """Speaks with the board now and then, from a thread of its own.

    A task that waits in its main thread for an answer lends its cores to the next task meanwhile, so
    that more tasks than cores would run.
    """

    def __init__(self, board: Any, orders: Sequence[Mapping[str, Any]]) -> None:
        self._board = board
        self._news = News(begun={order["number"] for order in orders})
        self._change = threading.Lock()
        self._closing, self._heard = threading.Event(), threading.Event()
        self.asked = False
        self._thread = threading.Thread(target=self._speak, daemon=True)

    def __enter__(self) -> _Line:
        self._thread.start()
        self._heard.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.join()

    def leave(self, news: News) -> None:
        with self._change:
            self._news.merge(news)

    def _speak(self) -> None:
        last = False
        while not last:
            last = self._closing.is_set()
            with self._change:
                news, self._news = self._news, News()
            try:
                self.asked = ray.get(self._board.tell.remote(news), timeout=HEAR_WITHIN)
            except ray.exceptions.RayError:  # nobody waits for this any more
                self.asked = True
            self._heard.set()
            self._closing.wait(SPEAK_EVERY)


class _Task:
    """The progress of one order."""

    def __init__(self, line: _Line, order: int) -> None:
        self._line, self._order = line, order

    def advance(self, amount: int) -> None:
        self._line.leave(News({self._order: amount}))

    def note(self, text: str) -> None:
        pass  # the engine has one note for all orders

    def warn(self, text: str) -> None:
        self._line.leave(News(warnings=[text]))


@dataclass(frozen=True)
class Common:
    """What all tasks of one engine's run share; it travels once to each node."""

    folder: str  # where the command was given
    names_options: bool
    versions: Mapping[str, str]
    shared: Mapping[str, Any] | None = None  # the job of which the orders are shares
    shared_id: str = ""


def work(orders: Sequence[Mapping[str, Any]], common: Common, board: Any) -> list[dict[str, Any]]:
    """Execute orders, one after the other; what became of each."""
    with _Line(board, orders) as line, naming_options(common.names_options), _within(common.folder):
        return [{"order": order["number"], **_answer(order, common, line)} for order in orders]


def _answer(order: Mapping[str, Any], common: Common, line: _Line) -> dict[str, Any]:
    try:
        if line.asked:
            raise Stopped
        _check_versions(common.versions)
        _execute(order, common, line)
    except Stopped:
        return {"state": STOPPED}
    except CountlessError as error:
        return {"state": FAILED, "failed": str(error), "bad_input": isinstance(error, BadInput)}
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return {"state": FAILED, "failed": text, "bad_input": False}
    return {"state": DONE}


def _execute(order: Mapping[str, Any], common: Common, line: _Line) -> None:
    task = _Task(line, order["number"])
    execution = Execution(order["threads"], task, lambda: line.asked, own_process=True)
    if common.shared is not None:
        job, place = _read_shared(common.shared_id, _Unhashed(common.shared))
        job.execute_parts(place, order["parts"], execution)
        return
    job, store = read(order["message"])
    if order["again"]:
        _wait_for_lock(store.place(job), line)
    store.execute(job, execution)


@dataclass(frozen=True)
class _Unhashed:
    message: Mapping[str, Any] = field(hash=False, compare=False)


@lru_cache(maxsize=1)
def _read_shared(key: str, shared: _Unhashed) -> tuple[Any, Path | None]:
    """A job of many parts, read once in each process."""
    job, store = read(shared.message)
    return job, store.place(job)


@cache
def _versions() -> dict[str, str]:
    return versions()


def _check_versions(wanted: Mapping[str, str]) -> None:
    """The bits of a job depend on the packages that compute them: all nodes must have the same."""
    here = _versions()
    for name, version in wanted.items():
        if here.get(name) != version:
            raise BadInput(
                f"the node {os.uname().nodename} has {name} {here.get(name, 'not at all')}, the "
                f"command {version}; install the same on all nodes"
            )


def _wait_for_lock(place: Path | None, line: _Line) -> None:
    deadline = time.monotonic() + LOCK_PATIENCE
    while place is not None and is_locked(place) and time.monotonic() < deadline:
        if line.asked:
            raise Stopped
        time.sleep(SPEAK_EVERY)


@contextlib.contextmanager
def _within(folder: str) -> Iterator[None]:
    """In the folder of whoever gave the order, where it is here too: names of files mean the same."""
    if Path(folder).is_dir():
        with contextlib.chdir(folder):
            yield
    else:
        yield
