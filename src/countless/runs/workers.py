"""Several long jobs at once: one worker process each, spoken to in lines of JSON.

A worker is `python -m countless.runs.workers`: it reads its job from standard input and writes what
happens to standard output. Closing its input asks it to stop, so a worker outlives nobody.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TextIO

from countless.core.errors import BadInput, CountlessError, naming_options
from countless.core.progress import Reporter, Task
from countless.runs.job import Execution, Stop, Stopped
from countless.runs.messages import LongJob, describe, read, thread_variables
from countless.runs.store import Store

ENDED = "ended"


class Workers:
    """The processes, and what they say."""

    def __init__(
        self,
        jobs: list[LongJob],
        store: Store,
        at_once: int,
        reporter: Reporter,
        tasks: ExitStack,
    ) -> None:
        self._waiting = list(enumerate(jobs))
        self._total = len(jobs)
        self._store, self._at_once = store, at_once
        self._reporter, self._tasks = reporter, tasks
        self._said: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
        self._running: dict[int, _Worker] = {}
        self._stopped = False  # one of them was, by a signal of its own

    def run(self, stop: Stop) -> None:
        """Until all jobs are finished; the first failure ends the others at their checkpoints."""
        failure: CountlessError | None = None
        stopping = False
        try:
            while self._waiting or self._running:
                if (stop() or self._stopped or failure is not None) and not stopping:
                    stopping = True
                    self._waiting.clear()
                    for worker in self._running.values():
                        worker.ask_to_stop()
                while self._waiting and len(self._running) < self._at_once:
                    self._start(*self._waiting.pop(0))
                failure = self._listen() or failure
        finally:
            for worker in self._running.values():
                worker.process.kill()
                worker.ask_to_stop()
                worker.process.wait()
        if failure is not None:
            raise failure
        if stopping:
            raise Stopped

    def _start(self, i: int, job: LongJob) -> None:
        label = f"{job.label} ({i + 1} of {self._total})"
        context = ExitStack()
        task = context.enter_context(self._reporter.task(label, job.units))
        self._tasks.push(context)
        self._running[i] = _Worker(i, job, self._store, self._said, task, context)

    def _listen(self) -> CountlessError | None:
        """Take one message; a process that died is heard of at once, since its output ends."""
        try:
            i, message = self._said.get(timeout=0.2)
        except queue.Empty:
            return None
        worker = self._running[i]
        if "advance" in message:
            worker.task.advance(message["advance"])
        elif "note" in message:
            worker.task.note(message["note"])
        elif "warn" in message:
            worker.task.warn(message["warn"])
        elif "failed" in message:
            worker.failure = (BadInput if message["bad_input"] else CountlessError)(
                f"{worker.job.label}: {message['failed']}"
            )
        elif "done" in message:
            worker.told_the_end = True
            self._stopped |= message["stopped"]
        elif ENDED in message:
            return self._end(worker)
        return None

    def _end(self, worker: _Worker) -> CountlessError | None:
        del self._running[worker.index]
        worker.context.close()
        worker.ask_to_stop()  # closes its input
        code = worker.process.wait()
        if worker.failure is None and not worker.told_the_end:
            return CountlessError(f"{worker.job.label}: its process died (exit code {code})")
        return worker.failure


@dataclass
class _Worker:
    index: int
    job: LongJob
    store: Store
    said: queue.Queue[tuple[int, dict[str, Any]]]
    task: Task
    context: ExitStack
    failure: CountlessError | None = None
    told_the_end: bool = False

    def __post_init__(self) -> None:
        paths = [path for path in sys.path if path]
        threads = thread_variables(self.job.threads)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "countless.runs.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | threads | {"PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # Ctrl-C goes to us alone, and we ask it to stop
        )
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # a process that died at once is heard of below
            self.process.stdin.write(json.dumps(describe(self.job, self.store)) + "\n")
            self.process.stdin.flush()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.said.put((self.index, json.loads(line)))
        self.said.put((self.index, {ENDED: True}))

    def ask_to_stop(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()


class _Speaker:
    """A task whose progress goes to the parent."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def say(self, **message: Any) -> None:
        # A parent that was killed hears nothing: the checkpoint is written all the same.
        with contextlib.suppress(OSError):
            self._out.write(json.dumps(message) + "\n")
            self._out.flush()

    def advance(self, amount: int) -> None:
        self.say(advance=amount)

    def note(self, text: str) -> None:
        self.say(note=text)

    def warn(self, text: str) -> None:
        self.say(warn=text)


def main() -> None:
    """Execute the job that standard input names."""
    asked = threading.Event()
    # A batch system may send these to all processes of a job.
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda signum, frame: asked.set())
    # What a library prints must not be taken for a message.
    speaker = _Speaker(os.fdopen(os.dup(1), "w"))
    os.dup2(2, 1)
    line = sys.stdin.readline()

    def wait_for_the_end_of_input() -> None:
        sys.stdin.read()
        asked.set()

    threading.Thread(target=wait_for_the_end_of_input, daemon=True).start()
    message = json.loads(line)
    with naming_options(message["names_options"]):
        try:
            job, store = read(message)
            store.execute(job, Execution(None, speaker, asked.is_set, own_process=True))
            speaker.say(done=True, stopped=False)
        except Stopped:
            speaker.say(done=True, stopped=True)
        except CountlessError as error:
            speaker.say(failed=str(error), bad_input=isinstance(error, BadInput))
        except Exception as error:
            speaker.say(failed=f"{type(error).__name__}: {error}", bad_input=False)


if __name__ == "__main__":
    main()
