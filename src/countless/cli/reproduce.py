"""countless reproduce EXPERIMENT."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from countless.agents.dqn.agents import require_deep
from countless.cli.execution import engine_of
from countless.cli.options import where_of
from countless.cli.output import print_json, print_table, print_text
from countless.core.errors import BadInput, named
from countless.core.parameters import check_choice, check_count
from countless.core.records import ensure_folder
from countless.core.seeding import check_seed
from countless.experiments.catalogue import members
from countless.experiments.experiment import Experiment, Finished, Plan, run

DEFAULTS = Plan()
EXTENTS = ("smoke", "laptop", "paper")


def command(arguments: argparse.Namespace) -> None:
    experiments = members(arguments.experiment)
    _check_meant(experiments, arguments)
    plan, where = _plan(arguments), where_of(arguments)
    results = ensure_folder(arguments.out)
    plans = [_fit(experiment, plan, arguments) for experiment in experiments]
    if len(experiments) > 1:
        minutes = sum(experiment.minutes for experiment in experiments)
        print(
            f"{len(experiments)} experiments, about {minutes:.0f} minutes on two cores with the "
            "default settings; what is finished already is not run again.",
            file=sys.stderr,
        )
    finished = []
    for i, (experiment, plan) in enumerate(zip(experiments, plans, strict=True)):
        if len(experiments) > 1:
            print(f"{i + 1} of {len(experiments)}: {experiment.title}", file=sys.stderr)
        with engine_of(where, results, None, experiment.engine == "dqn") as engine:
            finished.append(run(experiment, plan, results, engine))
        if not arguments.json:
            print_finished(finished[-1])
    if arguments.json:
        print_json({"sections": [item.to_json() for item in finished]})


def _plan(arguments: argparse.Namespace) -> Plan:
    runs = DEFAULTS.runs if arguments.runs is None else arguments.runs
    seeds = tuple(check_seed(seed) for seed in arguments.seeds or DEFAULTS.seeds)
    if len(set(seeds)) < len(seeds):
        raise BadInput(f"{named('seeds')} names a seed twice: {' '.join(map(str, seeds))}")
    return Plan(
        check_count("runs", runs, 1_000_000, least=10),
        check_seed(arguments.seed or 0),
        check_choice("scale", arguments.scale or DEFAULTS.scale, EXTENTS),
        (),
        seeds,
    )


def _fit(experiment: Experiment, plan: Plan, arguments: argparse.Namespace) -> Plan:
    """The plan of one experiment: a deep one has games of its own."""
    if experiment.engine != "dqn":
        return plan
    require_deep()
    from countless.envs.make import canonical_name

    games = experiment.games_at(plan.scale)
    if arguments.games is not None:
        wanted = dict.fromkeys(map(canonical_name, arguments.games))
        games = tuple(game for game in wanted if game in experiment.games)
        unknown = [game for game in wanted if game not in experiment.games]
        if unknown:
            known = ", ".join(experiment.games)
            raise BadInput(f"the games of {experiment.name} are {known}, not {unknown[0]}")
    return Plan(plan.runs, plan.seed, plan.scale, games, plan.seeds)


def _check_meant(experiments: Sequence[Experiment], arguments: argparse.Namespace) -> None:
    """An option of the other kind of experiments would change nothing."""
    options = {"tabular": ("runs", "seed"), "dqn": ("scale", "games", "seeds")}
    engines = {experiment.engine for experiment in experiments}
    for engine in engines if len(engines) == 1 else ():
        takes = ", ".join(map(named, options[engine]))
        for option in options["tabular" if engine == "dqn" else "dqn"]:
            if getattr(arguments, option) is not None:
                raise BadInput(f"{arguments.experiment} takes {takes}, not {named(option)}")


def print_finished(item: Finished) -> None:
    """A finished experiment in the terminal."""
    print_text(f"\n{item.experiment.title}")
    for table in item.section.tables:
        print_text("")
        print_table(table)
    for text in item.section.words:
        print_text(f"\n{text}")
    for figure in item.section.figures:
        print_text(f"\nDrawn: {figure.stem}.png, {figure.stem}.svg")
