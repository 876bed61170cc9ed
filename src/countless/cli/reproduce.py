"""countless reproduce EXPERIMENT."""

from __future__ import annotations

import argparse
import sys

from countless.cli.show import Bars, print_json, print_table, print_text
from countless.core.records import ensure_folder
from countless.core.seeding import check_seed
from countless.experiments.catalog import EXPERIMENTS, members
from countless.experiments.section import Section
from countless.runs.study import check_whole


def command(arguments: argparse.Namespace) -> None:
    names = members(arguments.experiment)
    check_whole("--runs", arguments.runs, 1_000_000, least=10)
    check_seed(arguments.seed)
    results = ensure_folder(arguments.out)
    sections = []
    try:
        for name in names:
            experiment = EXPERIMENTS[name]
            experiment.run(results / name, arguments.runs, arguments.seed, Bars())
            section = experiment.show(results / name)
            sections.append(section)
            if not arguments.json:
                print_section(section)
    except KeyboardInterrupt:
        print(
            f"countless: what is finished is kept in {results}; the same command goes on from there",
            file=sys.stderr,
        )
        raise
    if arguments.json:
        print_json({"sections": [section.to_json() for section in sections]})


def print_section(section: Section) -> None:
    """A finished experiment in the terminal."""
    print_text(f"\n{section.title}")
    for table in section.tables:
        print_text("")
        print_table(table)
    for text in section.words:
        print_text(f"\n{text}")
    for figure in section.figures:
        print_text(f"\nDrawn: {figure.stem}.png, {figure.stem}.svg")
