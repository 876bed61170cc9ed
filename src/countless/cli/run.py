"""countless run AGENT ENV."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from countless.agents.catalogue import agent_entry, choose_parameters
from countless.analysis.tables import Cell, Table, counted, interval, number
from countless.cli.execution import execute_patiently
from countless.cli.options import budget_of, given_parameters
from countless.cli.output import print_json, print_lines, print_table
from countless.cli.plan import announce
from countless.envs.catalog import as_mdp
from countless.runs.groups import LAST, Group, performance, speed
from countless.runs.result import Result
from countless.runs.run import jobs_of

WATCHED = 3  # runs that the closing words name


def command(arguments: argparse.Namespace) -> None:
    parameters = given_parameters(arguments)
    jobs = jobs_of(arguments.agent, arguments.env, budget_of(arguments), parameters)
    tabular = agent_entry(arguments.agent).engine == "tabular"
    if tabular:
        choice = choose_parameters(arguments.agent, as_mdp(arguments.env), parameters)
        if choice.agent.caution:
            print(f"countless: {choice.agent.caution}", file=sys.stderr)
    elif not arguments.json:
        announce(jobs, arguments.out)  # type: ignore[arg-type]
    result = execute_patiently(jobs, arguments)
    if arguments.json:
        print_json(result.to_json())
    elif tabular:
        print_table(tabular_table(result.group, choice.sources))
        for folder in result.folders:
            print_lines(f"kept in {folder}")
    else:
        print_table(deep_table(result))
        if result.folders:
            print_lines(what_to_do_next(result.folders))


def tabular_table(group: Group, sources: Mapping[str, str]) -> Table:
    """The result as two columns: a statistic, its value."""
    summary, about = group.summary, group.jobs[0].about
    assert summary is not None
    rows: list[tuple[Cell, ...]] = [
        ("mean", summary.mean),
        ("95% CI of the mean", interval(summary.ci95)),
        ("SD", summary.sd),
        ("median", summary.median),
        ("IQM", summary.iqm),
        ("min, max", f"{number(summary.min)}, {number(summary.max)}"),
    ]
    if (steps_per_second := speed(group)) is not None:
        seconds = (group.jobs[0].finished or {})["simulated_seconds"]
        rows.append(("time", f"{seconds:.2f} s, {steps_per_second:,.0f} steps/s"))
    title = (
        f"{group.agent} in {group.env}: undiscounted return of {group.length}, "
        f"{counted(summary.runs, 'run')}, seed {about['seed']}, rng {about['identity']['rng']}"
    )
    return Table(title, ("", "return"), tuple(rows), note=_parameters(group, sources))


def _parameters(group: Group, sources: Mapping[str, str]) -> str:
    """The parameters, by where their values come from."""
    by_source: dict[str, list[str]] = {}
    for name, value in group.config.items():
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        by_source.setdefault(sources[name], []).append(f"{name} {shown}")
    return "\n".join(f"{source}: {', '.join(shown)}" for source, shown in by_source.items())


def deep_table(result: Result) -> Table:
    """One row per seed."""
    group = result.group
    rows: list[tuple[Cell, ...]] = []
    notes: list[str] = []
    for job in group.jobs:
        scores = np.array([] if job.records is None else job.records["return"].to_numpy())
        mean: Cell = performance(job) if len(scores) else "no episode ended"
        last = scores[-LAST:]
        sd = float(last.std(ddof=1)) if len(last) > 1 else None
        steps = (job.finished or {}).get("steps_per_second")
        rows.append((str(job.about["seed"]), len(scores), mean, sd, steps))
        notes += _feature_notes(job.about["seed"], (job.finished or {}).get("features"))
    if any(row[1] == 0 for row in rows):
        notes.append(
            "No episode began after the warm-up and ended within these frames: give more --frames."
        )
    title = f"{group.agent} in {group.env}: {group.length}, variant {group.config['variant']}"
    columns = ("seed", "episodes", f"mean of last {LAST}", "SD", "steps/s")
    return Table(title, columns, tuple(rows), note="\n".join(notes), formats={"steps/s": ",.0f"})


def what_to_do_next(folders: Sequence[Path]) -> str:
    """Commands to paste that show what was run; of many runs the first ones."""
    curves = folders[0] if len(folders) == 1 else folders[0].parent
    lines = ["To look at it:", f"  tensorboard --logdir {shlex.quote(str(curves))}"]
    lines += [f"  countless watch {shlex.quote(str(folder))}" for folder in folders[:WATCHED]]
    if len(folders) > WATCHED:
        more = len(folders) - WATCHED
        lines.append(f"and {more:,} more in {folders[0].parent}")
    return "\n".join(lines)


def _feature_notes(seed: int, features: dict[str, float] | None) -> list[str]:
    if features is None:
        return []
    from countless.agents.dqn.features import LEAST_RANK, LEAST_SPREAD

    if features["rank"] >= LEAST_RANK and features["spread"] >= LEAST_SPREAD:
        return []
    return [
        f"Seed {seed}: the features have collapsed (effective rank {features['rank']:.1f} of "
        f"{features['of']:.0f}, spread {features['spread']:.3f}): values and bonus are nearly the same "
        "everywhere (docs/deep.md)."
    ]
