"""What can be written on the command line: one function per command."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from typing import NoReturn

from countless.agents.catalogue import AGENTS
from countless.cli.options import (
    add_agent_options,
    add_budget_options,
    add_out,
    add_seeds,
    add_where_options,
)
from countless.cli.wrapping import two_columns, wrapped
from countless.core.errors import BadInput, unknown_name

EXAMPLES = (
    ("countless run sarsa-sr riverswim", "The paper's agent with the paper's parameters."),
    (
        "countless run sarsa-sr riverswim --rng authors --seed 2 --runs 100",
        "The paper's number, to the digit.",
    ),
    (
        "countless sweep sarsa-sr sixarms --grid paper",
        "All 1,500 settings of the paper's sweep.",
    ),
    (
        "countless run dqn-mmc-sr MontezumaRevenge --seed 0",
        "The paper's deep agent; the same command goes on where it was stopped.",
    ),
    ("countless watch RUN", "A film of a deep run, from its folder."),
    ("countless reproduce tabular", "Tables 1, 2, 5 and 6, Figure 2 and Theorem 1."),
    ("countless report", "One HTML page with all of it."),
    ("countless diagnose sr-norm fourrooms", "The bonus against true visit counts."),
    ("countless lab", "A page to turn parameters and watch agents learn."),
)
EXIT_CODES = (
    "exit codes: 0 success, 1 failure while running, 2 bad input, 130 interrupted, 75 stopped by "
    "SIGTERM, SIGUSR1 or SIGUSR2 (run the same command again to go on)"
)

# The names of `experiments.catalogue`, which is slow to import; a test compares the two.
DEEP_EXPERIMENTS = (
    "table3", "table4", "ablations", "deepsea", "figure2-deep", "minigrid", "montezuma", "beta", "harm",
)  # fmt: skip
EXPERIMENTS = (
    "table1", "table2", "table5", "table6", "figure2", "maps", "theorem1", "more-mdps", "conjecture",
    "norm-exponents", "default-representation", "regret", "leaderboard", *DEEP_EXPERIMENTS, "tabular",
    "beyond", "deep",
)  # fmt: skip

_KINDS = {"int": "a whole number", "float": "a number", "number": "a whole number"}


class _Help(argparse.RawDescriptionHelpFormatter):
    """Descriptions and epilogs as wide as the rest; commands in them are not broken."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = wrapped(text, width - len(indent)).split("\n")
        return "\n".join((indent + line).rstrip() for line in lines)


class _Parser(argparse.ArgumentParser):
    """argparse with one-line errors."""

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if wrong is not None:
            known = [name.strip(" '") for name in wrong[2].split(",")]
            what = "command" if self.prog == "countless" else "list"
            raise unknown_name(what, wrong[1], known)
        wrong = re.fullmatch(r"argument (?:-o/)?(\S+): invalid (\w+) value: (.*)", message)
        if wrong is not None and wrong[2] in _KINDS:
            raise BadInput(f"{wrong[1]} must be {_KINDS[wrong[2]]}, not {wrong[3]}")
        message = re.sub(r"^argument (\S+): must be", r"\1 must be", message)
        raise BadInput(f"{message} (see {self.prog} --help)")


class _Commands:
    """The commands of a parser, each with what all of them take."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._subparsers = parser.add_subparsers(
            dest="command", metavar="COMMAND", parser_class=_Parser
        )

    def add(self, name: str, text: str, epilog: str | None = None) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = self._subparsers.add_parser(
            name,
            help=text,
            description=text[0].upper() + text[1:] + ".",
            epilog=epilog,
            formatter_class=_Help,
            allow_abbrev=False,
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
        return parser


def build_parser(agent: str | None = None, parameters: bool = True) -> argparse.ArgumentParser:
    """The whole command line; for help, with the parameters of one agent, or without any."""
    parser = _Parser(
        prog="countless",
        description="Count-based exploration, without counting: the norm of the successor "
        "representation as an exploration bonus.",
        epilog=f"examples:\n{two_columns(EXAMPLES)}\n\n{EXIT_CODES}",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = _Commands(parser)
    _add_list(commands)
    _add_run(commands, agent, parameters)
    _add_sweep(commands, agent, parameters)
    _add_status(commands)
    _add_diagnose(commands)
    _add_reproduce(commands)
    _add_report(commands)
    _add_watch(commands)
    _add_lab(commands)
    commands.add("doctor", "what is installed, and how fast it runs here")
    return parser


def _add_list(commands: _Commands) -> None:
    parser = commands.add(
        "list", "what there is to run: agents, environments, bonuses, experiments"
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=("agents", "envs", "bonuses", "experiments"),
        help="only this list",
    )


def _add_run(commands: _Commands, agent: str | None, parameters: bool) -> None:
    parser = commands.add(
        "run",
        "one agent in one environment",
        epilog="Parameters that are not given take published values where there are some for the "
        "environment, else defaults; `--json` shows what was taken."
        f"{_more('run', agent)}\n\n"
        f"{_run_examples(agent)}\n\n"
        "Each run is kept in a folder and goes on from there when it is started again.",
    )
    _add_agent_and_env(parser, agent)
    add_budget_options(parser, agent)
    add_where_options(parser, agent)
    add_out(parser, "results", "the store to keep records in, and to go on from")
    if parameters:
        add_agent_options(parser, agent)


def _more(command: str, agent: str | None) -> str:
    """Where the parameters are, for those who do not see them."""
    if agent is not None:
        return ""
    return f" `countless {command} AGENT --help` shows the parameters of an agent."


def _run_examples(agent: str | None) -> str:
    tabular = "  countless run sarsa-sr sixarms --beta 10 --norm 2 --runs 1000"
    deep = "  countless run dqn-mmc-sr MontezumaRevenge --scale laptop --seeds 0 1"
    if agent is None:
        return f"{tabular}\n{deep}"
    if AGENTS[agent].engine == "tabular":
        return tabular if agent == "sarsa-sr" else f"  countless run {agent} sixarms --runs 1000"
    return (
        f"  countless run {agent} deepsea-8 --scale small\n"
        f"  countless run {agent} MontezumaRevenge --scale laptop --seeds 0 1"
    )


def _add_sweep(commands: _Commands, agent: str | None, parameters: bool) -> None:
    parser = commands.add(
        "sweep",
        "every setting of a grid of parameters",
        epilog="A grid file names parameters. A list of values sweeps a parameter, a single value "
        f"fixes it:\n\n{_sweep_examples(agent)}\n\n"
        f"A parameter given as an option overrides the grid.{_more('sweep', agent)} After an "
        "interruption the same command goes on where it stopped.",
    )
    _add_agent_and_env(parser, agent)
    parser.add_argument(
        "--grid",
        default="default",
        metavar="paper|FILE",
        help="the paper's grid, or a TOML file (default: the paper's where it has one, else ours)",
    )
    add_budget_options(parser, agent)
    add_where_options(parser, agent)
    add_out(parser, "results", "the store to keep records in, and to go on from")
    parser.add_argument(
        "--top",
        type=int,
        default=10,
        metavar="N",
        help="how many of the best settings to print (default: 10)",
    )
    if parameters:
        add_agent_options(parser, agent)


def _sweep_examples(agent: str | None) -> str:
    """A grid of parameters that the agent has, and the command that sweeps it."""
    on_tables = "  countless sweep {} sixarms --grid grid.toml --runs 100"
    on_networks = "  countless sweep {} deepsea-8 --grid grid.toml --scale smoke"
    grid: dict[str, object] = {"alpha": [0.1, 0.25], "beta": [10, 100, 1000], "norm": 2}
    if agent is None or not AGENTS[agent].parameters:
        commands = [on_tables.format("sarsa-sr"), on_networks.format("dqn-mmc-sr")]
    elif AGENTS[agent].engine == "dqn":
        commands = [on_networks.format(agent)]
        grid = {"learning_rate": [0.0001, 0.00025], "gamma": 0.99}
    else:
        entry, commands = AGENTS[agent], [on_tables.format(agent)]
        own = {} if entry.grid is None else entry.grid.values
        grid = {name: value for name, value in grid.items() if name in entry.parameters}
        grid = grid or {name: list(values)[:3] for name, values in own.items()}
    return "\n".join([*(f"  {name} = {value}" for name, value in grid.items()), "", *commands])


def _add_agent_and_env(parser: argparse.ArgumentParser, agent: str | None) -> None:
    parser.usage = f"{parser.prog} {agent or 'AGENT'} ENV [options]"
    parser.add_argument(
        "agent",
        metavar="AGENT",
        help="one of `countless list agents`" if agent is None else argparse.SUPPRESS,
    )
    engine = None if agent is None else AGENTS[agent].engine
    atari = {None: "; for deep agents also an Atari game", "dqn": "; also an Atari game"}
    parser.add_argument(
        "env",
        metavar="ENV",
        help="one of `countless list envs`, an .mdp file, a Gymnasium id or PACKAGE:ID"
        + atari.get(engine, ""),
    )


def _add_status(commands: _Commands) -> None:
    parser = commands.add(
        "status", "what a store holds: finished, partial, running and damaged jobs"
    )
    _add_folder(parser)
    parser.add_argument(
        "--verify",
        action="store_true",
        help="read every file of the store and check that it is as it was written",
    )


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", default="results", metavar="FOLDER", help="default: results"
    )


def _add_diagnose(commands: _Commands) -> None:
    parser = commands.add(
        "diagnose",
        "a bonus against true visit counts over a random walk",
        epilog="Deep bonuses see each state as a picture. In Montezuma's Revenge the states are the "
        "places of the player, which the game's memory tells.\n\n  countless diagnose cts fourrooms\n  "
        "countless diagnose sr-norm fourrooms --set form=network --seeds 0 1 2\n  countless diagnose "
        "rnd MontezumaRevenge",
    )
    parser.add_argument("bonus", metavar="BONUS", help="one of `countless list bonuses`")
    parser.add_argument(
        "env",
        metavar="ENV",
        help="one of `countless list envs`, of at most 2,000 states, or MontezumaRevenge",
    )
    parser.add_argument(
        "--steps", type=int, default=5000, metavar="N", help="of the walk (default: 5,000)"
    )
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=int, default=0, metavar="N", help="of the walk (default: 0)")
    add_seeds(seeds, "one walk per seed, states and figure are those of the first")
    parser.add_argument(
        "--view",
        default="auto",
        metavar="states|vector|image",
        help="how the bonus sees a state (default: image for deep bonuses, else states)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the bonus; the option may be repeated",
    )
    add_out(parser, "results/diagnose", "where the figure is kept")


def _add_reproduce(commands: _Commands) -> None:
    parser = commands.add("reproduce", "a table or figure of the paper, with our numbers beside it")
    parser.add_argument("experiment", metavar="EXPERIMENT", help=", ".join(EXPERIMENTS))
    parser.add_argument(
        "--runs", type=int, metavar="N", help="fresh runs of each entry (default: 10,000)"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the fresh runs (default: 0)")
    deep = parser.add_argument_group(
        "deep experiments",
        f"For {', '.join(DEEP_EXPERIMENTS)}.",
    )
    deep.add_argument(
        "--scale",
        metavar="smoke|laptop|paper",
        help="how much of the frames, sizes and network to run: smoke takes minutes and says whether "
        "it runs, laptop takes hours, paper is the paper's (default: paper, as for `countless run`)",
    )
    deep.add_argument("--games", nargs="+", metavar="GAME", help="default: all of the table's")
    add_seeds(deep, "default: 0")
    deep.add_argument(
        "--device", metavar="cpu|cuda", help="Atari games: what the networks run on (default: cpu)"
    )
    cost = parser.add_argument_group("what it costs")
    cost.add_argument(
        "--estimate",
        action="store_true",
        help="run nothing: measure the speed here for seconds, and print jobs, hours, memory and disk",
    )
    cost.add_argument(
        "--gpus", type=int, metavar="N", help="with --estimate: GPUs to spread over (default: 8)"
    )
    add_where_options(parser)
    add_out(parser, "results", "where records and figures are kept")


def _add_report(commands: _Commands) -> None:
    parser = commands.add(
        "report",
        "one self-contained HTML page of a store: the paper's experiments and all other runs",
    )
    _add_folder(parser)
    add_out(parser, "report", "the folder to write report.html to")


def _add_watch(commands: _Commands) -> None:
    parser = commands.add(
        "watch",
        "a deep run at play, as a video and as a page with a slider",
        epilog="  countless watch results/dqn-mmc-sr-MontezumaRevenge-seed-0-...",
    )
    parser.add_argument("run", metavar="RUN", help="the run's folder")
    parser.add_argument(
        "--steps", type=int, default=1_000, metavar="N", help="agent steps to show (default: 1,000)"
    )
    parser.add_argument(
        "--epsilon",
        type=float,
        default=0.01,
        metavar="X",
        help="probability of a random action (default: 0.01)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of the random actions (default: 0)"
    )
    add_out(
        parser,
        None,
        "only this one: .mp4 is the video, .html the page (default: watch.mp4 and watch.html in the "
        "run's folder)",
        "FILE",
    )


def _add_lab(commands: _Commands) -> None:
    parser = commands.add(
        "lab",
        "a page on this machine: turn parameters, draw a gridworld, watch agents learn side by side",
        epilog="The page is for this machine only, at an address with a token of its own. Ctrl-C "
        "closes it.",
    )
    parser.add_argument(
        "--port", type=int, default=0, metavar="N", help="0 takes a free one (default: 0)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, and open nothing"
    )


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The parsed arguments; an option that nobody knows is an error that names the nearest."""
    wants_help = {"-h", "--help"} & set(argv)
    agents = [word for word in argv[1:2] if word in AGENTS]
    agent = agents[0] if wants_help and agents else None
    parser = build_parser(agent, parameters=not wants_help or agent is not None)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        raise BadInput(_unknown_option(parser, arguments.command, unknown[0]))
    return arguments


def _unknown_option(parser: argparse.ArgumentParser, command: str | None, option: str) -> str:
    subparsers = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    sub = subparsers.choices.get(command or "", parser)
    known = [name for action in sub._actions for name in action.option_strings]
    close = difflib.get_close_matches(option.split("=")[0], known, n=1)
    suggest = close and option.startswith("-")
    hint = f"did you mean {close[0]}?" if suggest else f"see {sub.prog} --help"
    return f"unknown argument {option!r} of {sub.prog}; {hint}"
