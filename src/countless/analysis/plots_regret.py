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

from countless.analysis.curves import styles
from countless.analysis.plots import STYLE, save_figure, short

Array = NDArray[np.float64]
Style = tuple[str, str]  # a colour and a dash
FIRST_STEP = 100.0
NOTHING, PRESET = "nothing collected", "hollow: preset"


@dataclass(frozen=True)
class RegretPanel:
    """agent -> (steps, mean regret, half of its interval); NaN where there is nothing to draw."""

    title: str
    curves: Mapping[str, tuple[Array, Array, Array]]


@dataclass(frozen=True)
class SizePanel:
    """(agent, whether with its preset) -> cost by size; infinite where it is not known."""

    title: str
    costs: Mapping[tuple[str, bool], Mapping[int, float]]
    sizes: Sequence[int]


def draw_regret(stem: Path, panels: Sequence[Sequence[RegretPanel | SizePanel]]) -> None:
    """One row of panels per family of problems, one line per agent, the same style in all."""
    agents = dict.fromkeys(
        agent for row in panels for panel in row if isinstance(panel, RegretPanel)
        for agent in panel.curves
    )  # fmt: skip
    chosen = styles((agent, agent) for agent in agents)
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
        shown = [label for label in (*agents, NOTHING, PRESET) if label in handles]
        figure.legend(
            [handles[label] for label in shown], shown, loc="outside right center", fontsize=8
        )
        save_figure(figure, stem)


def _draw_regret(ax: Axes, panel: RegretPanel, chosen: Mapping[str, Style]) -> None:
    low, last = math.inf, FIRST_STEP
    for agent, (steps, mean, half) in panel.curves.items():
        colour, dash = chosen[agent]
        last = max(last, float(steps[-1]))
        late = steps >= min(FIRST_STEP, steps[-1] / 2)
        width = np.nan_to_num(half[late])
        x, y = steps[late], mean[late]
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
    for (agent, preset), costs in panel.costs.items():
        colour, dash = chosen[agent]
        known = {size: cost for size, cost in costs.items() if math.isfinite(cost)}
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
