"""Call the command that the command line names; turn errors into one line and an exit code."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from countless.cli.parser import parse
from countless.cli.stopping import TERMINATING, Interrupt, Terminated, terminate
from countless.cli.wrapping import two_columns, wrapped
from countless.core.errors import CountlessError, naming_options

WHAT_IT_IS = (
    "Countless: count-based exploration, without counting.\n\n"
    "The norm of the successor representation, while it is being learned, tells how often a state was "
    "visited; its inverse is an exploration bonus.\n"
)
FIRST_STEPS = (
    ("countless run sarsa-sr riverswim", "The paper's agent, in a second."),
    ("countless lab", "Turn parameters and watch agents learn."),
    ("countless run dqn-mmc-sr deepsea-6 --scale smoke", "A deep agent, in a minute."),
    ("countless watch RUN", "A film of a deep run, from its folder."),
    ("countless reproduce table1", "A table of the paper, beside our numbers."),
    ("countless report", "All that was run, as one page to look at."),
)
TO_KNOW_MORE = (
    ("countless list", "Agents, environments, bonuses, experiments."),
    ("countless run AGENT --help", "The parameters of an agent."),
    ("countless --help", "Every command."),
)


def first_steps() -> str:
    """What is printed without a command."""
    shown = two_columns((*FIRST_STEPS, *TO_KNOW_MORE)).split("\n")
    more = next(i for i, line in enumerate(shown) if TO_KNOW_MORE[0][0] in line)
    return "\n".join([wrapped(WHAT_IT_IS), *shown[:more], "", *shown[more:]])


def _dispatch(argv: Sequence[str]) -> int:
    arguments = parse(argv)
    if arguments.version:
        from importlib.metadata import version

        print(version("countless"))
        return 0
    if arguments.command is None:
        print(first_steps())
        return 0
    module = import_module(f"countless.cli.{arguments.command}")
    command: Callable[[argparse.Namespace], None] = module.command
    command(arguments)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of a command."""
    interrupt = Interrupt()
    signal.signal(signal.SIGINT, interrupt)
    for number in TERMINATING:
        signal.signal(number, terminate)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ℓ shows a question mark
    try:
        with naming_options():
            code = _dispatch(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except CountlessError as error:
        print(f"countless: {' '.join(str(error).split())}", file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, ImportError) as error:
        if isinstance(error, ImportError) and not interrupt.seen:
            raise
        print("countless: interrupted", file=sys.stderr)
        return 130
    except Terminated as error:
        print(f"countless: stopped by {error.signal}", file=sys.stderr)
        return 75
    except MemoryError:
        print("countless: there is not enough memory for this", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"countless: {error}", file=sys.stderr)
        return 1
