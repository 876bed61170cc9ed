"""Regret against steps as the problem grows: every tabular agent in longer rivers and deeper seas."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from countless.analysis.charts import Panels
from countless.analysis.curves import band
from countless.analysis.growth import growth, last_decade_exponent, median_cost, settled_after
from countless.analysis.plots_regret import (
    FIRST_SEEN,
    Panel,
    RegretPanel,
    SizePanel,
    draw_regret,
    regret_charts,
)
from countless.analysis.statistics import summarise
from countless.analysis.tables import Cell, Estimate, Table
from countless.envs.catalog import make_mdp
from countless.envs.solve import greedy_policy, optimal_gain, optimal_q
from countless.experiments.experiment import (
    Experiment,
    Figure,
    Plan,
    Records,
    Returns,
    Section,
)
from countless.experiments.regret_plan import (
    DEFAULT,
    FAMILIES,
    GAMMA,
    LARGE_STATES,
    NO_BONUS,
    PAPERS,
    RIVER,
    STEPS,
    Row,
    jobs,
    row_job,
    rows,
)

USUAL_GAMMA = 0.95
LABELS = {"riverswim": "RiverSwim", "deepsea": "DeepSea"}
DRAWN = {"riverswim": (6, 50), "deepsea": (8, 20)}  # whose regret is drawn against steps
NOT_RUN = "not run"
WELL_FITTED = 0.5  # the most that a law may leave of log(steps) to be called one
ROUNDING = 1e-6  # of what could be had


@dataclass(frozen=True)
class Measured:
    """The runs of an agent at one size."""

    gain: float  # the best average reward
    steps: Returns
    returns: Returns  # (runs, steps)

    @property
    def regret(self) -> Returns:
        """What the best average reward would have brought, less what the run has collected."""
        return self.gain * self.steps - self.returns

    @property
    def lost(self) -> Returns:
        """Of what could be had, the share that each run has not collected."""
        share: Returns = self.regret[:, -1] / (self.gain * self.steps[-1])
        return share

    @property
    def settled(self) -> Returns:
        """The step from which on a run collects half of the best average reward."""
        return settled_after(self.steps, self.returns, self.gain / 2.0)


Found = dict[Row, dict[int, Measured]]


@lru_cache(maxsize=32)
def best_average(env: str) -> float:
    """The best long-run average reward in an environment."""
    return optimal_gain(make_mdp(env))


def _found(family: str, plan: Plan, records: Records) -> Found:
    found: Found = {}
    for row in rows(family):
        found[row] = {}
        for size in FAMILIES[family]:
            job = row_job(row, family, size, plan)
            if job is None:
                continue
            curve = records.curve(job)
            assert curve is not None
            gain = best_average(f"{family}-{size}")
            found[row][size] = Measured(gain, curve.x, curve.y)
    return found


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """What was lost, how regret grows in time, when each agent settles, and how that grows with N."""
    found = {family: _found(family, plan, records) for family in FAMILIES}
    panels = _panels(found)
    draw_regret(folder / "regret", panels)
    caption = (
        "Left and middle: mean regret with its 95% band, in steps of the best average reward, against "
        "steps, at a small and a large size, default parameters; the dotted line is an agent that "
        "never collects anything, and a line stops where regret is within the chance of the rewards. "
        "Right: the "
        "step from which on the median run collects half of the best average reward, against the "
        f"size; there is no point where that is not within {STEPS:,} steps. Hollow: with the preset "
        "for six states."
    )
    tables = [
        table(family, found[family])
        for family in FAMILIES
        for table in (_lost_table, _exponent_table, _settled_table, _growth_table)
    ]
    tables.append(_runs_table(found))
    told = (
        "Regret against steps, in steps of the best average reward: what an agent has lost so far. The "
        "line is the mean over the runs, the band its 95% interval; a line ends where the regret "
        "cannot be told from the chance of the rewards, and the dotted grey one is an agent that never "
        "collects anything. Against the size N: the step from which on the median run collects half of "
        f"the best average reward; there is no point where that is not within {STEPS:,} steps. Of "
        f"{len(found[RIVER])} settings {len(FIRST_SEEN)} agents are drawn at first; press a name to "
        "show or to hide it."
    )
    return Section(
        tuple(tables),
        (Figure(folder / "regret", caption, interactive=True),),
        _words(found),
        panels=(Panels("regret-charts", told, regret_charts(panels)),),
    )


def _by_size(title: str, family: str, found: Found, cell: Any, spec: str, note: str) -> Table:
    columns = tuple(f"N = {size}" for size in FAMILIES[family])
    lines = []
    for row, sizes in found.items():
        cells = [cell(sizes[size]) if size in sizes else NOT_RUN for size in FAMILIES[family]]
        lines.append((row.label, *cells))
    formats = dict.fromkeys(columns, spec)
    return Table(f"{LABELS[family]}: {title}", ("agent", *columns), tuple(lines), 1, note, formats)


def _lost_table(family: str, found: Found) -> Table:
    def cell(measured: Measured) -> Cell:
        summary = summarise(100.0 * measured.lost)
        return Estimate(summary.mean, summary.half)

    gains = ", ".join(
        f"{best_average(f'{family}-{size}'):,.4g} (N = {size})" for size in FAMILIES[family]
    )
    note = (
        "Regret: steps times the best average reward, less the return; 100% is an agent that never "
        f"collects anything. Best average reward per step: {gains}."
    )
    title = f"regret after {STEPS:,} steps, in % of what could be had (mean ± 95% CI)"
    return _by_size(title, family, found, cell, ".1f", note)


def _exponent_table(family: str, found: Found) -> Table:
    def cell(measured: Measured) -> Cell:
        if abs(float(measured.lost.mean())) < ROUNDING:
            return None
        fitted = last_decade_exponent(measured.steps, measured.regret)
        return Estimate(fitted.value, fitted.half)

    note = (
        "The slope of log regret against log steps over the last tenfold of the steps: 1 is linear "
        "regret, 0.5 that of a square root, near 0 none any more. A dash: the regret cannot be told "
        "from the chance of the rewards."
    )
    return _by_size("exponent of regret in steps (± 95% CI)", family, found, cell, ".2f", note)


def _settled_table(family: str, found: Found) -> Table:
    def cell(measured: Measured) -> Cell:
        cost = median_cost(measured.settled)
        return cost if math.isfinite(cost) else None

    note = (
        "The step from which on the average reward over the second half of the run so far stays at "
        f"half of the best or above. A dash: not within {STEPS:,} steps."
    )
    return _by_size("steps until the median run has settled", family, found, cell, ",.0f", note)


def _growth_table(family: str, found: Found) -> Table:
    columns = (
        "sizes",
        "degree",
        "misfit of N^degree",
        "factor",
        "misfit of factor^N",
        "% polynomial",
    )
    lines: list[tuple[Cell, ...]] = []
    for row, sizes in found.items():
        law = growth({size: measured.settled for size, measured in sizes.items()})
        if law is None:
            reached = sum(math.isfinite(median_cost(m.settled)) for m in sizes.values())
            lines.append((row.label, reached, *(None,) * 5))
            continue
        lines.append(
            (
                row.label,
                law.sizes,
                Estimate(law.degree.value, law.degree.half),
                law.polynomial_error,
                Estimate(law.factor.value, law.factor.half),
                law.exponential_error,
                100.0 * law.polynomial_share,
            )
        )
    note = (
        "Both laws through the medians above: steps ~ N^degree and steps ~ factor^N, ± 95% CI. sizes: "
        "at how many N the median run settles; fewer than three have no fit. The misfit is the root "
        "mean square of what a law leaves of log(steps); % polynomial: the share of resampled runs in "
        "which the polynomial leaves less."
    )
    formats = dict(zip(columns, ("d", ".2f", ".2f", ".3f", ".2f", ".0f"), strict=True))
    title = f"{LABELS[family]}: how the steps until it has settled grow with N"
    return Table(title, ("agent", *columns), tuple(lines), 1, note, formats)


def _runs_table(found: Mapping[str, Found]) -> Table:
    columns = [f"{LABELS[family]} {size}" for family, sizes in FAMILIES.items() for size in sizes]
    lines: list[tuple[Cell, ...]] = []
    for row in found[RIVER]:
        cells: list[Cell] = []
        for family, sizes in FAMILIES.items():
            own = found[family].get(row)
            cells += [
                None if own is None else len(own[size].returns) if size in own else NOT_RUN
                for size in sizes
            ]
        lines.append((row.label, *cells))
    note = (
        f"Agents that plan have fewer runs, and fewest above {LARGE_STATES} states. Not run: a run of "
        "a million steps would take minutes there (ESSR updates two matrices at every step, PSRL "
        "solves a dense model in every epoch). A dash: presets are for RiverSwim."
    )
    title = f"Runs of {STEPS:,} steps each"
    return Table(title, ("agent", *columns), tuple(lines), 1, note)


def _panels(found: Mapping[str, Found]) -> list[list[Panel]]:
    """A row of panels for each family."""
    panels: list[list[Panel]] = []
    for family, own in found.items():
        learning = {row: sizes for row, sizes in own.items() if row.agent != "optimal"}
        line: list[Panel] = []
        for size in DRAWN[family]:
            chance = own[Row("optimal")][size].regret.std(axis=0)
            curves = {
                row.agent: _curve(sizes[size], chance)
                for row, sizes in learning.items()
                if size in sizes and row.kind == DEFAULT
            }
            line.append(RegretPanel(f"{LABELS[family]}, N = {size}", curves))
        costs = {
            (row.agent, row.preset): {n: median_cost(m.settled) for n, m in sizes.items()}
            for row, sizes in learning.items()
            if row.kind != NO_BONUS
        }
        line.append(SizePanel(f"{LABELS[family]}: steps until settled", costs, FAMILIES[family]))
        panels.append(line)
    return panels


def _curve(measured: Measured, chance: Returns) -> tuple[Returns, Returns, Returns]:
    """Steps, and the mean regret in steps of the best reward with half of its interval.

    Only where it is more than the rewards of the best policy vary by chance (`chance`, of one run).
    """
    mean, half = band(measured.regret)
    told = mean > 2.0 * chance / len(measured.regret) ** 0.5
    return measured.steps, np.where(told, mean, np.nan) / measured.gain, half / measured.gain


def _words(found: Mapping[str, Found]) -> tuple[str, ...]:
    longest = FAMILIES[RIVER][-1]
    return (
        f"A river of N states has the probabilities, the rewards (5 on the left, 10,000 on the right) "
        f"and the start of the paper's six; DeepSea is N x N. Parameters are the same at every size: "
        f"each agent's defaults and, in RiverSwim, also its preset for six states. All agents have the "
        f"discount {GAMMA}: {_myopia(longest)}",
        *(_law_words(family, own) for family, own in found.items()),
        _bonus_words(found),
    )


def _myopia(size: int) -> str:
    mdp = make_mdp(f"{RIVER}-{size}")
    usual = greedy_policy(optimal_q(mdp, USUAL_GAMMA))
    river = int(usual[:, 0].sum())
    return (
        f"with the usual {USUAL_GAMMA} the best plan in the river of {size} swims right in {river} of "
        f"its {size} states, and drifts left in the rest."
    )


def _bonus_words(found: Mapping[str, Found]) -> str:
    """What the bonus of the paper's agent adds to its optimistic values."""
    told = []
    for family, own in found.items():
        size = FAMILIES[family][-1]
        with_bonus, without = (
            100.0 * float(own[Row(PAPERS, kind)][size].lost.mean()) for kind in (DEFAULT, NO_BONUS)
        )
        told.append(f"{with_bonus:.1f}% and {without:.1f}% in {LABELS[family]} {size}")
    return (
        "By default Sarsa+SR starts from optimistic values. Its regret with its bonus and without it "
        f"(β = 0) is {', '.join(told)}."
    )


def _law_words(family: str, own: Found) -> str:
    """Which law fits better where the median run settles at every size that was run."""
    polynomial: list[str] = []
    exponential: list[str] = []
    neither: list[str] = []
    short: list[str] = []
    for row, sizes in own.items():
        law = growth({size: measured.settled for size, measured in sizes.items()})
        costs = [median_cost(m.settled) for m in sizes.values()]
        if row.agent in ("random", "optimal"):
            continue
        if not np.isfinite(costs).all():
            short.append(row.label)
        elif law is None or min(law.polynomial_error, law.exponential_error) > WELL_FITTED:
            neither.append(row.label)
        else:
            better = law.polynomial_error < law.exponential_error
            (polynomial if better else exponential).append(
                f"{row.label} (N^{law.degree.value:.1f})"
                if better
                else f"{row.label} ({law.factor.value:.2f}^N)"
            )
    told = [
        f"{text} {'; '.join(names)}."
        for names, text in (
            (polynomial, "a power of N fits better than an exponential for"),
            (exponential, "an exponential fits better than a power of N for"),
            (neither, "neither fits"),
            (short, "at some size the median run does not settle within the steps:"),
        )
        if names
    ]
    return " ".join(f"{LABELS[family]}: {text}" for text in told)


EXPERIMENT = Experiment(
    "regret",
    "regret of every tabular agent in longer RiverSwims and deeper DeepSeas",
    f"Regret, and how cost grows with the problem: {STEPS:,} steps",
    "tabular",
    jobs,
    render,
    minutes=5.0,
)
