"""Options made from the agents' own fields, so that they are named and described once."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from countless.core.params import default_of
from countless.tabular.agents import AGENTS, RNGS


def add_study_options(parser: argparse.ArgumentParser, runs: int) -> None:
    """--runs, --steps, --seed, --rng, --threads."""
    parser.add_argument(
        "--runs", type=int, default=runs, help=f"independent runs (default: {runs})"
    )
    parser.add_argument(
        "--steps", type=int, help="steps of a run (default: the environment's limit, or 5,000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument(
        "--rng",
        default="countless",
        metavar="|".join(RNGS),
        help="a stream of its own for each run, or the draws of the released code, to the digit",
    )
    parser.add_argument("--threads", type=int, help="default: one a core; changes no number")


def add_out(parser: argparse.ArgumentParser, default: str | None, text: str) -> None:
    """-o / --out FOLDER."""
    note = f" (default: {default})" if default else ""
    parser.add_argument(
        "-o", "--out", type=Path, default=default, metavar="FOLDER", help=text + note
    )


def add_agent_options(parser: argparse.ArgumentParser) -> None:
    """One option a hyperparameter, saying which agents take it."""
    group = parser.add_argument_group("parameters of the agent")
    takers: dict[str, list[str]] = {}
    described: dict[str, Any] = {}
    for name, kind in AGENTS.items():
        for item in fields(kind):
            takers.setdefault(item.name, []).append(name)
            described.setdefault(item.name, item)
    for name, item in described.items():
        choices = item.metadata.get("choices")
        span = "|".join(choices) if choices else item.metadata["interval"].text
        group.add_argument(
            f"--{name.replace('_', '-')}",
            dest=f"parameter_{name}",
            type=str if isinstance(default_of(item), str) else float,
            metavar="P" if name == "norm" else name.upper().replace("_", "-"),
            help=f"{item.metadata['help']}; {span} [{', '.join(takers[name])}]",
        )


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
    return {name: getattr(arguments, name) for name in names}
