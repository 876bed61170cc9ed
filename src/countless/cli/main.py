"""Parse the command line, call the command, turn errors into one line and an exit code."""

from __future__ import annotations

import argparse
import difflib
import io
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from countless.agents.catalogue import AGENTS
from countless.cli.options import add_agent_options, add_budget_options, add_out
from countless.cli.stopping import Interrupt, Terminated, terminate
from countless.core.errors import BadInput, CountlessError, naming_options, unknown_name

EPILOG = """\
examples:
  countless run sarsa-sr riverswim                      the paper's agent, the paper's parameters
  countless run sarsa-sr riverswim --rng authors --seed 2 --runs 100
                                                        the paper's number, to the digit
  countless sweep sarsa-sr sixarms --grid paper         all 1,500 settings of the paper's sweep
  countless run dqn-mmc-sr MontezumaRevenge --seed 0    the paper's deep agent; resumes by itself
  countless reproduce tabular                           Tables 1, 2, 5, 6, Figure 2, Theorem 1
  countless report                                      one HTML page with all of it
  countless diagnose sr-norm fourrooms                  the bonus against true visit counts

exit codes: 0 success, 1 failure while running, 2 bad input, 130 interrupted, 75 stopped by SIGTERM
(run the same command again to go on)
"""

EXPERIMENTS = (
    "table1", "table2", "table5", "table6", "figure2", "theorem1", "more-mdps",
    "table3", "table4", "ablations", "tabular", "deep",
)  # fmt: skip


class _Parser(argparse.ArgumentParser):
    """argparse with one-line errors."""

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if wrong is not None:
            known = [name.strip(" '") for name in wrong[2].split(",")]
            what = "command" if self.prog == "countless" else "name"
            raise unknown_name(what, wrong[1], known)
        raise BadInput(f"{message} (see {self.prog} --help)")


def build_parser(agent: str | None = None) -> argparse.ArgumentParser:
    """The whole command line; with an agent, only its options, for its help."""
    parser = _Parser(
        prog="countless",
        description="Count-based exploration, without counting: the norm of the successor "
        "representation as an exploration bonus.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)

    def command(name: str, text: str, **more: str) -> argparse.ArgumentParser:
        sub: argparse.ArgumentParser = commands.add_parser(
            name,
            help=text,
            description=more.get("description", text[0].upper() + text[1:] + "."),
            epilog=more.get("epilog"),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        sub.add_argument("--json", action="store_true", help="print one JSON document on stdout")
        return sub

    listing = command("list", "what there is to run")
    listing.add_argument(
        "what",
        nargs="?",
        choices=("agents", "envs", "bonuses", "experiments"),
        help="only this list",
    )

    run = command(
        "run",
        "one agent in one environment",
        epilog="Parameters not given are published values where there are some for the environment, "
        "else defaults; the result says which. `countless run AGENT --help` shows one agent's only."
        "\n\n  countless run sarsa-sr sixarms --beta 10 --norm 2 --runs 1000"
        "\n  countless run dqn-mmc-sr MontezumaRevenge --scale laptop --seeds 0 1\n\n"
        "Each run is kept in a folder and goes on from there when it is started again.",
    )
    _agent_and_env(run)
    add_budget_options(run, agent)
    add_out(run, "results", "the store to keep records in, and to go on from")
    add_agent_options(run, agent)

    sweep = command(
        "sweep",
        "every setting of a grid of parameters",
        epilog="A grid file names parameters; a list sweeps, a single value fixes:\n\n  "
        "alpha = [0.1, 0.25]\n  beta = [10, 100, 1000]\n  norm = 2\n\n"
        "  countless sweep sarsa-sr sixarms --grid grid.toml --runs 100\n"
        "  countless sweep dqn-mmc-sr deepsea-8 --grid grid.toml --scale smoke --seeds 0 1\n\n"
        "A parameter given as an option overrides the grid. Interrupted, the same command goes on.",
    )
    _agent_and_env(sweep)
    sweep.add_argument(
        "--grid",
        default="default",
        metavar="paper|FILE",
        help="the paper's grid, or a TOML file (default: the paper's where it has one, else ours)",
    )
    add_budget_options(sweep, agent)
    add_out(sweep, "results", "the store to keep records in, and to go on from")
    sweep.add_argument("--top", type=int, default=10, help="settings to print (default: 10)")
    add_agent_options(sweep, agent)

    status = command("status", "what a store holds: finished, partial, running and damaged jobs")
    status.add_argument("folder", nargs="?", default="results", help="default: results")

    diagnosis = command(
        "diagnose",
        "a bonus against true visit counts over a random walk",
        epilog="Deep bonuses see each state as a picture.\n\n  countless diagnose cts fourrooms\n  "
        "countless diagnose sr-norm fourrooms --set form=network --set lr=0.0005",
    )
    diagnosis.add_argument("bonus", metavar="BONUS", help="countless list bonuses")
    diagnosis.add_argument("env", metavar="ENV", help="countless list envs; up to 2,000 states")
    diagnosis.add_argument("--steps", type=int, default=5000, help="of the walk (default: 5,000)")
    diagnosis.add_argument("--seed", type=int, default=0, help="default: 0")
    diagnosis.add_argument(
        "--view",
        default="auto",
        metavar="states|vector|image",
        help="how the bonus sees a state (default: a deep one as an image)",
    )
    diagnosis.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the bonus; may be given again",
    )
    add_out(diagnosis, "results/diagnose", "where the figure is kept")

    reproduce = command("reproduce", "a table or figure of the paper, ours beside it")
    reproduce.add_argument("experiment", metavar="EXPERIMENT", help=", ".join(EXPERIMENTS))
    reproduce.add_argument("--runs", type=int, help="fresh runs of each entry (default: 10,000)")
    reproduce.add_argument("--seed", type=int, help="seed of the fresh runs (default: 0)")
    deep = reproduce.add_argument_group("table3, table4, ablations, deepsea")
    deep.add_argument(
        "--scale",
        metavar="smoke|laptop|paper",
        help="how much of the frames, sizes and network to run (default: smoke, minutes)",
    )
    deep.add_argument("--games", nargs="+", metavar="GAME", help="default: all of the table's")
    deep.add_argument("--seeds", nargs="+", type=int, help="default: 0")
    add_out(reproduce, "results", "where records and figures are kept")

    report = command(
        "report",
        "one self-contained HTML page of a store: the paper's experiments and all other runs",
    )
    report.add_argument("folder", nargs="?", default="results", help="default: results")
    add_out(report, "report", "the folder to write report.html to")

    watch = command(
        "watch",
        "a video of a deep run: game, prediction, value, bonus",
        epilog="  countless watch results/dqn-mmc-sr-MontezumaRevenge-seed-0-...",
    )
    watch.add_argument("run", metavar="RUN", help="the run's folder")
    watch.add_argument("--steps", type=int, default=1_000, help="how many (default: 1,000)")
    watch.add_argument("--epsilon", type=float, default=0.01, help="default: 0.01")
    watch.add_argument("--seed", type=int, default=0, help="of the random actions (default: 0)")
    add_out(watch, None, "the video (default: watch.mp4 in the run's folder)", "FILE.mp4")

    command("doctor", "what is installed, and how fast it runs here")
    return parser


def _agent_and_env(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help="countless list agents")
    parser.add_argument(
        "env",
        metavar="ENV",
        help="countless list envs; an .mdp file; a Gymnasium id, or PACKAGE:ID; deep: an Atari game",
    )


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The parsed arguments; an option nobody knows is an error that names the nearest."""
    wants_help = {"-h", "--help"} & set(argv)
    named = [word for word in argv[1:2] if word in AGENTS]
    parser = build_parser(named[0] if wants_help and named else None)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        raise BadInput(_unknown_option(parser, arguments.command, unknown[0]))
    return arguments


def _unknown_option(parser: argparse.ArgumentParser, command: str | None, option: str) -> str:
    subparsers = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    sub = subparsers.choices.get(command or "", parser)
    known = [name for action in sub._actions for name in action.option_strings]
    close = difflib.get_close_matches(option.split("=")[0], known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"see {sub.prog} --help"
    return f"unknown argument {option!r} of {sub.prog}; {hint}"


def _dispatch(argv: Sequence[str]) -> int:
    arguments = parse(argv)
    if arguments.version:
        from importlib.metadata import version

        print(version("countless"))
        return 0
    if arguments.command is None:
        build_parser().print_help()
        return 0
    module = import_module(f"countless.cli.{arguments.command}")
    command: Callable[[argparse.Namespace], None] = module.command
    command(arguments)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of a command."""
    interrupt = Interrupt()
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, terminate)
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
    except Terminated:
        print("countless: stopped by SIGTERM", file=sys.stderr)
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
