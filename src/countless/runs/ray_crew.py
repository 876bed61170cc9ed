"""Orders on their way through a Ray cluster: sent out, heard of, sent again when a node dies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from countless.core.errors import BadInput, CountlessError
from countless.core.progress import Task
from countless.runs.job import Stop, Stopped
from countless.runs.messages import thread_variables
from countless.runs.ray_cluster import Needs, slots
from countless.runs.ray_tasks import DONE, FAILED, Board, Common, work

LISTEN_EVERY = 0.3  # seconds
LOSSES = 3  # in a row, without getting further in between: then it is not the node's fault
WORK, WORK_AFRESH = ray.remote(work), ray.remote(max_calls=1)(work)
BOARD = ray.remote(num_cpus=0)(Board)
LOST = "{}: the process or its node died; it runs again from what it had kept"


@dataclass
class Order:
    """A job, or a share of one, and what is known of it."""

    label: str
    units: int
    content: dict[str, Any]
    reached: Callable[[], object]  # whatever changes when it has got further
    losses: int = 0
    at_loss: object = None
    told: int = 0  # units since it was sent last
    shown: int = 0  # units that the bar has seen

    def lost(self) -> bool:
        """Whether it was lost too often at the same place."""
        reached = self.reached()
        self.losses = self.losses + 1 if reached == self.at_loss else 1
        self.at_loss, self.told = reached, 0
        return self.losses >= LOSSES


@dataclass
class Batch:
    """Orders that one task executes."""

    orders: list[Order]
    needs: Needs
    threads: int
    fresh: bool  # in a process of its own, which ends with it
    begun: bool = False


@dataclass
class Crew:
    """Sends batches to the cluster until all of their orders are done.

    The failure of one order leaves the others running, and is raised in the end. Asked to stop, all
    that run write what they have.
    """

    common: Common
    task: Task
    stop: Stop
    _orders: list[Order] = field(default_factory=list)
    _running: dict[Any, Batch] = field(default_factory=dict)
    _failures: list[CountlessError] = field(default_factory=list)
    _done: int = 0
    _stopping: bool = False

    def run(self, batches: Iterable[Batch]) -> None:
        waiting = deque(batches)
        for batch in waiting:
            for order in batch.orders:
                order.content["number"] = len(self._orders)
                self._orders.append(order)
        room = {batch.needs: slots(batch.needs) for batch in waiting}
        most = 2 * max(room.values())  # one task runs, the next is on its way
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        board: Any = BOARD.options(scheduling_strategy=here).remote()
        common = ray.put(self.common)
        try:
            while waiting or self._running:
                if self.stop() and not self._stopping:
                    self._ask_to_stop(board)
                if self._stopping:
                    waiting.clear()
                while waiting and len(self._running) < most:
                    self._send(waiting.popleft(), common, board)
                ended, _ = ray.wait(list(self._running), timeout=LISTEN_EVERY)
                for reference in ended:
                    waiting.extend(self._end(reference))
                self._hear(board)
        finally:
            ray.kill(board)
        if self._failures:
            raise self._failure()
        if self._stopping:
            raise Stopped

    def _ask_to_stop(self, board: Any) -> None:
        self._stopping = True
        ray.get(board.stop.remote())
        for reference, batch in self._running.items():
            if not batch.begun:
                ray.cancel(reference)

    def _send(self, batch: Batch, common: Any, board: Any) -> None:
        environment = {"env_vars": thread_variables(batch.threads)}  # Ray would choose otherwise
        options = {**batch.needs.options(), "max_retries": 0, "runtime_env": environment}
        function = (WORK_AFRESH if batch.fresh else WORK).options(**options)
        sent = function.remote([order.content for order in batch.orders], common, board)
        self._running[sent] = batch

    def _hear(self, board: Any) -> None:
        news = ray.get(board.read.remote())
        for number, amount in news.advanced.items():
            order = self._orders[number]
            order.told += amount
            self._show(order, order.told)
        for text in news.warnings:
            self.task.warn(text)
        for batch in self._running.values():
            batch.begun |= batch.orders[0].content["number"] in news.begun
        running = sum(len(batch.orders) for batch in self._running.values() if batch.begun)
        self.task.note(
            f"{self._done:,} of {len(self._orders):,} done, {running:,} running, "
            f"{len(self._failures):,} failed"
        )

    def _show(self, order: Order, reached: int) -> None:
        reached = min(reached, order.units)
        if reached > order.shown:
            self.task.advance(reached - order.shown)
            order.shown = reached

    def _end(self, reference: Any) -> list[Batch]:
        """Take the answers of a task; what of it must be sent again."""
        batch = self._running.pop(reference)
        try:
            answers = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            self._failures.append(CountlessError(f"{batch.orders[0].label}: {error.cause}"))
            return []
        except ray.exceptions.RayError as error:
            if self._stopping:
                return []
            return self._lose(batch, str(error).split("\n")[0])
        for answer in answers:
            order = self._orders[answer["order"]]
            if answer["state"] == DONE:
                self._done += 1
                self._show(order, order.units)
            elif answer["state"] == FAILED:
                kind = BadInput if answer["bad_input"] else CountlessError
                self._failures.append(kind(f"{order.label}: {answer['failed']}"))
        return []

    def _lose(self, batch: Batch, reason: str) -> list[Batch]:
        again = []
        for order in batch.orders:
            if order.lost():
                self._failures.append(
                    CountlessError(
                        f"{order.label}: its process died {LOSSES} times without getting further "
                        f"({reason})"
                    )
                )
                continue
            self.task.warn(LOST.format(order.label))
            order.content["again"] = True
            again.append(order)
        return [Batch(again, batch.needs, batch.threads, batch.fresh)] if again else []

    def _failure(self) -> CountlessError:
        first = self._failures[0]
        if len(self._failures) == 1:
            return first
        return type(first)(f"{len(self._failures)} jobs failed; the first: {first}")
