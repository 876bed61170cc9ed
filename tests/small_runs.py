"""Deep runs of seconds, executed in this process, and what tests look at."""

import json
import subprocess
import time
from contextlib import contextmanager

from countless.agents.dqn.replay import PER_SLOT
from countless.core.snapshots import last_snapshot
from countless.runs.dqn import make_job
from countless.runs.job import Execution, never
from countless.runs.store import Store

TINY = {
    "width": 0.0625, "history": 2, "replay": 500, "warmup": 30, "target_period": 40,
    "epsilon_steps": 100, "max_frames": 150, "batch": 8,
}  # fmt: skip


def deep_job(agent="dqn-mmc-sr", env="deepsea-5", *, seed=0, frames=120, device="cpu", **more):
    return make_job(
        agent, env, seed=seed, frames=frames, device=device, parameters=TINY | more
    )  # fmt: skip


def execute(job, out, *, stop=never, task=None, threads=None):
    """Execute a job into a store, here."""
    execution = Execution(threads, stop=stop, **({} if task is None else {"task": task}))
    return Store(out, "a test").execute(job, execution)


def episodes(folder):
    """The log of a deep run."""
    path = folder / "episodes.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def last_checkpoint(folder):
    """The manifest of the last checkpoint of a deep run."""
    return last_snapshot(folder / "checkpoint")


def kept_counters(folder):
    return last_checkpoint(folder).content["counters"]


def checkpoint_bytes(folder):
    """All that a checkpoint holds, to the byte."""
    kept = last_checkpoint(folder)
    files = {what: kept.read(what) for what in kept.files}
    return files | {name: kept.content[name] for name in ("counters", "replay")}


def replay_arrays(replay):
    """All that a replay holds, by name."""
    return {name: getattr(replay, name) for name in (*PER_SLOT, "written", "opened")}


def stop_after(turns):
    """A `stop` that says yes after so many questions."""
    asked = 0

    def stop():
        nonlocal asked
        asked += 1
        return asked >= turns

    return stop


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


def children(pid):
    """The processes that a process has started."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
    )
    return [int(word) for word in listed.stdout.split()]


class Listener:
    """A reporter, and a task, that remembers what it was told."""

    def __init__(self):
        self.tasks, self.advanced, self.notes, self.warnings = [], [], [], []

    @contextmanager
    def task(self, description, total):
        self.tasks.append((description, total))
        yield self

    def advance(self, amount):
        self.advanced.append(amount)

    def note(self, text):
        self.notes.append(text)

    def warn(self, text):
        self.warnings.append(text)
