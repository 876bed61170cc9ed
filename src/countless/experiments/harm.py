"""Does a bonus cost reward where an agent does well without one? PPO and DQN, two tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from countless.analysis.charts import Intervals, Mark, Panels
from countless.analysis.statistics import relative_change
from countless.analysis.tables import Cell, Table, counted
from countless.experiments.beta import DENSE, EASY
from countless.experiments.experiment import Experiment, Plan, Records, Returns, Section, unfinished
from countless.experiments.minigrid_plan import task_of
from countless.runs.groups import LAST, performance
from countless.runs.host_agents import HOSTS, PPOConfig
from countless.runs.hosts import HostJob
from countless.runs.job import Job

LABELS = {"ppo": "PPO", "sb3-dqn": "DQN"}
NONE = "none"
BONUSES = ("counts", "sr-norm", "rnd")
EASY_SEEDS = 5  # of the plan's: rewards differ by parts of a percent there, in CartPole by a tenth
STEPS = {"smoke": 2_048, "laptop": 60_000, "paper": 500_000}


def cell_job(host: str, env: str, bonus: str, seed: int, plan: Plan) -> HostJob:
    """One seed of a host with the defaults of a bonus."""
    return HostJob(env, seed, STEPS[plan.scale], HOSTS[host](bonus=bonus))


def seeds_of(env: str, plan: Plan) -> tuple[int, ...]:
    """The seeds that a task is run with."""
    return plan.seeds[:EASY_SEEDS] if env == EASY else plan.seeds


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Seed by seed: an interrupted study has compared all."""
    yield [
        cell_job(host, env, bonus, seed, plan)
        for seed in plan.seeds
        for host in LABELS
        for env in plan.games
        if seed in seeds_of(env, plan)
        for bonus in (NONE, *BONUSES)
    ]


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """One table and one chart per task: each bonus beside its host alone."""

    def rewards(host: str, env: str, bonus: str) -> Returns:
        every = (
            records.find(cell_job(host, env, bonus, seed, plan)) for seed in seeds_of(env, plan)
        )
        return np.array([np.nan if done is None else performance(done) for done in every])

    found = {
        env: {
            host: {bonus: rewards(host, env, bonus) for bonus in (NONE, *BONUSES)}
            for host in LABELS
        }
        for env in plan.games
    }
    ended = sum(
        len(_done(seeds))
        for hosts in found.values()
        for own in hosts.values()
        for seeds in own.values()
    )
    caption = (
        "The change of the task's reward by a bonus, in percent of the same agent without one: ratio "
        "of the means over the same seeds and, from five seeds on, its 95% interval by a bootstrap "
        "that draws the seeds anew, each with both of its runs."
    )
    charts = tuple(_chart(task_of(env), hosts) for env, hosts in found.items())
    return Section(
        tuple(_table(task_of(env), hosts) for env, hosts in found.items()),
        (),
        (
            *unfinished(ended, sum(len(several) for several in jobs(plan, records))),
            f"Stable-Baselines3's PPO and DQN, 8 environments, {STEPS[plan.scale]:,} steps. In "
            f"{task_of(EASY)} the agent finds the reward without a bonus, in {DENSE} every step is "
            "paid: neither task needs one. The bonuses have the defaults of the adapters: they are "
            f"standardised, and β = {PPOConfig().beta:g}. Reward: of the task alone, the mean of a "
            f"run's last {LAST} episodes.",
        ),
        " ".join(map(str, plan.seeds)),
        panels=(Panels("harm", caption, charts),),
    )


Found = Mapping[str, Mapping[str, Returns]]  # host -> bonus -> one reward per seed, NaN: not run


def _done(seeds: Returns) -> Returns:
    """The rewards of the seeds that were run."""
    return seeds[~np.isnan(seeds)]


def _label(host: str, bonus: str) -> str:
    return f"{LABELS[host]} {'alone' if bonus == NONE else f'with {bonus}'}"


def _change(own: Mapping[str, Returns], bonus: str) -> Mark | None:
    """In percent, over the seeds with both runs; None where there are none, or no reward alone."""
    both = ~np.isnan(own[bonus]) & ~np.isnan(own[NONE])
    after, before = own[bonus][both], own[NONE][both]
    if bonus == NONE or not len(before) or before.mean() <= 0.0:
        return None
    value, (low, high) = relative_change(after, before)
    return Mark(100.0 * value, (100.0 * low, 100.0 * high), counted(len(before), "seed"))


def _table(title: str, hosts: Found) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for host, own in hosts.items():
        for bonus in own:
            seeds, change = _done(own[bonus]), _change(own, bonus)
            low, high = (np.nan, np.nan) if change is None else change.ends
            rows.append(
                (
                    _label(host, bonus),
                    *((seeds.mean(), seeds.min(), seeds.max()) if len(seeds) else [None] * 3),
                    len(seeds),
                    None if change is None else change.value,
                    None if np.isnan(low) else f"{low:+z.1f} to {high:+z.1f}",
                )
            )
    columns = (
        "agent",
        "reward",
        "lowest seed",
        "highest seed",
        "seeds",
        "change %",
        "95% interval",
    )
    every = [_done(seeds) for own in hosts.values() for seeds in own.values()]
    small = all(seeds.max(initial=0.0) < 10.0 for seeds in every)
    formats = dict.fromkeys(columns[1:4], ".3f" if small else ".1f") | {"change %": "+z.1f"}
    return Table(title, columns, tuple(rows), formats=formats)


def _chart(title: str, hosts: Found) -> Intervals:
    rows = {
        _label(host, bonus): {"change": change}
        for host, own in hosts.items()
        for bonus in BONUSES
        if (change := _change(own, bonus)) is not None
    }
    return Intervals(title, "agent", "change of the reward (%)", rows)


EXPERIMENT = Experiment(
    "harm",
    "does a bonus cost reward where Stable-Baselines3's PPO and DQN need none",
    "Does a bonus hurt where none is needed?",
    "dqn",
    jobs,
    render,
    partial=True,
    games=(EASY, DENSE),
)
