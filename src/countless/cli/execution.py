"""How commands execute jobs: progress on stderr; asked to stop, what is finished is kept."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from countless.cli.options import where_of
from countless.cli.stopping import Patience, Terminated
from countless.core.bars import Bars
from countless.runs.engines import Engine, Where, make_engine
from countless.runs.job import Job, Stopped
from countless.runs.result import Result
from countless.runs.store import Store


def execute_patiently(jobs: Sequence[Job], arguments: argparse.Namespace) -> Result:
    """Execute the jobs of a command into its store."""
    command = f"countless {shlex.join(sys.argv[1:])}"
    checkpoints = any(job.engine == "dqn" for job in jobs)
    with engine_of(where_of(arguments), arguments.out, arguments.threads, checkpoints) as engine:
        return Result(engine.run(jobs, Store(arguments.out, command)))


@contextmanager
def engine_of(where: Where, out: Path, threads: int | None, checkpoints: bool) -> Iterator[Engine]:
    """The engine. Work that writes checkpoints, or runs elsewhere, is asked to stop; any other stops
    at once."""
    patience = Patience() if checkpoints or where.on_ray else None
    try:
        if patience is None:
            yield make_engine(where, threads, Bars(), own_process=True)
            return
        with patience:
            yield make_engine(where, threads, Bars(), patience.asked, own_process=True)
    except (KeyboardInterrupt, Terminated, Stopped) as error:
        print(
            f"countless: what is finished is kept in {out}; the same command goes on from there",
            file=sys.stderr,
        )
        if patience is None or not isinstance(error, Stopped):
            raise
        raise patience.reason() from None
