"""How commands execute jobs: progress on stderr; asked to stop, what is finished is kept."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from countless.cli.stopping import Patience, Terminated
from countless.core.bars import Bars
from countless.runs.engine import LocalEngine
from countless.runs.job import Job, Stopped
from countless.runs.result import Result
from countless.runs.store import Store


def execute_patiently(jobs: Sequence[Job], arguments: argparse.Namespace) -> Result:
    """Execute the jobs of a command into its store."""
    command = f"countless {shlex.join(sys.argv[1:])}"
    with engine_of(
        arguments.out, arguments.threads, any(j.engine == "dqn" for j in jobs)
    ) as engine:
        return Result(engine.run(jobs, Store(arguments.out, command)))


@contextmanager
def engine_of(out: Path, threads: int | None, checkpoints: bool) -> Iterator[LocalEngine]:
    """The local engine. Work that writes checkpoints is asked to stop; any other stops at once."""
    patience = Patience() if checkpoints else None
    try:
        if patience is None:
            yield LocalEngine(threads, Bars(), own_process=True)
            return
        with patience:
            yield LocalEngine(threads, Bars(), patience.asked, own_process=True)
    except (KeyboardInterrupt, Terminated, Stopped) as error:
        print(
            f"countless: what is finished is kept in {out}; the same command goes on from there",
            file=sys.stderr,
        )
        if patience is None or not isinstance(error, Stopped):
            raise
        raise patience.reason() from None
