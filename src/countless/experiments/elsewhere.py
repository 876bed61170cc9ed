"""The agents of Table 2 in six more MDPs, with the parameters that were chosen for RiverSwim."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import gymnasium

from countless.agents.catalogue import make_agent
from countless.analysis.statistics import summarise
from countless.analysis.tables import Table
from countless.core.progress import Reporter
from countless.core.records import ensure_folder
from countless.envs.catalog import make_mdp
from countless.envs.solve import optimal_return
from countless.experiments.curves import draw_curves, record_curves
from countless.experiments.section import (
    Experiment,
    Figure,
    Section,
    load_study,
    read_made,
    write_made,
)
from countless.experiments.table2 import ROWS, Row
from countless.runs.study import Study, complete, default_steps

TITLE = "Table 2 elsewhere: the same agents in six more MDPs, undiscounted return of 5,000 steps"
LARGE = 150  # states from which runs are few, and agents that redo their whole plan are left out
FEWER, FEWEST = 100, 5000
CURVE_RUNS = 10
REPLANNERS = ("psrl", "ucrl2")
REFERENCES = (Row("random", "random"), Row("Sarsa+SR ℓ1", "sarsa-sr"))


def environments() -> tuple[str, ...]:
    """Four of our own making or kind, and Gymnasium's; Taxi in its newest version."""
    taxi = max(name for name in gymnasium.registry if name.startswith("Taxi-v"))
    return ("chain-20", "deepsea-10", "deepsea-20", "FrozenLake8x8-v1", "CliffWalking-v1", taxi)


def row_study(row: Row, env: str, runs: int, seed: int) -> Study | None:
    """An agent with its RiverSwim parameters in `env`; None where it would take too long."""
    mdp = make_mdp(env)
    large = mdp.n_states > LARGE
    if large and row.agent in REPLANNERS:
        return None
    # The released planner is made for a handful of states.
    exact = {"planner": "exact"} if row.agent == "essr" else {}
    agent = make_agent(row.agent, "riverswim", row.parameters | exact)
    fewer = max(2, runs // (FEWEST if large else FEWER))
    return Study((agent,), mdp, fewer, default_steps(mdp), seed)


def run(folder: Path, runs: int, seed: int, reporter: Reporter) -> None:
    """Every agent in every environment; each cell is kept as it ends."""
    began = time.perf_counter()
    ensure_folder(folder)
    for env in environments():
        for row in (*REFERENCES, *ROWS):
            study = row_study(row, env, runs, seed)
            if study is not None:
                description = f"elsewhere: {row.label} in {env}"
                complete(study, folder / study.name, reporter=reporter, description=description)
    curves = [
        (env, row.label, replace(study, runs=min(study.runs, CURVE_RUNS)))
        for env in environments()
        for row in (*REFERENCES, *ROWS)
        if (study := row_study(row, env, runs, seed)) is not None
    ]
    record_curves(folder, curves, reporter)
    write_made(folder, runs, seed, time.perf_counter() - began)


def show(folder: Path) -> Section:
    """A table an environment, the best possible return in its title."""
    made = read_made(folder)
    tables = []
    for env in environments():
        rows = []
        for row in (*REFERENCES, *ROWS):
            study = row_study(row, env, made["runs"], made["seed"])
            if study is None:
                rows.append((row.label, "-", "not run", "-", "-"))
                continue
            summary = summarise(load_study(study, folder)[0])
            half = (summary.ci95[1] - summary.ci95[0]) / 2
            cells = (
                f"{summary.mean:,.1f} ± {half:,.1f}",
                f"{summary.sd:,.1f}",
                f"{summary.median:,.1f}",
            )
            rows.append((row.label, f"{summary.runs:,}", *cells))
        mdp = make_mdp(env)
        best = "" if mdp.episode_limit else f"; at best {optimal_return(mdp, 5000):,.1f}"
        title = f"{env}: {mdp.n_states} states{best}"
        tables.append(Table(title, ("agent", "runs", "mean ± 95% CI", "SD", "median"), tuple(rows)))
    words = (
        "Parameters are those that were chosen for RiverSwim, bonuses there scaled to rewards of "
        "10,000: agents whose bonus is in units of the largest reward (MBIE, MBIE-EB, UCRL2, PSRL) or "
        "that have none (R-Max, E3) carry over; the others would need a β of their own.",
        f"PSRL and UCRL2 plan anew from scratch in each epoch: above {LARGE} states they are left out.",
    )
    stem = folder / "curves"
    draw_curves(folder, stem)
    caption = (
        f"Reward collected so far, mean over at most {CURVE_RUNS} runs an agent, against steps."
    )
    return Section("elsewhere", TITLE, tuple(tables), (Figure(stem, caption),), words, made)


EXPERIMENT = Experiment("the agents of Table 2 in six more MDPs", run, show)
