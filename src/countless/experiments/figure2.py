"""Figure 2: the norm of the SR against the number of visits, in RiverSwim's six states."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countless.agents.tabular.simulate import NORM, STATE, trace_runs
from countless.analysis.plots import Curve, draw_norms
from countless.core.errors import CountlessError
from countless.core.progress import Reporter
from countless.core.records import ensure_folder, read_table, write_table
from countless.experiments.entries import entry_study, replay_study
from countless.experiments.published import C1, C2, TABLE_1
from countless.experiments.section import (
    Experiment,
    Figure,
    Section,
    read_made,
    replay_seeds,
    write_made,
)
from countless.runs.study import Study

TITLE = "Figure 2: the norm of the SR grows with the number of visits (RiverSwim)"
ENTRY = TABLE_1[1]
CHUNK_RUNS = 200
SOURCES = ("replay", "fresh")


@dataclass
class Moments:
    """Running sums of the norm at the n-th visit, (states, visits), over the runs that get there."""

    count: NDArray[np.float64]
    total: NDArray[np.float64]
    square: NDArray[np.float64]

    @classmethod
    def empty(cls, states: int, visits: int) -> Moments:
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

    def curve(self, s: int) -> Curve:
        """The mean norm of state `s` after 1, 2, ... visits, and the half width of its 95% CI."""
        reached = self.count[s] > 1
        count, mean = self.count[s, reached], self.total[s, reached] / self.count[s, reached]
        variance = np.maximum(self.square[s, reached] / count - mean**2, 0) * count / (count - 1)
        visits = 1.0 + np.flatnonzero(reached).astype(np.float64)
        return Curve(visits, mean, 1.96 * np.sqrt(variance / count), count)


def norm_moments(study: Study, reporter: Reporter, description: str) -> Moments:
    """The norm at each visit over all runs of a study, a few hundred runs at a time."""
    moments = Moments.empty(study.mdp.n_states, study.steps)
    chunk = study.runs if study.rng == "authors" else CHUNK_RUNS
    with reporter.task(description, study.total_steps) as advance:
        for first in range(0, study.runs, chunk):
            runs = min(chunk, study.runs - first)
            trace = trace_runs(
                study.settings[0],
                study.mdp,
                runs=runs,
                steps=study.steps,
                seed=study.seed,
                rng=study.rng,
                first_run=first,
            )
            moments.add(trace)
            advance(runs * study.steps)
    return moments


def run(folder: Path, runs: int, seed: int, reporter: Reporter) -> None:
    """Trace the paper's 100 runs and fresh ones; keep the curves."""
    began = time.perf_counter()
    ensure_folder(folder)
    for source, study in zip(
        SOURCES, (replay_study(ENTRY), entry_study(ENTRY, runs=runs, seed=seed)), strict=True
    ):
        moments = norm_moments(study, reporter, f"figure2: {source} runs")
        curves = [moments.curve(s) for s in range(study.mdp.n_states)]
        columns = {
            "state": np.concatenate([np.full(len(c.x), s) for s, c in enumerate(curves)]),
            "visits": np.concatenate([c.x for c in curves]),
            "norm": np.concatenate([c.y for c in curves]),
            "half_ci95": np.concatenate([c.half for c in curves]),
            "runs": np.concatenate([c.runs for c in curves]),
        }
        write_table(folder / f"{source}.parquet", columns)
    write_made(folder, runs, seed, time.perf_counter() - began)


def show(folder: Path) -> Section:
    """Draw the figure from the curves on disk."""
    made = read_made(folder)
    panels = {}
    for source in SOURCES:
        table = read_table(folder / f"{source}.parquet")
        if table is None:
            raise CountlessError(f"{folder}: {source}.parquet is missing; reproduce figure2 again")
        columns = {name: table[name].to_numpy() for name in table.column_names}
        panels[source] = [
            Curve(*(columns[name][columns["state"] == s] for name in Curve.columns()))
            for s in range(6)
        ]
    stem = folder / "figure2"
    titles = {
        "replay": "the paper's 100 runs",
        "fresh": f"{made['runs']:,} fresh runs",
    }
    draw_norms(stem, {titles[key]: curves for key, curves in panels.items()}, C1, C2)
    caption = (
        f"Norm of the SR after the n-th visit to a state, mean over the runs in which the state was "
        f"visited that often (drawn while at least half of the runs were), with a 95% CI band. "
        f"f1 = {C1}√n, f2 = {C2}n as in the paper."
    )
    return Section(
        name="figure2",
        title=TITLE,
        tables=(),
        figures=(Figure(stem, caption),),
        words=_words(panels["fresh"]),
        made=made,
        seeds=replay_seeds(made),
    )


def _words(curves: list[Curve]) -> tuple[str, ...]:
    slopes = []
    for s, curve in enumerate(curves):
        used = (curve.x >= 10) & (curve.runs >= curve.runs.max() / 2)
        if used.sum() > 10:
            slope = np.polyfit(np.log(curve.x[used]), np.log(curve.y[used]), 1)[0]
            slopes.append(f"{slope:.2f} in state {s}")
    return (
        "The norm grows with the count in every state, at a rate that depends on the state: fitted "
        f"as a power of n from the tenth visit on, the exponent is {', '.join(slopes)} (1 would be "
        "f2, 1/2 would be f1). So 1/‖Ψ‖ falls as states are visited, which is what makes it a bonus.",
        "The norm's limit is 1/(1 − γ) = 20 in every state; it is the road there, not the limit, "
        "that counts.",
    )


EXPERIMENT = Experiment("the norm of the SR against visit counts, in RiverSwim", run, show)
