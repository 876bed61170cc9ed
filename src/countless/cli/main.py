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
from countless.core.errors import CountlessError, naming_options

FIRST_STEPS = """\
Countless: count-based exploration, without counting.

The norm of the successor representation, while it is being learned, tells how
often a state was visited; its inverse is an exploration bonus.

  countless run sarsa-sr riverswim    the paper's agent, in a second
  countless reproduce table1          a table of the paper, beside our numbers
  countless report                    all that was run, as one page to look at

  countless list                      agents, environments, bonuses, experiments
  countless run AGENT --help          the parameters of an agent
  countless --help                    every command"""


def _dispatch(argv: Sequence[str]) -> int:
    arguments = parse(argv)
    if arguments.version:
        from importlib.metadata import version

        print(version("countless"))
        return 0
    if arguments.command is None:
        print(FIRST_STEPS)
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
