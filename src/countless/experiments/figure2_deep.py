"""Figure 2 for the deep agent: does the norm of the learned successor features count visits?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.analysis.charts import MapChart, MapLine, Panels
from countless.analysis.tables import Cell, Table
from countless.envs.catalog import make_mdp
from countless.experiments.experiment import (
    DIFFERS,
    OPEN,
    REPRODUCED,
    Claim,
    Experiment,
    Figure,
    Plan,
    Records,
    Section,
)
from countless.experiments.norm_visits import Moment, acted_in, measurement, moments, places
from countless.runs.job import Job
from countless.runs.measurement import MeasurementJob

AGENT, HOST, SCALE = "dqn-mmc-sr", "dqn-mmc", "small"
ROOMS, SEA = "fourrooms", "bsuite-deepsea-10"
TITLES = {ROOMS: "FourRooms", SEA: "DeepSea 10"}
WANTED = 0.7  # rank correlation
UNRELATED = 0.3  # below it a norm tells little of the visits
TABLE = "SR of a table"  # not deep: what the others could come to
# What is measured, each beside what the scale `small` says. Its network is silent in states that were
# never seen, and soon as loud in one that was seen twice as in one that was seen often; a network
# with biases that learns slowly tells those apart. The others are a bonus beside the host without an
# SR of its own: psi learned once per step, of features that are fixed, or of a table.
SETTINGS: dict[str, dict[str, Any]] = {
    "ℓ1": {"norm": 1.0},
    "ℓ2": {"norm": 2.0},
    "ℓ2, slow, with biases": {
        "norm": 2.0, "encoder_bias": True, "sr_bias": True, "first_weights": 1.0, "normalise": False,
        "gamma_sr": 0.99, "update_period": 4, "beta": 0.05, "bonus_limit": 1.0, "warmup": 500,
        "epsilon_steps": 20_000,
    },
    "SR on fixed features": {"bonus": "sr-norm", "bonus_sees": "frames"},
    TABLE: {"bonus": "sr-norm"},
}  # fmt: skip


@dataclass(frozen=True)
class Extent:
    """How far a scale of this study goes, and how often it looks."""

    steps: int
    checkpoints: int = 10
    parameters: dict[str, Any] = field(default_factory=dict)


EXTENTS = {
    "smoke": Extent(400, 4, {"warmup": 200, "epsilon_steps": 400}),
    "laptop": Extent(20_000),
    "paper": Extent(100_000),
}


def job_of(env: str, setting: str, seed: int, plan: Plan) -> MeasurementJob:
    """One seed of one setting."""
    from countless.runs.dqn import make_job

    extent = EXTENTS[plan.scale]
    parameters = SETTINGS[setting]
    deep = make_job(
        HOST if "bonus" in parameters else AGENT,
        env,
        seed=seed,
        frames=extent.steps,
        scale=SCALE,
        device="cpu",
        parameters=parameters | extent.parameters,
    )
    return measurement(deep, extent.checkpoints)


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Every setting of a seed before the next seed: an interrupted study has compared them."""
    yield [
        job_of(env, setting, seed, plan)
        for seed in plan.seeds
        for env in plan.games
        for setting in SETTINGS
    ]


@dataclass(frozen=True)
class Trace:
    """What one seed of one setting showed, moment by moment."""

    env: str
    moments: list[Moment]

    @property
    def steps(self) -> NDArray[np.int64]:
        return np.array([moment.step for moment in self.moments])

    def over_visited(self) -> NDArray[np.float64]:
        return np.array([moment.over_visited() for moment in self.moments])

    def over_all(self) -> NDArray[np.float64]:
        states = acted_in(make_mdp(self.env))
        return np.array([moment.over(states) for moment in self.moments])

    def within_depth(self) -> NDArray[np.float64]:
        rows, _ = places(make_mdp(self.env))
        return np.array([moment.within(rows) for moment in self.moments])


Traces = dict[tuple[str, str], list[Trace]]  # (environment, setting) -> a trace per seed


def read_traces(plan: Plan, records: Records) -> Traces:
    """All that the plan asks for."""
    names = ("step", "state", "visits", "sr_norm", "added_bonus")
    found: Traces = {}
    for env in plan.games:
        for setting in SETTINGS:
            for seed in plan.seeds:
                table = records[job_of(env, setting, seed, plan)].records
                assert table is not None
                columns = {name: table[name].to_numpy() for name in names}
                found.setdefault((env, setting), []).append(Trace(env, moments(columns)))
    return found


def views(env: str) -> dict[str, str]:
    """How the states of an environment are compared: a name -> the method of `Trace`."""
    if env == SEA:
        return {"visited states": "over_visited", "within a depth": "within_depth"}
    return {"visited states": "over_visited", "all states": "over_all"}


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """A table, the correlations over time, the norms against visits, and the maps."""
    traces = read_traces(plan, records)
    drawn = [_correlations(traces, plan, folder), _clouds(traces, plan, folder)]
    if ROOMS in plan.games:
        drawn += [
            _maps(traces[ROOMS, setting][0], setting, plan, folder / f"maps-{i + 1}")
            for i, setting in enumerate(SETTINGS)
        ]
    return Section(
        (summary(traces, plan),),
        tuple(figure for figure, _ in drawn),
        _words(plan),
        " ".join(map(str, plan.seeds)),
        claims=tuple(claim(env, traces) for env in plan.games),
        panels=tuple(panels for _, panels in drawn),
    )


def claim(env: str, traces: Traces) -> Claim:
    """Whether the norm counts visits in an environment: in all settings, in none, or in some."""
    view, method = list(views(env).items())[-1 if env == SEA else 0]
    means = {
        setting: _mean(np.array([getattr(trace, method)() for trace in traces[env, setting]]))
        for setting in SETTINGS
        if setting != TABLE
    }
    last = [mean[-1] for mean in means.values()]
    if all(value >= WANTED for value in last):
        verdict = REPRODUCED
    else:
        verdict = DIFFERS if all(value < UNRELATED for value in last) else OPEN
    told = "; ".join(
        f"{setting}: {np.nanmax(mean):.2f} at most, {mean[-1]:.2f} at the end"
        if np.isfinite(mean).any()
        else f"{setting}: not known"
        for setting, mean in means.items()
    )
    return Claim(
        f"The norm of the learned successor features counts visits ({TITLES[env]})",
        "shown for the SR of a table (Figure 2), taken over to the deep agent",
        f"rank correlation over {view.replace('within a depth', 'the states of one depth')}. {told}",
        verdict,
    )


def summary(traces: Traces, plan: Plan) -> Table:
    """Rank correlations: at the first look, the largest, and at the end with the range of seeds."""
    rows: list[tuple[Cell, ...]] = []
    for env in plan.games:
        for setting in SETTINGS:
            for view, method in views(env).items():
                y = np.array([getattr(trace, method)() for trace in traces[env, setting]])
                rows.append((TITLES[env], setting, view, *_numbers(y)))
    columns = (
        "environment", "setting", "over", "first look", "largest", "looks at 0.7 or more",
        "at the end", "lowest seed", "highest seed",
    )  # fmt: skip
    shown = ("first look", "largest", "at the end", "lowest seed", "highest seed")
    steps = EXTENTS[plan.scale].steps
    return Table(
        f"Rank correlation of ‖ψ(s)‖ with visits, {steps:,} steps, means over seeds",
        columns,
        tuple(rows),
        labels=3,
        note="The largest is that of the mean over seeds; looks are those at which this mean "
        "reaches 0.7.",
        formats=dict.fromkeys(shown, ".2f"),
    )


def _numbers(y: NDArray[np.float64]) -> tuple[Cell, ...]:
    """Of correlations (seeds, looks)."""
    mean = _mean(y)
    last = y[:, -1][np.isfinite(y[:, -1])]
    low, high = (float(last.min()), float(last.max())) if len(last) else (None, None)
    known = mean[np.isfinite(mean)]
    largest = float(known.max()) if len(known) else None
    reached = f"{int((known >= WANTED).sum())} of {len(mean)}"
    return float(mean[0]), largest, reached, float(mean[-1]), low, high


def _mean(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over seeds that are known; NaN where none is."""
    known = np.isfinite(y)
    total = np.where(known, y, 0.0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)


def _correlations(traces: Traces, plan: Plan, folder: Path) -> tuple[Figure, Panels]:
    from countless.analysis.plots_norm import Correlations, correlation_charts, draw_correlations

    panels = {
        f"{TITLES[env]}: {view}": {
            setting: Correlations(
                traces[env, setting][0].steps,
                np.array([getattr(trace, method)() for trace in traces[env, setting]]),
            )
            for setting in SETTINGS
        }
        for env in plan.games
        for view, method in views(env).items()
        if view != "all states"
    }
    draw_correlations(folder / "correlations", panels, WANTED)
    caption = (
        "Rank correlation over states of the norm of the learned successor features, of which the "
        "bonus is made, with the number of visits, while the agent learns: mean over seeds, and the "
        f"range of the seeds. A norm that counts visits well should have {WANTED:g} or more (dashed)."
    )
    charts = correlation_charts(panels, WANTED)
    return (
        Figure(folder / "correlations", caption, interactive=True),
        Panels("figure2-deep-correlations", caption, charts),
    )


def _clouds(traces: Traces, plan: Plan, folder: Path) -> tuple[Figure, Panels]:
    from countless.analysis.plots_norm import Cloud, cloud_charts, draw_clouds

    rows = {
        TITLES[env]: {
            setting: [
                Cloud(found[i].step, found[i].visits, found[i].norm) for i in _chosen(len(found), 3)
            ]
            for setting in SETTINGS
            for found in [traces[env, setting][0].moments]
        }
        for env in plan.games
    }
    draw_clouds(folder / "norms", rows)
    caption = (
        f"The norm of the learned successor features of each visited state against its visits, at "
        f"three times (seed {plan.seeds[0]})."
    )
    return (
        Figure(folder / "norms", caption, interactive=True),
        Panels("figure2-deep-norms", caption, cloud_charts(rows)),
    )


def _chosen(moments: int, count: int) -> list[int]:
    """Which of the moments to draw: the first, the last, and some between."""
    return [*map(int, np.unique(np.linspace(0, moments - 1, count).round()))]


def _maps(trace: Trace, setting: str, plan: Plan, stem: Path) -> tuple[Figure, Panels]:
    """At four times on disk, at all of them on a page."""
    from countless.analysis.plots_norm import MapRow, draw_maps

    mdp = make_mdp(trace.env)
    assert mdp.layout is not None
    states, layout = acted_in(mdp), mdp.layout
    labels = "visits so far", "norm, over its mean", "bonus added to the reward"
    maps: dict[str, list[NDArray[np.float64]]] = {label: [] for label in labels}
    for m in trace.moments:
        quantities = (
            np.where(m.visits > 0, m.visits, np.nan),
            np.where(states, m.norm / m.norm[states].mean(), np.nan),
            np.where(states, m.bonus, np.nan),
        )
        for found, values in zip(maps.values(), quantities, strict=True):
            found.append(values)
    chosen = _chosen(len(trace.moments), 4)
    rows = [
        MapRow(
            label,
            [np.where(layout < 0, np.nan, found[i][np.maximum(layout, 0)]) for i in chosen],
            logarithmic=not label.startswith("norm"),
        )
        for label, found in maps.items()
    ]
    steps = np.array([moment.step for moment in trace.moments])
    draw_maps(stem, layout < 0, [f"{steps[i]:,} steps" for i in chosen], rows)
    caption = (
        f"FourRooms, {setting}, seed {plan.seeds[0]}: visits so far, norm of the learned successor "
        "features over its mean at that time, and the bonus that it makes. Grey: walls; nearly the "
        "colour of the page: a cell that was not visited, or (bottom right) the goal, where nobody "
        "acts. Start: top left."
    )
    line = MapLine(setting, {label: np.array(found) for label, found in maps.items()})
    chart = MapChart(f"FourRooms, {setting}", layout, "steps", steps, (line,))
    return Figure(stem, caption, interactive=True), Panels(
        f"figure2-deep-{stem.name}", caption, (chart,)
    )


def _words(plan: Plan) -> tuple[str, ...]:
    extent = EXTENTS[plan.scale]
    return (
        f"{AGENT} at `--scale {SCALE}` sees each state as an image with one bright pixel. A visit is a "
        "step that the agent takes in a state, the warm-up among them. The norm is that of which the "
        f"bonus is made (of {AGENT} the target network's), for every state at {extent.checkpoints} "
        "times. 1 would be what counts give, 0 no relation.",
        f"The last two settings are the bonus `sr-norm` beside {HOST}. It learns psi once per step, "
        "not from the replay: on features of a network with random weights that stay as they are, and "
        "as a table with one row per state.",
        "In DeepSea the depth confounds: an episode ends at the bottom, so that psi sums over fewer "
        "steps there, and every depth has as many visits as any other but another number of states. "
        "Within a depth this plays no part: the correlation over the states of one row, averaged "
        "over rows.",
    )


EXPERIMENT = Experiment(
    "figure2-deep",
    "the norm of the learned SR against true visits, in FourRooms and DeepSea from pixels",
    "Figure 2 for the deep agent: does the norm of the learned SR count visits?",
    "dqn",
    jobs,
    render,
    games=(ROOMS, SEA),
)
