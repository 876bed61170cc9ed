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
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TextIO

from countless.core.errors import BadInput, CountlessError, names_options, naming_options
from countless.core.progress import Reporter, Task
from countless.runs.job import Execution, Job, Stop, Stopped
from countless.runs.store import Store

ENDED = "ended"
# The modules of the jobs that run in workers, by engine: `read_job` makes one of its message.
READERS = {"dqn": "countless.runs.dqn", "host": "countless.runs.hosts"}
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerJob(Job, Protocol):
    """What a job needs beyond the rest to run in a process of its own."""

    @property
    def threads(self) -> int: ...

    def memory(self) -> float:
        """Bytes that it takes."""
        ...

    def to_message(self) -> dict[str, Any]:
        """As plain data."""
        ...


class Workers:
    """The processes, and what they say."""

    def __init__(
        self,
        jobs: list[WorkerJob],
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

    def run(self, stop: Stop) -> None:
        """Until all jobs are finished; the first failure ends the others at their checkpoints."""
        failure: CountlessError | None = None
        stopping = False
        try:
            while self._waiting or self._running:
                if (stop() or failure is not None) and not stopping:
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

    def _start(self, i: int, job: WorkerJob) -> None:
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
    job: WorkerJob
    store: Store
    said: queue.Queue[tuple[int, dict[str, Any]]]
    task: Task
    context: ExitStack
    failure: CountlessError | None = None
    told_the_end: bool = False

    def __post_init__(self) -> None:
        paths = [path for path in sys.path if path]
        # Set before NumPy is imported there: its own threads would take the other jobs' cores.
        threads = dict.fromkeys(THREAD_VARIABLES, str(self.job.threads))
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


def describe(job: WorkerJob, store: Store) -> dict[str, Any]:
    """A job as a line of JSON."""
    return {
        "engine": job.engine,
        "job": job.to_message(),
        "store": str(store.folder),
        "command": store.command,
        "names_options": names_options(),
    }


def read(line: str) -> tuple[WorkerJob, Store]:
    """The job in a line of JSON."""
    message = json.loads(line)
    reader = import_module(READERS[message["engine"]])
    return reader.read_job(message["job"]), Store(Path(message["store"]), message["command"])


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
    signal.signal(signal.SIGTERM, lambda signum, frame: asked.set())
    # What a library prints must not be taken for a message.
    speaker = _Speaker(os.fdopen(os.dup(1), "w"))
    os.dup2(2, 1)
    line = sys.stdin.readline()

    def wait_for_the_end_of_input() -> None:
        sys.stdin.read()
        asked.set()

    threading.Thread(target=wait_for_the_end_of_input, daemon=True).start()
    with naming_options(json.loads(line)["names_options"]):
        try:
            job, store = read(line)
            store.execute(job, Execution(None, speaker, asked.is_set, own_process=True))
            speaker.say(done=True)
        except Stopped:
            speaker.say(done=True)
        except CountlessError as error:
            speaker.say(failed=str(error), bad_input=isinstance(error, BadInput))
        except Exception as error:
            speaker.say(failed=f"{type(error).__name__}: {error}", bad_input=False)


if __name__ == "__main__":
    main()
