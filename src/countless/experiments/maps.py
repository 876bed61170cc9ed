"""Where agents go: visits, norm and bonus over FourRooms while they learn; ways through RiverSwim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.catalogue import make_agent
from countless.agents.tabular.agent import TabularAgent, describe
from countless.agents.tabular.maps import MapSums, sum_runs
from countless.agents.tabular.simulate import REWARD, STATE, trace_runs
from countless.analysis.charts import Chart, MapChart, MapLine, Panels, Series
from countless.analysis.curves import line_styles
from countless.analysis.plots_norm import MapRow, draw_maps
from countless.envs.catalog import make_mdp
from countless.experiments.experiment import Experiment, Figure, Plan, Records, Section
from countless.runs.job import Execution, Job, Stopped
from countless.runs.measurement import MeasurementJob

MAZE, RIVER = "fourrooms", "riverswim"
STEPS = 5_000
RUNS = 200
PIECE = 25  # runs that are traced at once
MARKS = np.array([10, 20, 30, 50, 70, 100, 150, 200, 300, 400, 500, 700, 1_000, 1_300, 1_600,
                  2_000, 2_500, 3_000, 3_500, 4_000, 4_500, STEPS])  # fmt: skip
SHOWN = (100, 1_000, STEPS)  # of these, in the figure on disk
# In FourRooms: the bonus, the same agent without it, and without the high initial values too.
GREEDY = "ε-greedy Sarsa"
MAZE_AGENTS: dict[str, dict[str, Any]] = {
    "Sarsa+SR": {},
    "without the bonus": {"beta": 0.0},
    GREEDY: {"beta": 0.0, "initial_value": 0.0},
}
RIVER_AGENTS = {"ε-greedy Sarsa": "sarsa", "Sarsa+SR": "sarsa-sr", "ESSR": "essr"}
FIRST, WINDOW = 500, 25  # steps of a way that are drawn one by one, and that are averaged
WAYS = (
    f"The way of one run through the six states of RiverSwim: of {PIECE} runs the one with the median "
    f"return. Of each agent there are the first {FIRST} steps, one by one, and then all {STEPS:,}: "
    f"the mean state of every {WINDOW} steps. State 5 pays 10,000, state 0 pays 5; the current "
    "drives back to state 0."
)
LABELS = {
    "visits": "visits per run",
    "norm": "norm of the SR, ‖Ψ(s)‖₁",
    "bonus": "bonus, β/‖Ψ(s)‖₁",
}


def measure_maze(
    agent: TabularAgent, beta: float, seed: int, execution: Execution
) -> dict[str, Any]:
    """The maps at every mark, one row per mark and state. Norms are learned with any beta, so the
    bonus is what `beta` would pay."""
    mdp = make_mdp(MAZE)
    sums, collected = MapSums(MARKS, mdp.n_states), np.zeros(len(MARKS))
    for first in range(0, RUNS, PIECE):
        if execution.stop():
            raise Stopped
        trace = trace_runs(agent, mdp, runs=PIECE, steps=STEPS, seed=seed, first_run=first)
        rewards, part = sum_runs(replace(agent, beta=beta), trace, MARKS, mdp.n_states)  # type: ignore[call-arg]
        sums.add(part)
        collected += rewards.sum(axis=0)
        execution.task.advance(PIECE * STEPS)
    maps = {name: values.ravel() for name, values in sums.means().items()}
    return {
        "step": np.repeat(MARKS, mdp.n_states),
        "state": np.tile(np.arange(mdp.n_states), len(MARKS)),
        "seen": (sums.seen / sums.runs).ravel(),  # the share of runs that have been there
        "reward": np.repeat(collected / RUNS, mdp.n_states),  # of a run so far
        **maps,
    }


def measure_river(agent: TabularAgent, seed: int, execution: Execution) -> dict[str, Any]:
    """The states of one run: the one in the middle, of 25, by its return."""
    trace = trace_runs(agent, make_mdp(RIVER), runs=PIECE, steps=STEPS, seed=seed)
    run = int(np.argsort(trace[:, :, REWARD].sum(axis=1), kind="stable")[PIECE // 2])
    execution.task.advance(PIECE * STEPS)
    return {
        "run": np.full(STEPS, run),
        "step": np.arange(1, STEPS + 1),
        "state": trace[run, :, STATE].astype(np.int64),
        "reward": trace[run, :, REWARD],
    }


@dataclass(frozen=True)
class _Jobs:
    maze: dict[str, MeasurementJob]
    river: dict[str, MeasurementJob]


def _jobs(plan: Plan) -> _Jobs:
    maze, river = make_mdp(MAZE), make_mdp(RIVER)
    paid = make_agent("sarsa-sr", maze, {})
    beta = float(getattr(paid, "beta"))  # noqa: B009 (of this agent, not of all)
    found: dict[str, MeasurementJob] = {}
    for label, given in MAZE_AGENTS.items():
        agent = make_agent("sarsa-sr", maze, given)
        found[label] = MeasurementJob(
            "maps-of-runs", MAZE, plan.seed, RUNS * STEPS,
            {"of": "sarsa-sr", "traced_runs": RUNS, "paid_beta": beta, **describe(agent)},
            lambda execution, agent=agent: measure_maze(agent, beta, plan.seed, execution),  # type: ignore[misc]
        )  # fmt: skip
    paths: dict[str, MeasurementJob] = {}
    for label, name in RIVER_AGENTS.items():
        agent = make_agent(name, river, {})
        paths[label] = MeasurementJob(
            "way-of-a-run", RIVER, plan.seed, PIECE * STEPS,
            {"of": name, "traced_runs": PIECE, **describe(agent)},
            lambda execution, agent=agent: measure_river(agent, plan.seed, execution),  # type: ignore[misc]
        )  # fmt: skip
    return _Jobs(found, paths)


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """One job per agent."""
    planned = _jobs(plan)
    yield [*planned.maze.values(), *planned.river.values()]


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """Maps with a slider, and a way per agent."""
    planned, layout = _jobs(plan), make_mdp(MAZE).layout
    assert layout is not None
    maps = {label: _columns(records, job) for label, job in planned.maze.items()}
    ways = {label: _columns(records, job) for label, job in planned.river.items()}
    seen = "how often each cell was visited so far"
    caption = _caption(f"{seen}, the norm of its SR, and the bonus") + (
        " Both learn the SR all the same, and the bonus is what it would have paid them. Grey: walls. "
        "Nearly the colour of the page: cells in which no run has acted, and the goal, where an "
        "episode ends."
    )
    drawn = _caption(seen) + (
        " All maps share one scale of colours. Grey: walls. White: cells in which no run has acted, "
        "and the goal, where an episode ends."
    )
    rows = [
        MapRow(
            label,
            [_on_map(layout, columns, step) for step in SHOWN],
            logarithmic=True,
        )
        for label, columns in maps.items()
    ]
    titles = [f"after {step:,} steps" for step in SHOWN]
    draw_maps(folder / "maps", layout < 0, titles, rows, shared=LABELS["visits"])
    return Section(
        (),
        (Figure(folder / "maps", drawn, interactive=True),),
        _words(maps, ways),
        str(plan.seed),
        panels=(
            Panels("maps-fourrooms", caption, (_map_chart(layout, maps),)),
            Panels(
                "maps-riverswim", WAYS, tuple(one for item in ways.items() for one in _way(*item))
            ),
        ),
    )


def _caption(shown: str) -> str:
    return (
        f"FourRooms, {RUNS} runs of each agent: {shown}. Runs start in the upper left corner, and the "
        f"goal is in the lower right one. The second agent is the first without its bonus; {GREEDY} "
        "starts from zero values too."
    )


def _columns(records: Records, job: MeasurementJob) -> dict[str, NDArray[Any]]:
    table = records[job].records
    assert table is not None
    return {name: table[name].to_numpy() for name in table.column_names}


def _on_map(
    layout: NDArray[np.int64], columns: dict[str, NDArray[Any]], step: int
) -> NDArray[np.float64]:
    """The visits after `step`; NaN for walls and for what was never seen."""
    visits = columns["visits"][columns["step"] == step]
    cells = np.where(layout < 0, np.nan, visits[np.maximum(layout, 0)])
    return np.where(cells > 0, cells, np.nan)


def _map_chart(layout: NDArray[np.int64], maps: dict[str, dict[str, NDArray[Any]]]) -> MapChart:
    shape = (len(MARKS), -1)
    lines = tuple(
        MapLine(label, {LABELS[name]: columns[name].reshape(shape) for name in LABELS})
        for label, columns in maps.items()
    )
    return MapChart("Where agents go in FourRooms", layout, "steps", MARKS, lines)


def _way(label: str, columns: dict[str, NDArray[Any]]) -> tuple[Chart, Chart]:
    """The first steps of a run one by one, and all of them in windows."""
    total = columns["reward"].sum()
    style = line_styles({label: RIVER_AGENTS[label]})[label]
    step, state = columns["step"], columns["state"]
    whole = len(step) // WINDOW * WINDOW
    ends = step[:whole].reshape(-1, WINDOW)[:, -1]
    means = state[:whole].reshape(-1, WINDOW).mean(axis=1)
    span = (0.0, 5.2)
    return (
        Chart(
            f"{label}: the first {len(step[:FIRST]):,} steps", "step", "state",
            (Series(label, step[:FIRST], state[:FIRST], style=style),), steps=1, span=span,
        ),
        Chart(
            f"{label}: all {len(step):,} steps, return {total:,.0f}", "step",
            f"mean state of {WINDOW} steps", (Series(label, ends, means, style=style),), span=span,
        ),
    )  # fmt: skip


def _words(
    maps: dict[str, dict[str, NDArray[Any]]], ways: dict[str, dict[str, NDArray[Any]]]
) -> tuple[str, ...]:
    middle, end = SHOWN[1:]
    seen, goals = [], []
    for label, columns in maps.items():
        steps = columns["step"]
        seen.append(f"{label} {columns['seen'][steps == middle].sum():.0f}")
        goals.append(f"{label} {columns['reward'][steps == end][0]:.1f}")
    shares = [
        f"{label} {100.0 * (columns['state'] == 5).mean():.0f}%" for label, columns in ways.items()
    ]
    return (
        f"Of the 104 cells of FourRooms a run has seen, after {middle:,} steps and on average: "
        f"{', '.join(seen)}. It has reached the goal, after {end:,} steps: {', '.join(goals)} "
        "times. High initial values alone lead everywhere in so small a maze; what the bonus adds is "
        "better seen in RiverSwim.",
        "The share of its steps that the run in RiverSwim is in state 5, where the large reward is: "
        f"{', '.join(shares)}.",
    )


EXPERIMENT = Experiment(
    "maps",
    "where agents go: visits, norm and bonus over FourRooms, ways through RiverSwim",
    "Where agents go: FourRooms as a map, RiverSwim step by step",
    "tabular",
    jobs,
    render,
    minutes=0.2,
)
