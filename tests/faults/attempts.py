"""Work that is meant to be killed: each attempt runs in a process that starts in milliseconds."""

import multiprocessing
import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from countless.agents.tabular.sarsa import Sarsa
from countless.envs import make_mdp
from countless.runs import tabular
from countless.runs.job import Execution
from countless.runs.store import Store
from countless.runs.tabular import TabularJob
from countless.runs.verify import verify
from small_runs import TINY, deep_job

FRAMES = 600
OPTIONS = [
    word for name, value in TINY.items() for word in (f"--{name.replace('_', '-')}", str(value))
]
RUN = ["run", "dqn-mmc-sr", "deepsea-5", *OPTIONS, "--device", "cpu", "--frames", str(FRAMES)]


def the_deep_job():
    """With a checkpoint every few steps: many deaths fall into one."""
    return replace(deep_job(frames=FRAMES), save_every=0.02)


def the_sweep():
    """Fifty settings, in as many parts."""
    settings = tuple(Sarsa(alpha=i / 100) for i in range(1, 51))
    return TabularJob(settings, make_mdp("riverswim"), runs=4, steps=200, seed=0)


def execute_deep(out):
    Store(out, "a test").execute(the_deep_job(), Execution(1))


def execute_sweep(out):
    tabular.PART_STEPS = 800
    Store(out, "a test").execute(the_sweep(), Execution(1))


def command_deep(out):
    """The command line, which a SIGTERM asks to write a checkpoint."""
    from countless.cli.main import main

    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    os._exit(main([*RUN, "-o", str(out)]))


class Attempts:
    """Runs `work(out)` again and again, sending a signal each time, until enough have landed."""

    def __init__(self, work, seed):
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(
            ["countless.cli.main", "countless.runs.dqn", "torch.utils.tensorboard", "ale_py"]
        )
        self._work, self._random = work, random.Random(seed)
        self.landed = self.finished = 0
        self._longest = 0.5  # seconds of work before the signal, at most

    def once(self, out, number):
        """Whether the work came to its end before the signal did."""
        process = self._context.Process(target=self._work, args=(out,))
        process.start()
        began = time.monotonic()
        process.join(self._random.uniform(0.0, self._longest))
        if process.exitcode is None:
            os.kill(process.pid, number)
        process.join()
        ended = process.exitcode == 0
        expected = (0, -number, 75) if number == signal.SIGTERM else (0, -number)
        assert process.exitcode in expected, process.exitcode
        if ended:  # the next signals come earlier or later, so that most land
            self.finished += 1
            self._longest = max(0.05, time.monotonic() - began)
        else:
            self.landed += 1
            self._longest *= 1.02
        damage = (
            [line for verdict in verify(out) for line in verdict.damage] if out.exists() else []
        )
        assert damage == [], damage
        return ended
