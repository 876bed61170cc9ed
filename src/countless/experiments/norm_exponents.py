"""How fast the norm of a TD-learned SR grows with visits, over its step size and its discount, and
how far the return of Sarsa+SR follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.catalogue import make_agent
from countless.agents.tabular.simulate import NORM, STATE, trace_runs
from countless.analysis.charts import Panels
from countless.analysis.plots_exponents import Plane, Scatter, draw_planes, draw_scatters
from countless.analysis.statistics import mean_interval, rank_correlation
from countless.analysis.tables import Cell, Estimate, Table
from countless.envs.catalog import make_mdp
from countless.experiments.experiment import Experiment, Figure, Plan, Records, Section
from countless.experiments.published import DOMAIN_LABELS
from countless.runs.job import Execution, Job, Stopped
from countless.runs.measurement import MeasurementJob
from countless.runs.tabular import TabularJob, default_steps

AGENT = "sarsa-sr"
ETAS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
GAMMAS = (0.0, 0.5, 0.8, 0.95, 0.99)
BETAS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
DECADES = ((1, 10), (10, 100), (100, 1000))
POINTS = 10  # of a decade, at which a line is fitted
TRACED_SHARE, SWEPT_SHARE = 50, 5  # one traced run for so many of the plan, and one of the sweep
FEWEST = 5  # runs in which a decade must have been covered


@dataclass(frozen=True)
class Point:
    """A step size and a discount of the SR."""

    eta: float
    gamma_sr: float


POINTS_OF_PLANE = tuple(Point(eta, gamma) for gamma, eta in product(GAMMAS, ETAS))


def exponents(states: NDArray[Any], norms: NDArray[Any]) -> NDArray[np.float64]:
    """The exponent of n in each decade of one run: the mean over the states that covered it.

    A state's exponent is the slope of log norm against log n by least squares, n spread evenly over
    the logarithms of a decade of visits. NaN where no state was visited so often.
    """
    found: list[list[float]] = [[] for _ in DECADES]
    for s in np.unique(states):
        own = norms[states == s]
        for slopes, (first, last) in zip(found, DECADES, strict=True):
            if len(own) >= last:
                n = np.unique(np.geomspace(first, last, POINTS).round().astype(int))
                slopes.append(float(np.polyfit(np.log(n), np.log(own[n - 1]), 1)[0]))
    return np.array([np.mean(slopes) if slopes else np.nan for slopes in found])


def law(point: Point) -> NDArray[np.float64]:
    """The exponents where all states have one norm: N += eta (1 - (1 - gamma) N) at each visit.

    Then N = (1 - (1 - eta (1 - gamma))^n) / (1 - gamma): it counts until n is about
    1 / (eta (1 - gamma)), and is constant from there on.
    """
    n = np.arange(1, DECADES[-1][1] + 1)
    left = 1.0 - point.gamma_sr
    return exponents(np.zeros(len(n)), (1.0 - (1.0 - point.eta * left) ** n) / left)


def measure(env: str, runs: int, seed: int, execution: Execution) -> dict[str, Any]:
    """The exponents of each run at every point of the plane, the agent's other values its preset."""
    mdp = make_mdp(env)
    steps, rows = default_steps(mdp), []
    for point in POINTS_OF_PLANE:
        if execution.stop():
            raise Stopped
        agent = make_agent(AGENT, mdp, {"eta": point.eta, "gamma_sr": point.gamma_sr})
        trace = trace_runs(agent, mdp, runs=runs, steps=steps, seed=seed)
        for k, one in enumerate(trace):
            for decade, value in enumerate(exponents(one[:, STATE], one[:, NORM])):
                rows.append((point.eta, point.gamma_sr, k, DECADES[decade][0], value))
        execution.task.advance(runs * steps)
    names = ("eta", "gamma_sr", "run", "from_visit", "exponent")
    return dict(zip(names, (np.array(column) for column in zip(*rows, strict=True)), strict=True))


def traced_runs(plan: Plan) -> int:
    """The runs of each setting whose every step is looked at."""
    return max(2, plan.runs // TRACED_SHARE)


def exponent_job(env: str, plan: Plan) -> MeasurementJob:
    """The exponents in one domain."""
    runs = traced_runs(plan)
    steps = default_steps(make_mdp(env))
    return MeasurementJob(
        "sr-norm-exponents",
        env,
        plan.seed,
        len(POINTS_OF_PLANE) * runs * steps,
        {"of": AGENT, "traced_runs": runs, "steps": steps},
        lambda execution: measure(env, runs, plan.seed, execution),
    )


def return_job(env: str, plan: Plan) -> TabularJob:
    """The returns over the plane, for each of the paper's five scales of the bonus."""
    mdp = make_mdp(env)
    settings = tuple(
        make_agent(AGENT, mdp, {"eta": point.eta, "gamma_sr": point.gamma_sr, "beta": beta})
        for point in POINTS_OF_PLANE
        for beta in BETAS
    )
    runs = max(2, plan.runs // SWEPT_SHARE)
    return TabularJob(settings, mdp, runs, default_steps(mdp), plan.seed)


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Exponents and returns in both domains."""
    yield [job(env, plan) for env in DOMAIN_LABELS for job in (exponent_job, return_job)]


@dataclass(frozen=True)
class Domain:
    """What one domain has at every point of the plane."""

    label: str
    exponent: NDArray[np.float64]  # (points, decades), NaN where too few runs covered one
    half: NDArray[np.float64]  # the half widths of their 95% intervals
    at_preset: NDArray[np.float64]  # (points,) mean returns with the published beta
    at_best: NDArray[np.float64]  # with the best of the betas
    best_beta: NDArray[np.float64]

    def correlation(self, decade: int, returns: NDArray[np.float64]) -> float:
        """Spearman's, over the points that have an exponent."""
        known = np.isfinite(self.exponent[:, decade])
        if known.sum() < FEWEST:
            return float("nan")
        return rank_correlation(self.exponent[known, decade], returns[known])


def _load(env: str, plan: Plan, records: Records) -> Domain:
    table = records[exponent_job(env, plan)].records
    assert table is not None
    data = {name: table[name].to_numpy() for name in ("eta", "gamma_sr", "from_visit", "exponent")}
    mean, half = np.full((2, len(POINTS_OF_PLANE), len(DECADES)), np.nan)
    for i, point in enumerate(POINTS_OF_PLANE):
        here = (data["eta"] == point.eta) & (data["gamma_sr"] == point.gamma_sr)
        for k, (first, _) in enumerate(DECADES):
            values = data["exponent"][here & (data["from_visit"] == first)]
            values = values[np.isfinite(values)]
            if len(values) >= min(FEWEST, traced_runs(plan)):
                low, high = mean_interval(values)
                mean[i, k], half[i, k] = values.mean(), (high - low) / 2
    job = return_job(env, plan)
    returns = records.returns(job).mean(axis=1).reshape(len(POINTS_OF_PLANE), len(BETAS))
    preset = make_agent(AGENT, env)
    return Domain(
        DOMAIN_LABELS[env],
        mean,
        half,
        returns[:, BETAS.index(float(preset.beta))],  # type: ignore[attr-defined]
        returns.max(axis=1),
        np.array(BETAS)[returns.argmax(axis=1)],
    )


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """The plane as a picture and a table, the returns against it, and what both say."""
    domains = [_load(env, plan, records) for env in DOMAIN_LABELS]
    shape = (len(GAMMAS), len(ETAS))
    planes = [
        [
            Plane(
                f"{domain.label}, visits {first:,} to {last:,}",
                domain.exponent[:, k].reshape(shape),
                domain.half[:, k].reshape(shape),
            )
            for k, (first, last) in enumerate(DECADES)
        ]
        for domain in domains
    ]
    draw_planes(folder / "plane", planes, ETAS, GAMMAS)
    scatters = [
        [
            Scatter(
                f"{domain.label}, visits {first:,} to {last:,}",
                domain.exponent[:, k],
                {"published β": domain.at_preset, "best of five β": domain.at_best},
            )
            for k, (first, last) in enumerate(DECADES)
        ]
        for domain in domains
    ]
    draw_scatters(folder / "returns", scatters)
    figures = (
        Figure(
            folder / "plane",
            "The exponent a of ‖Ψ̂(s)‖₁ ∝ nᵃ in three decades of visits n, over the step size η and "
            "the discount γ_SR of the SR: mean over runs and states of Sarsa+SR, its other parameters "
            "as published. The paper's 1/√n would be 0.5, its 1/n would be 1. Empty: hardly any state "
            "was visited so often.",
            interactive=True,
        ),
        Figure(
            folder / "returns",
            "Mean return of Sarsa+SR against the exponent. Each point is one η and one γ_SR, with the "
            "published β and with the best of β = 1, 10, 100, 1,000, 10,000.",
            interactive=True,
        ),
    )
    tables = (*(_table(domain) for domain in domains), _correlations(domains))
    lines, clouds = [], []
    for plane, scatter in zip(chain(*planes), chain(*scatters), strict=True):
        if np.isfinite(scatter.x).any():
            lines.append(plane.chart(ETAS, GAMMAS))
            clouds.append(scatter.chart())
    told = (
        "The exponent a of ‖Ψ̂(s)‖₁ ∝ nᵃ against the step size η of the SR, one line for each of its "
        "discounts γ_SR, in three decades of visits n: mean over runs and states of Sarsa+SR with its "
        "95% interval, the other parameters as published. The grey lines are the paper's 1/√n and "
        "1/n. There is no point where hardly any state was visited so often."
    )
    panels = (
        Panels("norm-exponents-plane", told, tuple(lines)),
        Panels("norm-exponents-returns", figures[1].caption, tuple(clouds)),
    )
    return Section(tables, figures, _words(plan, domains), panels=panels)


def _spans() -> list[str]:
    return [f"n {first:,}-{last:,}" for first, last in DECADES]


def _table(domain: Domain) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            f"{point.gamma_sr:g}",
            f"{point.eta:g}",
            *(
                Estimate(float(m), float(h))
                for m, h in zip(domain.exponent[i], domain.half[i], strict=True)
            ),
            *(float(a) for a in law(point)),
            float(domain.at_preset[i]),
            float(domain.at_best[i]),
            float(domain.best_beta[i]),
        )
        for i, point in enumerate(POINTS_OF_PLANE)
    ]
    laws = [f"law {span[2:]}" for span in _spans()]
    numbers = (*_spans(), *laws, "return", "best return", "at β")
    return Table(
        f"{domain.label}: exponents and returns",
        ("γ_SR", "η", *numbers),
        tuple(rows),
        labels=2,
        note="exponent ± 95% CI by visits n; law: of (1 − (1 − η(1−γ))ⁿ)/(1−γ), see below; return: "
        "mean with the published β, and with the best β.",
        formats=dict.fromkeys((*_spans(), *laws), ".2f")
        | dict.fromkeys(("return", "best return", "at β"), ",.0f"),
    )


def _correlations(domains: Sequence[Domain]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (domain.label, label, *(domain.correlation(k, returns) for k in range(len(DECADES))))
        for domain in domains
        for label, returns in (
            ("with the published β", domain.at_preset),
            ("with the best of five β", domain.at_best),
        )
    ]
    return Table(
        "Rank correlation of exponent and mean return over the plane",
        ("domain", "return", *_spans()),
        tuple(rows),
        labels=2,
        formats=dict.fromkeys(_spans(), ".2f"),
        note=f"Spearman's, over at most {len(POINTS_OF_PLANE)} settings of η and γ_SR.",
    )


def _words(plan: Plan, domains: Sequence[Domain]) -> tuple[str, ...]:
    words = []
    laws = np.array([law(point) for point in POINTS_OF_PLANE])
    for domain in domains:
        rounded = domain.exponent.round(1)
        inside = (rounded >= 0.5) & (rounded <= 1.0)
        known = np.isfinite(domain.exponent)
        shares = ", ".join(
            f"{int(inside[:, k].sum())} of {int(known[:, k].sum())} settings over visits "
            f"{first:,} to {last:,}"
            for k, (first, last) in enumerate(DECADES)
        )
        words.append(
            f"{domain.label}: the exponent, to one decimal, lies between the paper's 1/2 and 1 in "
            f"{shares}. The law N(n) = (1 − (1 − η(1−γ))ⁿ)/(1−γ), exact where a state and its "
            "successors have the same norm, misses these exponents by "
            f"{np.nanmean(np.abs(domain.exponent - laws)):.2f} on average and by "
            f"{np.nanmax(np.abs(domain.exponent - laws)):.2f} at most."
        )
    words.append(
        "By that law the norm counts visits (exponent 1) while n is well below 1/(η(1−γ)), and stops "
        "counting (exponent 0) beyond: 'between 1/n and 1/√n' is the bend between the two."
    )
    words.append(
        f"Exponents come from {traced_runs(plan):,} traced runs per setting, returns "
        f"from {max(2, plan.runs // SWEPT_SHARE):,} runs per setting and β. A decade counts only the "
        "states that were visited to its end; later decades are therefore those of the states that "
        "the agent prefers."
    )
    return tuple(words)


EXPERIMENT = Experiment(
    "norm-exponents",
    "how fast the norm of the SR grows with visits, over η and γ_SR, and what the return owes to it",
    "The norm as a visit counter: exponents over the step size and the discount of the SR",
    "tabular",
    jobs,
    render,
    minutes=1.5,
)
