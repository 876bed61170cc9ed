"""countless reproduce EXPERIMENT."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from countless.agents.dqn.agents import require_deep
from countless.cli.execution import engine_of
from countless.cli.options import where_of
from countless.cli.output import print_json, print_lines, print_table, print_text
from countless.cli.plan import announce_experiment
from countless.cli.wrapping import wrapped
from countless.core.bars import Bars
from countless.core.errors import BadInput, named
from countless.core.parameters import check_choice, check_count
from countless.core.records import ensure_folder
from countless.core.seeding import check_seed, check_seeds
from countless.experiments.catalogue import members
from countless.experiments.experiment import Experiment, Finished, Plan, Records, execute, show
from countless.runs.store import Store

DEFAULTS = Plan()
EXTENTS = ("smoke", "laptop", "paper")
DEVICES = ("cpu", "cuda")


def command(arguments: argparse.Namespace) -> None:
    experiments = members(arguments.experiment)
    if arguments.gpus is not None and not arguments.estimate:
        raise BadInput(
            f"{named('gpus')} goes with {named('estimate')}; see {named('gpus_per_job')}"
        )
    _check_meant(experiments, arguments)
    plan, where = _plan(arguments), where_of(arguments)
    plans = [_fit(experiment, plan, arguments) for experiment in experiments]
    if arguments.estimate:
        _estimate(experiments, plans, arguments)
        return
    results = ensure_folder(arguments.out)
    if len(experiments) > 1:
        minutes = sum(experiment.minutes for experiment in experiments)
        about = (
            f", about {minutes:.0f} minutes on two cores with the default settings"
            if minutes
            else ""
        )
        words = f"{len(experiments)} experiments{about}; what is finished already is not run again."
        print(wrapped(words), file=sys.stderr)
    finished = []
    for i, (experiment, plan) in enumerate(zip(experiments, plans, strict=True)):
        if len(experiments) > 1:
            print(f"{i + 1} of {len(experiments)}: {experiment.title}", file=sys.stderr)
        _announce(experiment, plan, Store(results))
        with engine_of(where, results, None, experiment.engine == "dqn") as engine:
            execute(experiment, plan, results, engine)
        finished.append(show(experiment, results))  # a Ctrl-C while it draws does not wait
        if not arguments.json:
            print_finished(finished[-1])
    if arguments.json:
        print_json({"sections": [item.to_json() for item in finished]})


def _announce(experiment: Experiment, plan: Plan, store: Store) -> None:
    """How much of a deep experiment is to be run, before it starts."""
    if experiment.engine != "dqn":
        return
    jobs = next(iter(experiment.jobs(plan, Records(store))))
    announce_experiment(experiment.name, plan.scale, jobs, store)


def _estimate(
    experiments: Sequence[Experiment], plans: Sequence[Plan], arguments: argparse.Namespace
) -> None:
    """What the experiments would cost; nothing is run and nothing is kept."""
    from countless.experiments.estimate import estimate

    gpus = check_count("gpus", 8 if arguments.gpus is None else arguments.gpus)
    estimates = []
    for experiment, plan in zip(experiments, plans, strict=True):
        estimates.append(estimate(experiment, plan, Store(arguments.out), Bars(), gpus))
        if not arguments.json:
            print_table(estimates[-1].table())
    if arguments.json:
        print_json({"estimates": [item.to_json() for item in estimates]})


def _plan(arguments: argparse.Namespace) -> Plan:
    runs = DEFAULTS.runs if arguments.runs is None else arguments.runs
    seeds = check_seeds(arguments.seeds or DEFAULTS.seeds)
    return Plan(
        check_count("runs", runs, 1_000_000, least=10),
        check_seed(arguments.seed or 0),
        check_choice("scale", arguments.scale or DEFAULTS.scale, EXTENTS),
        (),
        seeds,
        check_choice("device", arguments.device or DEFAULTS.device, DEVICES),
    )


def _fit(experiment: Experiment, plan: Plan, arguments: argparse.Namespace) -> Plan:
    """The plan of one experiment: a deep one has games of its own."""
    if arguments.device is not None and not experiment.devices:
        raise BadInput(f"{experiment.name} runs on the CPU: leave {named('device')} out")
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
    return replace(plan, games=games)


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
        print_lines(f"\nDrawn: {figure.stem}.png, {figure.stem}.svg")
