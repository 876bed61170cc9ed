"""Regret against steps, and the cost of settling against the size of the problem."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from countless.analysis.charts import GREY, Chart, Series
from countless.analysis.curves import KNOWN, PALETTE, styles
from countless.analysis.plots import STYLE, save_figure, short

Array = NDArray[np.float64]
Style = tuple[str, str]  # a colour and a dash
FIRST_STEP = 100.0
NOTHING, PRESET = "nothing collected", "hollow: preset"
FIRST_SEEN = KNOWN[: len(PALETTE)]  # on a page; the other agents are a press away


@dataclass(frozen=True)
class RegretPanel:
    """agent -> (steps, mean regret, half of its interval); NaN where there is nothing to draw."""

    title: str
    curves: Mapping[str, tuple[Array, Array, Array]]

    @property
    def last(self) -> float:
        """The last step of any agent."""
        return max((float(steps[-1]) for steps, _, _ in self.curves.values()), default=FIRST_STEP)

    def lines(self) -> dict[str, tuple[Array, Array, Array]]:
        """The curves from the first step that is drawn, the halves without NaN."""
        lines = {}
        for agent, (steps, mean, half) in self.curves.items():
            late = steps >= min(FIRST_STEP, steps[-1] / 2)
            lines[agent] = steps[late], mean[late], np.nan_to_num(half[late])
        return lines

    def chart(self, chosen: Mapping[str, Style]) -> Chart:
        """For a page."""
        lines = self.lines()
        known = [float(np.nanmin(y)) for _, y, _ in lines.values() if np.isfinite(y).any()]
        least = max(min(known, default=2.0) / 2.0, 1.0)
        series = [
            Series(
                agent, x, y, np.maximum(y - half, least), y + half, chosen[agent],
                hidden=agent not in FIRST_SEEN,
            )
            for agent, (x, y, half) in lines.items()
        ]  # fmt: skip
        ends = np.array([min(FIRST_STEP, self.last / 2), self.last])
        series.append(Series(NOTHING, ends, ends, style=(GREY, ":")))
        return Chart(self.title, "steps", "regret (steps)", tuple(series), log="xy")


@dataclass(frozen=True)
class SizePanel:
    """(agent, whether with its preset) -> cost by size; infinite where it is not known."""

    title: str
    costs: Mapping[tuple[str, bool], Mapping[int, float]]
    sizes: Sequence[int]

    def lines(self) -> dict[tuple[str, bool], dict[int, float]]:
        """The costs that are known."""
        return {
            key: {size: cost for size, cost in costs.items() if math.isfinite(cost)}
            for key, costs in self.costs.items()
        }

    def chart(self, chosen: Mapping[str, Style]) -> Chart:
        """For a page; presets are dotted there."""
        series = tuple(
            Series(
                f"{agent}, preset" if preset else agent,
                list(costs),
                list(costs.values()),
                style=(chosen[agent][0], ":") if preset else chosen[agent],
                points="too",
                hidden=preset or agent not in FIRST_SEEN,
            )
            for (agent, preset), costs in self.lines().items()
            if costs
        )
        return Chart(
            self.title, "size N", "steps until settled", series, log="xy", ticks=self.sizes
        )


Panel = RegretPanel | SizePanel


def regret_charts(panels: Sequence[Sequence[Panel]]) -> tuple[Chart, ...]:
    """What `draw_regret` draws, for a page."""
    chosen = _styles(panels)
    charts = (panel.chart(chosen) for row in panels for panel in row)
    return tuple(chart for chart in charts if chart.series)


def _styles(panels: Sequence[Sequence[Panel]]) -> dict[str, Style]:
    """Of every agent, the same in all panels."""
    agents = dict.fromkeys(
        agent for row in panels for panel in row if isinstance(panel, RegretPanel)
        for agent in panel.curves
    )  # fmt: skip
    return styles((agent, agent) for agent in agents)


def draw_regret(stem: Path, panels: Sequence[Sequence[Panel]]) -> None:
    """One row of panels per family of problems, one line per agent, the same style in all."""
    chosen = _styles(panels)
    with plt.rc_context(STYLE):
        across = max(map(len, panels))
        figure, axes = plt.subplots(
            len(panels), across, figsize=(3.7 * across, 3.3 * len(panels)), squeeze=False,
            layout="constrained",
        )  # fmt: skip
        handles: dict[str, Any] = {}
        for row, line in zip(panels, axes, strict=True):
            for panel, ax in zip(row, line, strict=True):
                if isinstance(panel, RegretPanel):
                    _draw_regret(ax, panel, chosen)
                else:
                    _draw_sizes(ax, panel, chosen)
                handles = (
                    dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True)) | handles
                )
        shown = [label for label in (*chosen, NOTHING, PRESET) if label in handles]
        figure.legend(
            [handles[label] for label in shown], shown, loc="outside right center", fontsize=8
        )
        save_figure(figure, stem)


def _draw_regret(ax: Axes, panel: RegretPanel, chosen: Mapping[str, Style]) -> None:
    low, last = math.inf, panel.last
    for agent, (x, y, width) in panel.lines().items():
        colour, dash = chosen[agent]
        ax.plot(x, y, dash, color=colour, linewidth=1.3, label=agent)
        ax.fill_between(
            x, y - width, y + width, where=y > width, color=colour, alpha=0.15, linewidth=0
        )
        low = min(low, float(y[np.isfinite(y)].min(initial=low)))
    x = np.array([min(FIRST_STEP, last / 2), last])
    ax.plot(x, x, ":", color="0.4", linewidth=1.0, label=NOTHING)
    ax.set(xscale="log", yscale="log", title=panel.title, xlabel="steps", ylabel="regret (steps)")
    ax.set_ylim(max(min(low, last) / 2.0, 1.0), last * 2.0)
    _tick(ax.xaxis, (1.0,))
    _tick(ax.yaxis, (1.0,))


def _draw_sizes(ax: Axes, panel: SizePanel, chosen: Mapping[str, Style]) -> None:
    for (agent, preset), known in panel.lines().items():
        colour, dash = chosen[agent]
        ax.plot(
            list(known), list(known.values()), dash, color=colour, marker="o", markersize=4,
            linewidth=0.7 if preset else 1.3, markerfacecolor="white" if preset else colour,
        )  # fmt: skip
    if any(preset for _, preset in panel.costs):
        ax.plot([], [], "o", color="0.4", markerfacecolor="white", markersize=4, label=PRESET)
    ax.set(xscale="log", yscale="log", title=panel.title, xlabel="size N", ylabel="steps")
    ax.set_xlim(min(panel.sizes) / 1.1, max(panel.sizes) * 1.1)
    ax.set_xticks(list(panel.sizes), [str(size) for size in panel.sizes])
    ax.xaxis.set_minor_locator(NullLocator())
    low, high = ax.get_ylim()
    _tick(ax.yaxis, (1.0,) if high > 100 * low else (1.0, 2.0, 5.0))


def _tick(axis: Axis, subs: Sequence[float]) -> None:
    axis.set_major_locator(LogLocator(subs=list(subs)))
    axis.set_major_formatter(FuncFormatter(short))
    axis.set_minor_formatter(NullFormatter())
