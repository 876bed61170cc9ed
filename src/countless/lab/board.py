"""Who computes what next: a bounded pool, short turns, and a question that supersedes the last."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from countless.agents.catalogue import describe
from countless.agents.tabular.agent import TabularAgent
from countless.core.cores import usable_cores
from countless.core.seeding import digest
from countless.lab.pictures import Picture
from countless.lab.settings import Request, Setting

TURN = 0.1  # seconds that one question may compute; the page asks again for the rest
PATIENCE = 0.02  # seconds between looks for a newer question
MOST_PICTURES = 64
MOST_CLIENTS = 64


class Superseded(Exception):  # noqa: N818 (nothing went wrong)
    """The same page has asked something newer."""


class Board:
    """The pictures that are being made, and the threads that make them.

    A question is answered after a turn, with the runs that are done by then; what is not done goes on
    with the next question. So no page waits long for another, and a page that moved on costs
    nothing more.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or usable_cores()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="countless-lab")
        self._pictures: OrderedDict[str, Picture] = OrderedDict()
        self._latest: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def announce(self, request: Request) -> Callable[[], bool]:
        """Note a question; the answer is whether a newer one of the same page is there."""
        with self._lock:
            latest = max(request.number, self._latest.pop(request.client, 0))
            self._latest[request.client] = latest
            while len(self._latest) > MOST_CLIENTS:
                self._latest.popitem(last=False)
        return lambda: self._latest.get(request.client, 0) > request.number

    def answer(self, request: Request, superseded: Callable[[], bool]) -> list[Picture]:
        """The pictures of a request, one turn further."""
        setting = request.setting
        pictures = [self._picture(column.agent, setting) for column in setting.columns]
        self._advance(pictures, superseded)
        return pictures

    def _picture(self, agent: TabularAgent, setting: Setting) -> Picture:
        key = digest(
            {"mdp": setting.mdp.fingerprint, "seed": setting.seed, "agent": agent.name}
            | {"parameters": describe(agent)}
        )
        with self._lock:
            picture = self._pictures.get(key) or Picture(agent, setting.mdp, setting.seed)
            self._pictures[key] = picture
            self._pictures.move_to_end(key)
            while len(self._pictures) > MOST_PICTURES:
                self._pictures.popitem(last=False)
        return picture

    def _advance(self, pictures: Sequence[Picture], superseded: Callable[[], bool]) -> None:
        """Make runs until all are made or the turn is over, the picture with the fewest first.

        Runs that are under way when a newer question comes are finished and kept.
        """
        over = time.monotonic() + TURN
        under_way: set[Future[None]] = set()
        while True:
            if superseded():
                raise Superseded
            if len(under_way) < self._threads and time.monotonic() < over:
                picture = min(pictures, key=lambda p: p.begun)
                if runs := picture.claim():
                    under_way.add(self._pool.submit(picture.work, runs))
                    continue
            if not under_way:
                break
            done, under_way = wait(under_way, timeout=PATIENCE, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
        for picture in pictures:
            if picture.error is not None:
                raise picture.error
