"""Options made from the agents' own fields, so that they are named and described once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from countless.agents.catalogue import AGENTS as ALL_AGENTS
from countless.agents.dqn.agents import AGENTS as DEEP_AGENTS
from countless.agents.dqn.agents import SCALES
from countless.agents.dqn.config import FIELDS as DEEP_FIELDS
from countless.agents.tabular.agent import RNGS
from countless.core.parameters import default_of

AGENTS = {name: entry for name, entry in ALL_AGENTS.items() if entry.engine == "tabular"}


def add_study_options(parser: argparse.ArgumentParser, agent: str | None, runs: int) -> None:
    """--runs, --steps, --seed, --rng, --threads."""
    if agent not in DEEP_AGENTS:
        parser.add_argument("--runs", type=int, help=f"independent runs (default: {runs})")
        parser.add_argument(
            "--steps", type=int, help="steps of a run (default: the environment's limit, or 5,000)"
        )
        parser.add_argument(
            "--rng",
            default="countless",
            metavar="|".join(RNGS),
            help="a stream of its own for each run, or the draws of the released code, to the digit",
        )
    parser.add_argument("--seed", type=int, help="default: 0")
    parser.add_argument(
        "--threads",
        type=int,
        help="default: one a core, which changes no number; deep agents: 1, others may round otherwise",
    )


def add_out(
    parser: argparse.ArgumentParser, default: str | None, text: str, metavar: str = "FOLDER"
) -> None:
    """-o / --out FOLDER."""
    note = f" (default: {default})" if default else ""
    parser.add_argument(
        "-o", "--out", type=Path, default=default, metavar=metavar, help=text + note
    )


def add_deep_options(parser: argparse.ArgumentParser, agent: str | None) -> None:
    """What a deep run takes beside its agent's parameters."""
    if agent in AGENTS:
        return
    group = parser.add_argument_group("deep agents")
    group.add_argument("--seeds", type=int, nargs="+", help="several at once, a core each")
    group.add_argument("--frames", type=number, help="emulator frames (default: the scale's)")
    group.add_argument(
        "--scale",
        metavar="|".join(SCALES),
        help="a minute, a narrow network, or the paper's (default: paper)",
    )
    group.add_argument("--device", help="auto, cpu, cuda, cuda:1, mps (default: auto)")
    group.add_argument(
        "--precision",
        metavar="float32|bfloat16",
        help="bfloat16: mixed precision, other rounding; for hardware that has it (default: float32)",
    )
    group.add_argument(
        "--compile", action="store_true", help="torch.compile: slow to start, other rounding"
    )


def add_agent_options(
    parser: argparse.ArgumentParser, agent: str | None, deep: bool = False
) -> None:
    """One option a hyperparameter, saying which agents take it; with an agent, only its own."""
    takers: dict[str, list[str]] = {}
    described: dict[str, Any] = {}
    for name, entry in AGENTS.items():
        for item in entry.parameters.values() if agent in (None, name) else ():
            takers.setdefault(item.name, []).append(name)
            described.setdefault(item.name, item)
    if described:
        tabular = parser.add_argument_group(f"parameters of {agent or 'the tabular agents'}")
    for name, item in described.items():
        also = f"; deep agents: {DEEP_FIELDS[name].metadata['help']}" if name in DEEP_FIELDS else ""
        who = f" [{', '.join(takers[name])}]{also if deep else ''}"
        rule = item.metadata.get("rule", default_of(item))
        _add_parameter(tabular, item, who if agent is None else _default(rule))
    if deep and agent not in AGENTS:
        network = parser.add_argument_group(f"parameters of {agent or 'the deep agents'}")
        own = DEEP_AGENTS.get(agent or "", {})
        for name, item in DEEP_FIELDS.items():
            if name not in described:
                _add_parameter(network, item, _default(own.get(name, default_of(item))))


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


def _add_parameter(group: Any, item: Any, note: str) -> None:
    known = item.metadata
    span = ""
    if "choices" in known or "interval" in known:
        span = "; " + ("|".join(known["choices"]) if "choices" in known else known["interval"].text)
    kind: Any = str if isinstance(default_of(item), str) else float
    metavar = "P" if item.name == "norm" else item.name.upper().replace("_", "-")
    if "switch" in known:
        kind, metavar = on_or_off, "on|off"
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


def study_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What `run` and `sweep` of the library take by the same names."""
    names = ("runs", "steps", "seed", "rng", "threads", "out")
    options = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in options.items() if value is not None}
