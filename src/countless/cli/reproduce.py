"""countless reproduce EXPERIMENT."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from countless.agents.dqn.agents import SCALES, require_deep
from countless.cli.show import Bars, print_json, print_table, print_text
from countless.cli.stopping import Patience
from countless.core.errors import BadInput
from countless.core.parameters import check_choice
from countless.core.records import ensure_folder
from countless.core.seeding import check_seed
from countless.experiments.catalog import EXPERIMENTS, members
from countless.experiments.deep_catalog import DEEP_EXPERIMENTS
from countless.experiments.deep_published import GAMES
from countless.experiments.deep_table import DeepTable, Plan
from countless.experiments.section import Section
from countless.runs.study import check_whole

RUNS = 10_000


def command(arguments: argparse.Namespace) -> None:
    names = members(arguments.experiment)
    _check_meant(names, arguments)
    runs = RUNS if arguments.runs is None else arguments.runs
    check_whole("--runs", runs, 1_000_000, least=10)
    seed = check_seed(arguments.seed or 0)
    results = ensure_folder(arguments.out)
    sections = []
    try:
        for name in names:
            if name in DEEP_EXPERIMENTS:
                section = _deep(DEEP_EXPERIMENTS[name], results, arguments)
            else:
                experiment = EXPERIMENTS[name]
                experiment.run(results / name, runs, seed, Bars())
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


def _check_meant(names: Sequence[str], arguments: argparse.Namespace) -> None:
    """An option of the other kind of experiments would change nothing."""
    options = {"tabular": ("runs", "seed"), "deep": ("scale", "games", "seeds")}
    kinds = {"deep" if name in DEEP_EXPERIMENTS else "tabular" for name in names}
    for kind in kinds if len(kinds) == 1 else ():
        takes = ", ".join(f"--{option}" for option in options[kind])
        for option in options["tabular" if kind == "deep" else "deep"]:
            if getattr(arguments, option) is not None:
                raise BadInput(
                    f"{arguments.experiment} is {kind}: it takes {takes}, not --{option}"
                )


def _deep(table: DeepTable, results: Path, arguments: argparse.Namespace) -> Section:
    """Run a table of deep agents; asked to stop, write checkpoints first."""
    require_deep()
    from countless.envs.games import one_name
    from countless.runs.deep import Stopped

    games = table.games if arguments.games is None else tuple(map(one_name, arguments.games))
    unknown = [game for game in games if game not in GAMES]
    if unknown:
        raise BadInput(f"the paper's games are {', '.join(GAMES)}, not {unknown[0]}")
    scale = check_choice("--scale", arguments.scale or "smoke", tuple(SCALES))
    seeds = tuple(check_seed(seed) for seed in arguments.seeds or (0,))
    if len(set(seeds)) < len(seeds):
        raise BadInput(f"--seeds names a seed twice: {' '.join(map(str, seeds))}")
    wanted = tuple(game for game in dict.fromkeys(games) if game in table.games)
    if not wanted:
        raise BadInput(f"{table.name} has the games {', '.join(table.games)}")
    with Patience() as patience:
        try:
            table.run(results, Plan(scale, wanted, seeds), Bars(), patience.asked)
        except Stopped:
            raise patience.reason() from None
    return table.show(results)


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
