"""countless sweep AGENT ENV."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from countless.agents.catalogue import describe
from countless.analysis.tables import Table, number
from countless.cli.options import given_parameters, study_options
from countless.cli.show import Bars, print_json, print_table
from countless.experiments.table6 import SYMBOLS
from countless.runs.study import check_whole
from countless.runs.sweep import SweepResult, sweep


def command(arguments: argparse.Namespace) -> None:
    check_whole("--top", arguments.top)
    try:
        result = sweep(
            arguments.agent,
            arguments.env,
            grid=arguments.grid,
            reporter=Bars(),
            **study_options(arguments),
            **given_parameters(arguments),
        )
    except KeyboardInterrupt:
        print(
            f"countless: what is finished is kept in {arguments.out}; "
            "the same command goes on from there",
            file=sys.stderr,
        )
        raise
    if arguments.json:
        print_json(result.to_json())
    else:
        print_table(sweep_table(result, arguments.top))


def sweep_table(result: SweepResult, top: int) -> Table:
    """The best settings, the parameters that vary as columns."""
    study, returns = result.study, result.finished.returns
    configs = [describe(agent) for agent in study.settings]
    varying = [key for key in configs[0] if len({config[key] for config in configs}) > 1]
    rows = []
    for rank, i in enumerate(result.ranking[:top], start=1):
        values = [configs[i][key] for key in varying]
        cells = [f"{v:g}" if isinstance(v, float) else str(v) for v in values]
        sd = float(returns[i].std(ddof=1)) if study.runs > 1 else float("nan")
        median = float(np.median(returns[i]))
        statistics = (number(float(returns[i].mean())), number(sd), number(median))
        rows.append((str(rank), *cells, *statistics))
    title = (
        f"{study.settings[0].name} in {study.mdp.name}: the best {len(rows)} of "
        f"{len(study.settings):,} settings, {study.runs:,} runs each of {study.steps:,} steps"
    )
    note = f"All settings: {result.folder} ({result.finished.seconds:.1f} s of simulation just now)"
    headings = [SYMBOLS.get(name, name) for name in varying]
    return Table(title, ("rank", *headings, "mean", "SD", "median"), tuple(rows), note=note)
