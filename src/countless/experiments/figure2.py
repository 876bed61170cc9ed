"""Figure 2: the norm of the SR against the number of visits, in RiverSwim's six states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.tabular.simulate import NORM, STATE, trace_runs
from countless.analysis.charts import Chart, Panels, Series
from countless.analysis.plots import COLOURS, NormCurve, draw_norms
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
from countless.experiments.paper_and_ours import entry_job, replay_job, seeds_of
from countless.experiments.published import C1, C2, TABLE_1
from countless.runs.job import Execution, Job, Stopped
from countless.runs.measurement import MeasurementJob
from countless.runs.tabular import TabularJob

ENTRY = next(e for e in TABLE_1 if e.env == "riverswim" and e.agent == "sarsa-sr")
CHUNK_RUNS = 200
POINTS = 200  # of a line on a page
GREY = "#6B6B6B"
GROWTH, BETWEEN = "The norm of the SR grows with the number of visits", "between √n and n"


@dataclass
class NormMoments:
    """Running sums of the norm at the n-th visit, (states, visits), over the runs that get there."""

    count: NDArray[np.float64]
    total: NDArray[np.float64]
    square: NDArray[np.float64]

    @classmethod
    def empty(cls, states: int, visits: int) -> NormMoments:
        return cls(*(np.zeros((states, visits)) for _ in range(3)))

    def add(self, trace: NDArray[np.float64]) -> None:
        """Take in a trace (runs, steps, 5)."""
        for run in trace:
            for s in range(len(self.count)):
                norms = run[run[:, STATE] == s, NORM]
                n = len(norms)
                self.count[s, :n] += 1
                self.total[s, :n] += norms
                self.square[s, :n] += norms**2

    def curve(self, s: int) -> NormCurve:
        """The mean norm of state `s` after 1, 2, ... visits, and the half width of its 95% CI."""
        reached = self.count[s] > 1
        count, mean = self.count[s, reached], self.total[s, reached] / self.count[s, reached]
        variance = np.maximum(self.square[s, reached] / count - mean**2, 0) * count / (count - 1)
        visits = 1.0 + np.flatnonzero(reached).astype(np.float64)
        return NormCurve(visits, mean, 1.96 * np.sqrt(variance / count), count)


def measure(job: TabularJob, execution: Execution) -> dict[str, Any]:
    """The mean norm at each visit to each state over all runs of a job."""
    moments = NormMoments.empty(job.mdp.n_states, job.steps)
    chunk = job.runs if job.rng == "authors" else CHUNK_RUNS
    for first in range(0, job.runs, chunk):
        if execution.stop():
            raise Stopped
        runs = min(chunk, job.runs - first)
        trace = trace_runs(
            job.settings[0],
            job.mdp,
            runs=runs,
            steps=job.steps,
            seed=job.seed,
            rng=job.rng,
            first_run=first,
        )
        moments.add(trace)
        execution.task.advance(runs * job.steps)
    curves = [moments.curve(s) for s in range(job.mdp.n_states)]
    return {
        "state": np.concatenate([np.full(len(c.x), s) for s, c in enumerate(curves)]),
        "visits": np.concatenate([c.x for c in curves]),
        "norm": np.concatenate([c.y for c in curves]),
        "half_ci95": np.concatenate([c.half for c in curves]),
        "runs": np.concatenate([c.runs for c in curves]),
    }


def norm_jobs(plan: Plan) -> dict[str, MeasurementJob]:
    """The paper's 100 runs and fresh ones, traced, by what the figure calls them."""
    sources = {
        "the paper's 100 runs": replay_job(ENTRY),
        f"{plan.runs:,} fresh runs": entry_job(ENTRY, runs=plan.runs, seed=plan.seed),
    }
    return {
        title: MeasurementJob(
            "sr-norm-by-visits",
            job.env,
            job.seed,
            job.units,
            {"of": job.agent, "rng": job.rng, "traced_runs": job.runs, **job.configs[0]},
            lambda execution, job=job: measure(job, execution),  # type: ignore[misc]
        )
        for title, job in sources.items()
    }


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Both of them."""
    yield list(norm_jobs(plan).values())


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """Draw the figure from the curves on disk."""
    panels = {}
    for title, job in norm_jobs(plan).items():
        table = records[job].records
        assert table is not None
        columns = {name: table[name].to_numpy() for name in ("state", *NormCurve.columns())}
        panels[title] = [_state_curve(columns, s) for s in np.unique(columns["state"])]
    draw_norms(folder / "figure2", panels, C1, C2)
    caption = (
        f"Norm of the SR after the n-th visit to a state, mean over the runs in which the state was "
        f"visited that often (drawn while at least half of the runs were), with a 95% CI band. "
        f"f1 = {C1}√n, f2 = {C2}n as in the paper."
    )
    fresh = panels[f"{plan.runs:,} fresh runs"]
    figure = Figure(folder / "figure2", caption, interactive=True)
    charts = tuple(_chart(title, curves) for title, curves in panels.items())
    return Section(
        (),
        (figure,),
        _words(fresh),
        seeds_of(plan),
        (_claim(fresh),),
        (Panels("figure2-norms", caption, charts),),
    )


def _chart(title: str, curves: Sequence[NormCurve]) -> Chart:
    """One line per state, drawn while at least half of the runs got there, and the paper's two."""
    series, widest = [], 1.0
    for s, curve in enumerate(curves):
        shown = np.flatnonzero(curve.runs >= max(curve.runs.max() / 2, 2))
        thin = shown[np.unique(np.linspace(0, len(shown) - 1, POINTS).astype(int))]
        x, y, half = curve.x[thin], curve.y[thin], curve.half[thin]
        widest = max(widest, float(x.max(initial=1.0)))
        series.append(Series(f"state {s}", x, y, y - half, y + half, (COLOURS[s], "-")))
    n = np.linspace(0.0, widest, POINTS)
    series.append(Series(f"f1 = {C1}√n", n, C1 * np.sqrt(n), style=(GREY, "--")))
    series.append(Series(f"f2 = {C2}n", n, C2 * n, style=(GREY, ":")))
    return Chart(title, "visits n", "norm of the SR, ‖Ψ(s)‖₁", tuple(series))


def _state_curve(columns: Mapping[str, NDArray[Any]], s: int) -> NormCurve:
    return NormCurve(*(columns[name][columns["state"] == s] for name in NormCurve.columns()))


def _exponents(curves: Sequence[NormCurve]) -> dict[int, float]:
    """The power of n that fits a state's norm from the tenth visit on, where there are enough."""
    exponents = {}
    for s, curve in enumerate(curves):
        used = (curve.x >= 10) & (curve.runs >= curve.runs.max() / 2)
        if used.sum() > 10:
            fit = np.polyfit(np.log(curve.x[used]), np.log(curve.y[used]), 1)
            exponents[s] = float(fit[0])
    return exponents


def _claim(curves: Sequence[NormCurve]) -> Claim:
    exponents = [round(value, 1) for value in _exponents(curves).values()]
    if not exponents:
        return Claim(GROWTH, BETWEEN, "too few visits to tell", OPEN)
    low, high = min(exponents), max(exponents)
    inside = low >= 0.5 and high <= 1.0
    ours = f"as nᵃ with a from {low:.1f} to {high:.1f}, by state"
    return Claim(GROWTH, BETWEEN, ours, REPRODUCED if inside else DIFFERS)


def _words(curves: Sequence[NormCurve]) -> tuple[str, ...]:
    slopes = [f"{slope:.2f} in state {s}" for s, slope in _exponents(curves).items()]
    return (
        "The norm grows with the count in every state, at a rate that depends on the state: fitted "
        f"as a power of n from the tenth visit on, the exponent is {', '.join(slopes)} (1 would be "
        "f2, 1/2 would be f1). So 1/‖Ψ‖ falls as states are visited, which is what makes it a bonus.",
        "The norm's limit is 1/(1 − γ) = 20 in every state; it is the road there, not the limit, "
        "that counts.",
    )


EXPERIMENT = Experiment(
    "figure2",
    "the norm of the SR against visit counts, in RiverSwim",
    "Figure 2: the norm of the SR grows with the number of visits (RiverSwim)",
    "tabular",
    jobs,
    render,
    minutes=0.4,
)
