"""countless run AGENT ENV."""

from __future__ import annotations

import argparse

from countless.agents.dqn.agents import AGENTS as DEEP_AGENTS
from countless.agents.dqn.agents import require_deep
from countless.agents.tabular.agents import AGENTS, describe, published, source_of
from countless.analysis.tables import Table, interval, number
from countless.cli.options import given_parameters, study_options
from countless.cli.show import Bars, print_json, print_table
from countless.core.errors import BadInput, unknown_name
from countless.envs.catalog import paper_domain
from countless.runs.run import RunResult, run


def command(arguments: argparse.Namespace) -> None:
    if arguments.agent in DEEP_AGENTS:
        require_deep()
        from countless.cli import deep

        deep.command(arguments)
        return
    if arguments.agent not in AGENTS:
        raise unknown_name("agent", arguments.agent, [*AGENTS, *DEEP_AGENTS])
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
        print_table(result_table(result))


def result_table(result: RunResult) -> Table:
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
    return Table(title, ("", "return"), tuple(rows), note=_parameter_line(result))


def _parameter_line(result: RunResult) -> str:
    values = describe(result.agent)
    if not values:
        return ""
    text = ", ".join(
        f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in values.items()
    )
    table6 = published(
        result.agent.name, paper_domain(result.study.mdp), getattr(result.agent, "norm", None)
    )
    if table6 and all(values[key] == value for key, value in table6.items()):
        text += f" ({source_of(result.agent.name)})"
    elif not table6:
        text += " (defaults where not given)"
    return f"parameters: {text}"
