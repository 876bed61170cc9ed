"""Options made from the agents' own fields, so that they are named and described once."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countless.agents.catalogue import AGENTS
from countless.agents.dqn.agents import FRAMES, PARTS
from countless.agents.dqn.config import GROUP_OF
from countless.core.parameters import default_of

if TYPE_CHECKING:
    from countless.runs.engines import Where
    from countless.runs.run import Budget

PART_TITLES = {
    "variant": "whose agent",
    "architecture": "network",
    "losses": "losses",
    "rewards": "rewards and bonus",
    "learning": "learning",
    "memory": "replay",
    "exploration": "exploration",
    "protocol": "environment",
}
ORDER = sorted(FRAMES, key=lambda scale: FRAMES[scale])  # smoke, small, laptop, paper
MOST_SEEDS = 10_000  # of one range
_THREADS = {
    "tabular": "cores to use; results do not depend on it (default: all)",
    "dqn": "threads of a run; with another number sums may round differently (default: 1)",
    None: "tabular agents: cores to use; results do not depend on it (default: all); deep agents: "
    "threads of a run; with another number sums may round differently (default: 1)",
}


class _Seeds(argparse.Action):
    """Whole numbers and ranges of them, as one list."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        setattr(namespace, self.dest, [seed for several in values for seed in several])


def _seeds(word: str) -> range:
    """One seed, or those from a first to a last, as in 0-19."""
    first, dash, last = word.partition("-")
    try:
        if not first or not dash:
            return range(int(word), int(word) + 1)  # a negative one is refused with the others
        seeds = range(int(first), int(last) + 1)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{word!r} must be a whole number, or a range as in 0-19"
        ) from None
    if not 0 < len(seeds) <= MOST_SEEDS:
        raise argparse.ArgumentTypeError(
            f"{word!r} must go from a smaller to a larger seed, {MOST_SEEDS:,} at most"
        )
    return seeds


def add_seeds(group: Any, help: str) -> None:
    """The option for several seeds: `--seeds 0 1 2`, or `--seeds 0-2`."""
    group.add_argument(
        "--seeds",
        action=_Seeds,
        type=_seeds,
        nargs="+",
        metavar="N",
        help=f"{help}; 0-4 means 0 1 2 3 4",
    )


def add_budget_options(parser: argparse.ArgumentParser, agent: str | None) -> None:
    """How much to run, and how: for the agent's kind, or for both where no agent is named."""
    both = agent is None
    engine = None if agent is None else AGENTS[agent].engine
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed of all random numbers (default: 0)"
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help=_THREADS[engine],
    )
    if engine != "dqn":
        group = parser.add_argument_group("how much to run" + (": tabular agents" if both else ""))
        group.add_argument("--runs", type=int, metavar="N", help="independent runs (default: 100)")
        group.add_argument(
            "--steps",
            type=int,
            metavar="N",
            help="steps per run (default: the environment's limit, or 5,000)",
        )
        group.add_argument(
            "--rng",
            metavar="countless|authors",
            help="countless: one random stream per run; authors: the random draws of the paper's "
            "released code, to the digit (default: countless)",
        )
    if engine != "tabular":
        title = "how much to run" + (": deep agents" if both else "")
        _add_deep_budget(parser.add_argument_group(title))


def _add_deep_budget(group: Any) -> None:
    add_seeds(group, "one run per seed, one core each")
    group.add_argument(
        "--frames", type=number, metavar="N", help="frames per run (default: the scale's)"
    )
    group.add_argument(
        "--scale",
        metavar="|".join(ORDER),
        help="network size, learning rates and frames that go together: smoke takes a minute, small "
        "suits small tasks, laptop plays a million frames, paper is the paper's (default: paper)",
    )
    group.add_argument("--device", help="auto, cpu, cuda, cuda:1, mps (default: auto)")
    group.add_argument(
        "--precision",
        metavar="float32|bfloat16",
        help="bfloat16: mixed precision, which rounds differently; for hardware that has it "
        "(default: float32)",
    )
    group.add_argument(
        "--compile",
        action="store_true",
        help="use torch.compile: slow to start, rounds differently",
    )


def budget_of(arguments: argparse.Namespace) -> Budget:
    """How much to run, as the command line says."""
    from countless.runs.run import Budget

    given = {item.name: getattr(arguments, item.name, None) for item in fields(Budget)}
    return Budget(**given | {"elsewhere": where_of(arguments).device})


def add_where_options(parser: argparse.ArgumentParser, agent: str | None = None) -> None:
    """Which engine, and what a job takes of a cluster: for the agent's kind, or for both."""
    tabular = agent is not None and AGENTS[agent].engine == "tabular"
    group = parser.add_argument_group("where to run (docs/cluster.md)")
    group.add_argument(
        "--engine",
        metavar="local|ray",
        help="this machine, or a Ray cluster; results do not depend on it (default: local)",
    )
    group.add_argument(
        "--address",
        metavar="HOST:PORT|auto",
        help="ray: the cluster's head, of which this machine is a node (default: RAY_ADDRESS, else "
        "Ray on this machine alone)",
    )
    group.add_argument(
        "--cpus-per-job",
        type=float,
        metavar="N",
        help="ray: cores of a job" + ("" if tabular else " (default: its threads)"),
    )
    if not tabular:
        group.add_argument(
            "--gpus-per-job",
            type=float,
            metavar="N",
            help="ray: GPUs of a deep job, 0.25 for four on one (default: 0)",
        )
    group.add_argument(
        "--memory-per-job",
        type=float,
        metavar="GB",
        help="ray: memory set aside for a job"
        + ("" if tabular else " (default: what a deep job needs)"),
    )


def where_of(arguments: argparse.Namespace) -> Where:
    """Where to run, as the command line says."""
    from countless.runs.engines import Where

    return Where(**{item.name: getattr(arguments, item.name) for item in fields(Where)})


def add_out(
    parser: argparse.ArgumentParser, default: str | None, text: str, metavar: str = "FOLDER"
) -> None:
    """-o / --out FOLDER."""
    note = f" (default: {default})" if default else ""
    parser.add_argument(
        "-o", "--out", type=Path, default=default, metavar=metavar, help=text + note
    )


def add_agent_options(parser: argparse.ArgumentParser, agent: str | None) -> None:
    """One option per hyperparameter, saying which agents take it; with an agent, only its own."""
    entries = list(AGENTS.values()) if agent is None else [AGENTS[agent]]
    tabular = [entry for entry in entries if entry.engine == "tabular"]
    deep = [entry for entry in entries if entry.engine == "dqn"]
    takers: dict[str, list[str]] = {}
    described: dict[str, Any] = {}
    for entry in tabular:
        for name, item in entry.parameters.items():
            takers.setdefault(name, []).append(entry.name)
            described.setdefault(name, item)
    deep_fields = dict(deep[0].parameters) if deep else {}
    if described:
        group = parser.add_argument_group(f"parameters of {agent or 'the tabular agents'}")
    for name, item in described.items():
        if agent is not None:
            _add_parameter(group, item, _default(item.metadata.get("rule", default_of(item))))
            continue
        other = deep_fields.get(name)
        also = "" if other is None else _for_deep_agents(item, other)
        known = item.metadata.get("choices")
        shared = other is None or other.metadata.get("choices") == known
        _add_parameter(group, item, f" [{', '.join(takers[name])}]{also}", show_choices=shared)
    if deep:
        own = deep[0].defaults if agent is not None else {}
        left = {name: item for name, item in deep_fields.items() if name not in described}
        for title, names in _by_part(left, own).items():
            group = parser.add_argument_group(title)
            for name in names:
                _add_parameter(group, left[name], _default(own.get(name, default_of(left[name]))))


def _by_part(names: Iterable[str], own: Mapping[str, Any]) -> dict[str, list[str]]:
    """The settings of a deep agent by the part they belong to, without those of parts that it lacks."""
    lacks = {name for part, its in PARTS.items() if own.get(part) in (False, "off") for name in its}
    parts: dict[str, list[str]] = {}
    for name in names:
        if name not in lacks:
            parts.setdefault(PART_TITLES[GROUP_OF.get(name, "variant")], []).append(name)
    return parts


def _for_deep_agents(item: Any, deep: Any) -> str:
    """What the same option is for deep agents, where that is another thing."""
    if deep.metadata["help"] == item.metadata["help"]:
        return "; also for deep agents"
    return f"; for deep agents: {deep.metadata['help']}"


def _default(value: float | str | bool | None) -> str:
    if value is None:
        return " (default: as the variant says)"
    if isinstance(value, bool):
        return f" (default: {'on' if value else 'off'})"
    return f" (default: {value if isinstance(value, str) else f'{value:,.12g}'})"


def on_or_off(text: str) -> bool:
    """The value of a switch."""
    if text not in ("on", "off"):
        raise argparse.ArgumentTypeError(f"must be on or off, not {text!r}")
    return text == "on"


def _add_parameter(group: Any, item: Any, note: str, show_choices: bool = True) -> None:
    known = item.metadata
    span = f"; {known['interval'].text}" if "interval" in known else ""
    kind: Any = str if isinstance(default_of(item), str) else float
    metavar = {str: "NAME", int: "N"}.get(type(default_of(item)), "X")
    if "switch" in known:
        kind, metavar = on_or_off, "on|off"
    if "choices" in known and show_choices:
        metavar = "|".join(known["choices"])
    elif "choices" in known:
        span = f"; {'|'.join(known['choices'])}"
    group.add_argument(
        f"--{item.name.replace('_', '-')}",
        dest=f"parameter_{item.name}",
        type=kind,
        metavar=metavar,
        help=f"{known['help']}{span}{note}",
    )


def number(text: str) -> int:
    """A whole number that may be written as 1e6."""
    value = float(text)
    if not value.is_integer():
        raise ValueError
    return int(value)


def given_parameters(arguments: argparse.Namespace) -> dict[str, Any]:
    """The hyperparameters that stand on the command line."""
    prefix = "parameter_"
    return {
        name.removeprefix(prefix): value
        for name, value in vars(arguments).items()
        if name.startswith(prefix) and value is not None
    }
