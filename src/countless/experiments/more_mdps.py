"""The agents of Table 2 in five more MDPs, with their default parameters there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import gymnasium

from countless.agents.catalogue import make_agent
from countless.analysis.charts import Panels, curve_chart
from countless.analysis.curves import draw_curves
from countless.analysis.statistics import summarise
from countless.analysis.tables import Estimate, Table
from countless.envs.catalog import make_mdp
from countless.envs.solve import optimal_return
from countless.experiments.experiment import Experiment, Figure, Plan, Records, Section
from countless.experiments.table2 import ROWS, TEXT, Row
from countless.runs.job import Job
from countless.runs.tabular import TabularJob, default_steps

LARGE = 150  # states from which runs are few, and ESSR, which plans at every step, is left out
REPLANNED = 50  # states from which agents that redo their whole plan are left out
FEWER, FEWEST = 100, 1000
REPLANNERS = ("psrl", "ucrl2")
AGENTS = {
    row.label: row
    for row in (
        Row("random", "random"),
        Row("Sarsa", "sarsa"),
        Row("Sarsa+SR ℓ1", "sarsa-sr"),
        *(row for label, row in ROWS.items() if row.agent != "essr" or label == TEXT),
        # The released planner is made for a handful of states.
        Row("ESSR, exact planning", "essr", {"variant": "authors", "planner": "exact"}),
    )
}


def environments() -> tuple[str, ...]:
    """Three of our own kind, and Gymnasium's; Taxi in its newest version."""
    taxi = max(name for name in gymnasium.registry if name.startswith("Taxi-v"))
    return ("chain-20", "deepsea-10", "FrozenLake8x8-v1", "CliffWalking-v1", taxi)


def row_job(row: Row, env: str, plan: Plan) -> TabularJob | None:
    """An agent with its default parameters in `env`; None where it would take too long."""
    mdp = make_mdp(env)
    large = mdp.n_states > LARGE
    if (large and row.agent == "essr") or (mdp.n_states > REPLANNED and row.agent in REPLANNERS):
        return None
    agent = make_agent(row.agent, mdp, row.parameters)
    runs = max(2, plan.runs // (FEWEST if large else FEWER))
    return TabularJob((agent,), mdp, runs, default_steps(mdp), plan.seed)


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Every agent in every environment."""
    yield [
        job
        for env in environments()
        for row in AGENTS.values()
        if (job := row_job(row, env, plan)) is not None
    ]


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """One table per environment, the best possible return in its title; learning curves."""
    panels = {
        env: {
            label: (row.agent, curve)
            for label, row in AGENTS.items()
            if (job := row_job(row, env, plan)) is not None
            and (curve := records.curve(job)) is not None
        }
        for env in environments()
    }
    draw_curves(folder / "curves", panels)
    caption = (
        "Reward collected so far against steps: mean and 95% band over the same runs as in the "
        "tables (no band below two runs)."
    )
    words = (
        "Parameters are the defaults of each agent in these MDPs: bonuses are in units of the "
        "environment's rewards, so that they carry over from one to the other.",
        f"PSRL and UCRL2 plan from scratch in each epoch: above {REPLANNED} states they are left out, "
        f"as is ESSR, which plans at every step, above {LARGE}.",
    )
    tables = tuple(_table(env, plan, records) for env in environments())
    charts = tuple(curve_chart(env, curves) for env, curves in panels.items())
    return Section(
        tables,
        (Figure(folder / "curves", caption, interactive=True),),
        words,
        panels=(Panels("more-mdps-curves", caption, charts),),
    )


def _table(env: str, plan: Plan, records: Records) -> Table:
    rows: list[tuple[str | float | int | Estimate | None, ...]] = []
    for label, row in AGENTS.items():
        job = row_job(row, env, plan)
        if job is None:
            rows.append((label, None, "not run", None, None))
            continue
        summary = summarise(records.returns(job)[0])
        mean = Estimate(summary.mean, summary.half)
        rows.append((label, summary.runs, mean, summary.sd, summary.median))
    mdp = make_mdp(env)
    best = "" if mdp.episode_limit else f"; at best {optimal_return(mdp, 5000):,.1f}"
    return Table(
        f"{env}: {mdp.n_states} states{best}",
        ("agent", "runs", "mean ± 95% CI", "SD", "median"),
        tuple(rows),
        formats=dict.fromkeys(("mean ± 95% CI", "SD", "median"), ",.1f"),
    )


EXPERIMENT = Experiment(
    "more-mdps",
    "the agents of Table 2 in five more MDPs",
    "More MDPs: the agents of Table 2 elsewhere, undiscounted return of 5,000 steps",
    "tabular",
    jobs,
    render,
    minutes=2.0,
)
