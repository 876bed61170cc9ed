"""Tables of deep agents over Atari games: the paper's scores beside whatever was run here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countless.agents.dqn.agents import FRAMES, make_config
from countless.analysis.charts import Panels, curve_chart
from countless.analysis.tables import Cell, Table, counted
from countless.core.provenance import machine
from countless.experiments.atari_published import (
    CTS,
    DQN,
    GAMES,
    MMC,
    NO_BONUS,
    NO_RECONSTRUCTION,
    PIXELCNN,
    RND,
    SR,
    SR_L2,
    Column,
)
from countless.experiments.experiment import (
    OPEN,
    Claim,
    Experiment,
    Plan,
    Records,
    Section,
)
from countless.runs.groups import groups_of, performance
from countless.runs.job import Execution, Job, Stopped
from countless.runs.measurement import MeasurementJob

DAY = 86_400.0
PAPER_STEPS = FRAMES["paper"] // 5


def cell_job(column: Column, game: str, seed: int, plan: Plan) -> Job:
    """One seed of one cell, in float32: runs that round otherwise are other jobs."""
    from countless.agents.dqn.device import Device
    from countless.runs.dqn import make_job

    return make_job(
        column.agent,
        game,
        seed=seed,
        scale=plan.scale,
        device=Device(plan.device),
        parameters=column.parameters,
    )


def cost_job(columns: Sequence[Column]) -> MeasurementJob:
    """Seconds of a step of each agent at the paper's scale, on this machine."""
    labels = [column.label for column in columns]
    return MeasurementJob(
        "cost-of-a-step",
        GAMES[2],
        0,
        len(columns),
        {"agents": "; ".join(labels), "machine": machine()},
        lambda execution: measure_costs(columns, execution),
    )


def measure_costs(columns: Sequence[Column], execution: Execution) -> dict[str, Any]:
    """Measured here, and estimated for an accelerator."""
    from countless.agents.dqn.cost import measure_cost
    from countless.agents.dqn.device import make_device, torch_threads
    from countless.envs.make import make_frame_env

    measured: dict[str, list[Any]] = {"label": [], "here": [], "accelerator": []}
    with torch_threads(1):
        for column in columns:
            if execution.stop():
                raise Stopped
            config = make_config(column.agent, parameters=column.parameters)
            cost = measure_cost(make_frame_env(GAMES[2], 0), config, make_device("cpu"))
            measured["label"].append(column.label)
            measured["here"].append(cost.step)
            measured["accelerator"].append(cost.assumed_step)
            execution.task.advance(1)
    return measured


def atari_table(
    name: str,
    summary: str,
    title: str,
    columns: tuple[Column, ...],
    games: tuple[str, ...] = GAMES,
    words: tuple[str, ...] = (),
) -> Experiment:
    """The experiment behind a table: one job per agent, game and seed of the plan."""

    def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
        yield [
            cell_job(column, game, seed, plan)
            for column in columns
            for game in plan.games
            for seed in plan.seeds
        ]
        yield [cost_job(columns)]

    def render(plan: Plan, records: Records, folder: Path) -> Section:
        tables = tuple(_game_table(game, columns, plan, records) for game in plan.games)
        costs = records[cost_job(columns)].records
        assert costs is not None
        paragraphs = (
            f"Ours: mean over the last 100 episodes after {FRAMES[plan.scale]:,} frames (scale "
            f"{plan.scale}), averaged over seeds; SD over seeds. The paper's: 10 seeds (4 where a part "
            "was removed), 100,000,000 frames. A score after fewer frames says nothing about the "
            "paper's.",
            *words,
            _cost_words(costs.to_pylist()),
        )
        claims = () if plan.scale == "paper" else (_claim(columns, plan),)
        seeds = " ".join(map(str, plan.seeds))
        return Section(tables, (), paragraphs, seeds, claims, _curves(name, columns, plan, records))

    return Experiment(name, summary, title, "dqn", jobs, render, devices=True, games=games)


def _curves(
    name: str, columns: Sequence[Column], plan: Plan, records: Records
) -> tuple[Panels, ...]:
    """The learning curves of each game in which an episode ended."""
    charts = []
    for game in plan.games:
        curves = {}
        for column in columns:
            (group,) = groups_of([records[cell_job(column, game, s, plan)] for s in plan.seeds])
            if group.curve is not None and np.isfinite(group.curve.y).any():
                curves[column.label] = (column.agent, group.curve)
        if curves:
            charts.append(curve_chart(game, curves))
    caption = (
        "Learning curves: the mean score of the episodes that ended in each fiftieth of the frames, "
        "mean over the seeds, with a 95% band from five seeds on and the range of the seeds below."
    )
    return (Panels(f"{name}-curves", caption, tuple(charts)),) if charts else ()


def _claim(columns: Sequence[Column], plan: Plan) -> Claim:
    """What a small scale says of the paper's scores: nothing."""
    last = columns[-1]
    game = next((game for game in plan.games if game in last.paper), plan.games[0])
    paper = f"{last.label} {last.paper[game][0]:,.1f} in {game}" if game in last.paper else "-"
    return Claim(
        f"Scores of {len(columns)} deep agents in {counted(len(plan.games), 'Atari game')}",
        f"{paper}, 100 million frames",
        f"{FRAMES[plan.scale]:,} frames: too few to compare",
        OPEN,
    )


def _game_table(game: str, columns: Sequence[Column], plan: Plan, records: Records) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for column in columns:
        mean, sd = column.paper.get(game, (None, None))
        ours = np.array(
            [performance(records[cell_job(column, game, seed, plan)]) for seed in plan.seeds]
        )
        known = ours[np.isfinite(ours)]
        mean_here: Cell = float(known.mean()) if len(known) else "no episode ended"
        sd_here = float(known.std(ddof=1)) if len(known) > 1 else None
        rows.append((column.label, mean, sd, mean_here, sd_here, len(known)))
    headings = ("agent", "paper", "paper's SD", "ours", "our SD", "seeds")
    formats = dict.fromkeys(headings[1:5], ",.1f")
    return Table(game, headings, tuple(rows), formats=formats)


def _cost_words(costs: Sequence[dict[str, Any]]) -> str:
    in_words = [
        f"{cost['label']} {PAPER_STEPS * cost['here'] / DAY:.1f} days here, about "
        f"{PAPER_STEPS * cost['accelerator'] / 3600:.0f} hours on a GPU"
        for cost in costs
    ]
    return (
        "One seed of one game at the paper's scale would take: "
        + "; ".join(in_words)
        + ". Here: one "
        "core, measured part by part when this was made. GPU: an estimate, 5 TFLOP/s of float32 "
        "and 1.5 ms of overhead per step assumed."
    )


TABLE_3 = atari_table(
    "table3",
    "DQN, DQN_e^MMC+SR and the bonuses of CTS, PixelCNN, RND in six Atari games",
    "Table 3: deep agents in six Atari games with sparse rewards",
    (DQN, MMC, CTS, PIXELCNN, RND, SR),
    words=(
        "The paper took its DQN scores from Machado et al. (2018). * Those of CTS, PixelCNN and RND "
        "are quoted from their authors, who followed other protocols (RND: PPO, frame skip 4). Ours "
        "are like for like: one DQN_e^MMC, only the bonus differs.",
    ),
)
TABLE_4 = atari_table(
    "table4",
    "DQN_e^MMC+SR with the ℓ1- and the ℓ2-norm",
    "Table 4: DQN_e^MMC+SR with the ℓ1-norm (β = 0.05) and the ℓ2-norm (β = 0.025)",
    (SR, SR_L2),
)
ABLATIONS = atari_table(
    "ablations",
    "DQN_e^MMC+SR without reconstruction, and without SR and bonus",
    "Ablations: what DQN_e^MMC+SR needs in Montezuma's Revenge",
    (SR, NO_RECONSTRUCTION, NO_BONUS),
    games=("MontezumaRevenge",),
    words=(
        "The paper prints the spread of its four seeds as σ²; 100 points with a maximum of 400 give "
        "200 only as a standard deviation. A mean of 398.5 with a minimum of 0 and a maximum of 400 "
        "cannot be right for four seeds.",
    ),
)
