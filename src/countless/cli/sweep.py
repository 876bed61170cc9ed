"""countless sweep AGENT ENV."""

from __future__ import annotations

import argparse

from countless.analysis.tables import Cell, Table, counted
from countless.cli.execution import execute_patiently
from countless.cli.options import budget_of, given_parameters
from countless.cli.output import print_json, print_table
from countless.core.parameters import check_count
from countless.experiments.table6 import SYMBOLS
from countless.runs.groups import varying_parameters
from countless.runs.result import Result
from countless.runs.sweep import sweep_jobs


def command(arguments: argparse.Namespace) -> None:
    check_count("top", arguments.top)
    jobs = sweep_jobs(
        arguments.agent,
        arguments.env,
        arguments.grid,
        budget_of(arguments),
        given_parameters(arguments),
    )
    result = execute_patiently(jobs, arguments)
    if arguments.json:
        print_json(result.sweep_json())
    else:
        print_table(sweep_table(result, arguments.top))


def sweep_table(result: Result, top: int) -> Table:
    """The best settings, the parameters that vary as columns."""
    varying = varying_parameters([group.config for group in result.groups])
    ranked = result.ranking
    rows: list[tuple[Cell, ...]] = []
    for rank, group in enumerate(ranked[:top], start=1):
        values = [group.config[name] for name in varying]
        cells = [str(v) if isinstance(v, bool) else v for v in values]
        summary = group.summary
        statistics: tuple[Cell, ...] = ("no episode ended", None, None)
        if summary is not None:
            statistics = (summary.mean, summary.sd, summary.median)
        rows.append((rank, *cells, *statistics))
    first = ranked[0]
    title = (
        f"{first.agent} in {first.env}: the best {len(rows)} of {counted(len(ranked), 'setting')}, "
        f"{counted(len(first.returns), 'run')} each of {first.length}"
    )
    headings = [SYMBOLS.get(name, name) for name in varying]
    note = f"All settings are kept in {result.folders[0].parent} ({result.seconds:,.1f} s of work)."
    return Table(title, ("rank", *headings, "mean", "SD", "median"), tuple(rows), note=note)
