"""How large should beta be? PPO with a bonus, from too small to too large, in three kinds of task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countless.analysis.charts import GREY, Chart, Panels, Series, banded
from countless.analysis.curves import line_styles
from countless.analysis.tables import Cell, Table
from countless.experiments.experiment import Experiment, Figure, Plan, Records, Section, unfinished
from countless.experiments.minigrid_plan import env_of, task_of
from countless.runs.groups import LAST
from countless.runs.host_agents import PPOConfig
from countless.runs.hosts import HostJob
from countless.runs.job import Job

SPARSE = env_of("KeyCorridorS3R1")  # PPO alone does not find its reward in so many steps
EASY = env_of("Empty-8x8")  # it finds this one
DENSE = "CartPole-v1"  # every step is paid
BONUSES = ("sr-norm",)
DEFAULT = PPOConfig().beta
ALONE = "PPO alone"


@dataclass(frozen=True)
class Extent:
    """How far a scale of this study goes."""

    steps: int
    betas: tuple[float, ...] = (0.03, 0.1, DEFAULT, 1.0, 3.0)


EXTENTS = {
    "smoke": Extent(2_048, (DEFAULT,)),
    "laptop": Extent(70_000),
    "paper": Extent(500_000),
}


def cell_job(env: str, bonus: str, beta: float, seed: int, plan: Plan) -> HostJob:
    """One seed of PPO with a bonus of that beta; without a bonus, beta plays no part."""
    config = PPOConfig() if bonus == "none" else PPOConfig(bonus=bonus, beta=beta)
    return HostJob(env, seed, EXTENTS[plan.scale].steps, config)


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Seed by seed: an interrupted study has compared all."""
    betas = EXTENTS[plan.scale].betas
    yield [
        cell_job(env, bonus, beta, seed, plan)
        for seed in plan.seeds
        for env in plan.games
        for bonus, values in (("none", (DEFAULT,)), *((bonus, betas) for bonus in BONUSES))
        for beta in values
    ]


Values = NDArray[np.float64]
Means = Values  # (seeds, betas), NaN for a run that is not finished


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """One table and one panel per task: the reward of the task against beta."""
    from countless.analysis.plots_beta import draw_beta

    values = EXTENTS[plan.scale].betas
    betas = np.array(values)

    def means(env: str, bonus: str, several: Sequence[float]) -> Means:
        return np.array([
            [_last(records, cell_job(env, bonus, beta, seed, plan)) for beta in several]
            for seed in plan.seeds
        ])  # fmt: skip

    alone = {env: means(env, "none", (DEFAULT,)) for env in plan.games}
    paid = {env: {bonus: means(env, bonus, values) for bonus in BONUSES} for env in plan.games}
    titles = {env: task_of(env) for env in plan.games}
    draw_beta(
        folder / "beta", betas, {titles[env]: (alone[env][:, 0], paid[env]) for env in plan.games}
    )
    caption = (
        f"Reward of the task, mean of the last {LAST} episodes, against β: mean over the seeds, and "
        "the range of fewer than five seeds or the 95% interval. Grey: PPO without a bonus."
    )
    charts = tuple(_chart(titles[env], betas, alone[env][:, 0], paid[env]) for env in plan.games)
    every = [*alone.values(), *(one for env in plan.games for one in paid[env].values())]
    ended = sum(int(np.isfinite(one).sum()) for one in every)
    return Section(
        tuple(_table(titles[env], betas, alone[env][:, 0], paid[env]) for env in plan.games),
        (Figure(folder / "beta", caption, interactive=True),),
        (
            *unfinished(ended, sum(one.size for one in every)),
            f"Stable-Baselines3's PPO, 8 environments, {EXTENTS[plan.scale].steps:,} steps. The bonus "
            "is standardised (`scale=standardise`), so that β is in units of the SD of its discounted "
            f"sums; {DEFAULT:g} is the default.",
        ),
        " ".join(map(str, plan.seeds)),
        panels=(Panels("beta", caption, charts),),
    )


def _last(records: Records, job: HostJob) -> float:
    """The mean reward of the last episodes of a run; NaN where it is not finished."""
    done = records.find(job)
    if done is None or done.records is None:
        return float("nan")
    returns = done.records["return"].to_numpy()
    return float(returns[-LAST:].mean()) if len(returns) else 0.0


def _table(title: str, betas: Values, alone: Means, paid: dict[str, Means]) -> Table:
    rows: list[tuple[Cell, ...]] = [(ALONE, None, *_cells(alone))]
    for bonus, values in paid.items():
        rows += [
            (f"with {bonus}", float(beta), *_cells(values[:, i])) for i, beta in enumerate(betas)
        ]
    columns = ("agent", "β", "mean reward", "lowest seed", "highest seed")
    shown = ("mean reward", "lowest seed", "highest seed")
    return Table(
        title, columns, tuple(rows), labels=2, formats={"β": "g"} | dict.fromkeys(shown, ".2f")
    )


def _cells(values: Means) -> tuple[Cell, ...]:
    known = values[np.isfinite(values)]
    if not len(known):
        return None, None, None
    return float(known.mean()), float(known.min()), float(known.max())


def _chart(title: str, betas: Values, alone: Means, paid: dict[str, Means]) -> Chart:
    styles = line_styles({bonus: bonus for bonus in paid})
    level = banded(ALONE, betas, np.repeat(alone[:, None], len(betas), axis=1), (GREY, "--"))
    lines: tuple[Series, ...] = tuple(
        banded(f"with {bonus}", betas, values, styles[bonus]) for bonus, values in paid.items()
    )
    return Chart(
        title, "β", "reward of the task", (level, *lines), log="x", ticks=[float(b) for b in betas]
    )


EXPERIMENT = Experiment(
    "beta",
    "how large the bonus of somebody else's agent should be: PPO, three tasks, five values of β",
    "How large should β be?",
    "dqn",
    jobs,
    render,
    partial=True,
    games=(SPARSE, EASY, DENSE),
)
