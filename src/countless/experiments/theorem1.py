"""Theorem 1: the norm of the substochastic SR counts visits within bounds; on random counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countless.analysis.charts import Chart, Panels, Series
from countless.analysis.plots import draw_bounds
from countless.analysis.tables import Table
from countless.core.substochastic import substochastic_sr
from countless.experiments.experiment import (
    DIFFERS,
    REPRODUCED,
    Claim,
    Experiment,
    Figure,
    Plan,
    Records,
    Section,
)
from countless.runs.job import Execution, Job, Stopped
from countless.runs.measurement import MeasurementJob

GAMMAS = (0.1, 0.3, 0.5, 0.8, 0.95, 0.99)
MOST_STATES, MOST_VISITS = 20, 3000
ROUNDING = 1e-9
DRAWN, MOST_POINTS = (0.3, 0.5, 0.95), 1000


def random_counts(rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
    """n(s, s') of a random number of visits to each state under random dynamics and policy.

    Dynamics and policy enter the counts only through the row P_pi(s, .): each row is drawn from a
    Dirichlet distribution, sparse or dense, each number of visits evenly on a logarithmic scale.
    """
    states = int(rng.integers(2, MOST_STATES + 1))
    sparsity = 10.0 ** rng.uniform(-1.5, 0.5)
    rows = rng.dirichlet(np.full(states, sparsity), size=states)
    visits = np.floor((MOST_VISITS + 1) ** rng.random(states)).astype(int) - 1
    return np.array(
        [rng.multinomial(n, row) for n, row in zip(visits, rows, strict=True)], dtype=np.float64
    )


def check(counts: np.ndarray[Any, np.dtype[np.float64]], gamma: float) -> dict[str, Any]:
    """For every state: n(s), (1 + gamma) - ||Psi~(s)||_1, and the two bounds."""
    n = counts.sum(axis=1)
    gap = (1 + gamma) - substochastic_sr(counts, gamma).sum(axis=1)
    upper = gamma / (n + 1)
    return {"visits": n, "gap": gap, "upper": upper, "lower": upper - gamma**2 / (1 - gamma)}


def measure(matrices: int, seed: int, execution: Execution) -> dict[str, Any]:
    """So many random count matrices, under each discount."""
    rng = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {}
    for _ in range(matrices):
        if execution.stop():
            raise Stopped
        counts = random_counts(rng)
        for gamma in GAMMAS:
            checked = check(counts, gamma)
            checked["gamma"] = np.full(len(counts), gamma)
            for name, values in checked.items():
                columns.setdefault(name, []).append(values)
        execution.task.advance(1)
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def bounds_job(plan: Plan) -> MeasurementJob:
    """The bounds of random counts."""
    return MeasurementJob(
        "theorem1",
        "random counts",
        plan.seed,
        plan.runs,
        {"matrices": plan.runs},
        lambda execution: measure(plan.runs, plan.seed, execution),
    )


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """One measurement."""
    yield [bounds_job(plan)]


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """The picture, the violations, and what the bounds say."""
    table = records[bounds_job(plan)].records
    assert table is not None
    names = ("gamma", "visits", "gap", "upper", "lower")
    data = {name: table[name].to_numpy() for name in names}
    stem = folder / "theorem1"
    rows, panels = [], {}
    rng = np.random.default_rng(0)
    for gamma in GAMMAS:
        here = {name: values[data["gamma"] == gamma] for name, values in data.items()}
        above = int((here["gap"] > here["upper"] + ROUNDING).sum())
        below = int((here["gap"] < here["lower"] - ROUNDING).sum())
        seen = here["visits"] > 0
        slack = float(np.median((here["upper"] - here["gap"])[seen]))
        rows.append(
            (
                gamma,
                len(here["gap"]),
                above,
                below,
                gamma / 2 - gamma**2 / (1 - gamma),
                slack,
            )
        )
        if gamma in DRAWN:
            some = rng.permutation(len(here["gap"]))[:MOST_POINTS]
            panels[gamma] = {name: values[some] for name, values in here.items()}
    draw_bounds(stem, panels)
    columns = (
        "γ", "states", "above", "below", "lower at n=1", "slack",
    )  # fmt: skip
    note = (
        "states: checked; above, below: how many break the upper, the lower bound (to 1e-9); slack: "
        "how far (1+γ) − ‖Ψ̃(s)‖₁ stays below the upper bound, median over visited states."
    )
    caption = (
        "Each point is a state: (1+γ) − ‖Ψ̃(s)‖₁ against γ/(n(s)+1), n(s) its visits. Solid: the "
        "upper bound; dashed: the lower bound. Points are a random thousand of those checked."
    )
    bounds = Table("Both bounds, checked", columns, tuple(rows), note=note)
    broken = (data["gap"] > data["upper"] + ROUNDING) | (data["gap"] < data["lower"] - ROUNDING)
    checked, wrong = len(broken), int(broken.sum())
    claim = Claim(
        "Theorem 1: the norm of the substochastic SR bounds the count from both sides",
        "proved",
        f"{wrong} of {checked:,} states break a bound; the lower one says nothing from γ = 0.5 on",
        DIFFERS if wrong else REPRODUCED,
    )
    words = _words(checked, wrong)
    charts = tuple(_chart(gamma, here) for gamma, here in panels.items())
    return Section(
        (bounds,),
        (Figure(stem, caption, interactive=True),),
        words,
        claims=(claim,),
        panels=(Panels("theorem1-bounds", caption, charts),),
    )


def _chart(gamma: float, data: Mapping[str, Any]) -> Chart:
    x = np.geomspace(data["upper"].min(), gamma, 60)
    series = (
        Series("a state", data["upper"], data["gap"], points="only"),
        Series("upper bound", x, x, style=("#D55E00", "-")),
        Series("lower bound", x, x - gamma**2 / (1 - gamma), style=("#D55E00", "--")),
    )
    return Chart(f"γ = {gamma:g}", "γ/(n+1), n: visits", "(1+γ) − ‖Ψ̃(s)‖₁", series, log="x")


def _words(checked: int, wrong: int) -> tuple[str, ...]:
    return (
        f"{checked:,} states were checked; {wrong} break a bound.",
        "The upper bound is met with equality by a state whose successors were never left, and is "
        "tight for small γ. The lower bound says nothing once γ ≥ 0.5: γ²/(1−γ) is then at least γ, "
        "so the bound is at most 0 for any count; at γ = 0.95 it is "
        f"γ/(n+1) − {0.95**2 / 0.05:.2f}. All it adds to the trivial ‖Ψ̃(s)‖₁ ≤ 1/(1−γ) is γ/(n+1).",
    )


EXPERIMENT = Experiment(
    "theorem1",
    "both bounds of Theorem 1 on random counts",
    "Theorem 1: γ/(n+1) − γ²/(1−γ) ≤ (1+γ) − ‖Ψ̃(s)‖₁ ≤ γ/(n+1)",
    "tabular",
    jobs,
    render,
    minutes=0.3,
)
