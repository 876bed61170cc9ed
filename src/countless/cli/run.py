"""countless run AGENT ENV."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from countless.agents.catalogue import agent_entry, choose_parameters, describe
from countless.agents.dqn.agents import AGENTS as DEEP_AGENTS
from countless.agents.dqn.agents import require_deep
from countless.analysis.tables import Table, interval, number
from countless.cli.options import given_parameters, study_options
from countless.cli.show import Bars, print_json, print_table
from countless.core.errors import BadInput
from countless.runs.run import RunResult, run


def command(arguments: argparse.Namespace) -> None:
    if arguments.agent in DEEP_AGENTS:
        require_deep()
        from countless.cli import deep

        deep.command(arguments)
        return
    agent_entry(arguments.agent)
    for option in ("seeds", "frames", "scale", "device", "precision", "compile"):
        if getattr(arguments, option):
            raise BadInput(
                f"--{option} is for deep agents, {arguments.agent} is a tabular one: it takes "
                "--runs, --steps, --seed"
            )
    result = run(
        arguments.agent,
        arguments.env,
        reporter=Bars(),
        **study_options(arguments),
        **given_parameters(arguments),
    )
    if arguments.json:
        print_json(result.to_json())
    else:
        print_table(result_table(result, given_parameters(arguments)))


def result_table(result: RunResult, given: Mapping[str, Any]) -> Table:
    """The result as two columns: a statistic, its value."""
    summary, study = result.summary, result.study
    rows = [
        ("mean", number(summary.mean)),
        ("95% CI of the mean", interval(summary.ci95)),
        ("SD", number(summary.sd)),
        ("median", number(summary.median)),
        ("IQM", number(summary.iqm)),
        ("min, max", f"{number(summary.min)}, {number(summary.max)}"),
    ]
    if result.steps_per_second is not None:
        speed = f"{result.steps_per_second / 1e6:.1f} million steps/s"
        rows.append(("time", f"{result.seconds:.2f} s, {speed}"))
    title = (
        f"{result.agent.name} in {result.env}: undiscounted return of {study.steps:,} steps, "
        f"{study.runs:,} runs, seed {study.seed}, rng {study.rng}"
    )
    return Table(title, ("", "return"), tuple(rows), note=_parameter_line(result, given))


def _parameter_line(result: RunResult, given: Mapping[str, Any]) -> str:
    """Each parameter with its value, and where those that are not plain defaults came from."""
    sources = choose_parameters(result.agent.name, result.study.mdp, given).sources
    by_source: dict[str, list[str]] = {}
    for name, value in describe(result.agent).items():
        shown = f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        by_source.setdefault(sources[name], []).append(shown)
    parts = [f"{', '.join(shown)} ({source})" for source, shown in by_source.items()]
    return f"parameters: {'; '.join(parts)}" if parts else ""
