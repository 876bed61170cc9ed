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
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from countless.analysis.curves import styles
from countless.analysis.plots import STYLE, save_figure, short

Array = NDArray[np.float64]
FIRST_STEP = 100.0


@dataclass(frozen=True)
class RegretPanel:
    """label -> (agent, steps, mean regret, half of its interval), and the best average reward."""

    title: str
    curves: Mapping[str, tuple[str, Array, Array, Array]]
    gain: float


@dataclass(frozen=True)
class SizePanel:
    """label -> (agent, size -> cost); infinite where it is not known."""

    title: str
    costs: Mapping[str, tuple[str, Mapping[int, float]]]
    sizes: Sequence[int]


def draw_regret(stem: Path, panels: Sequence[Sequence[RegretPanel | SizePanel]]) -> None:
    """One row of panels per family of problems, one line per label, the same style in all."""
    every: dict[str, str] = {}
    for row in panels:
        for panel in row:
            own = panel.curves if isinstance(panel, RegretPanel) else panel.costs
            every |= {label: values[0] for label, values in own.items()}
    chosen = styles(every.items())
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
                handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        shown = [label for label in (*every, "nothing collected") if label in handles]
        figure.legend(
            [handles[label] for label in shown], shown, loc="outside right center", fontsize=8
        )
        save_figure(figure, stem)


def _draw_regret(
    ax: Axes, panel: RegretPanel, chosen: Mapping[str, tuple[str, str]]
) -> None:
    low, high = math.inf, 0.0
    for label, (_, steps, mean, half) in panel.curves.items():
        colour, dash = chosen[label]
        shown = (steps >= FIRST_STEP) & (mean > 0)
        x, y, width = steps[shown], mean[shown], np.nan_to_num(half[shown])
        ax.plot(x, y, dash, color=colour, linewidth=1.3, label=label)
        floor = np.maximum(y - width, y / 100.0)
        ax.fill_between(x, floor, y + width, color=colour, alpha=0.15, linewidth=0)
        low, high = min(low, float(y.min(initial=low))), max(high, float(steps[-1]))
    x = np.array([min(FIRST_STEP, high / 2), high])
    ax.plot(x, panel.gain * x, ":", color="0.4", linewidth=1.0, label="nothing collected")
    ax.set(xscale="log", yscale="log", title=panel.title, xlabel="steps", ylabel="regret (reward)")
    if math.isfinite(low):
        ax.set_ylim(low / 1.5, panel.gain * high * 2.0)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(short))
        axis.set_minor_formatter(NullFormatter())


def _draw_sizes(ax: Axes, panel: SizePanel, chosen: Mapping[str, tuple[str, str]]) -> None:
    for label, (_, costs) in panel.costs.items():
        colour, dash = chosen[label]
        known = {size: cost for size, cost in costs.items() if math.isfinite(cost)}
        ax.plot(
            list(known), list(known.values()), dash, color=colour, linewidth=1.3, marker="o",
            markersize=3.5, label=label,
        )  # fmt: skip
    ax.set(xscale="log", yscale="log", title=panel.title, xlabel="size N", ylabel="steps")
    ax.set_xlim(min(panel.sizes) / 1.1, max(panel.sizes) * 1.1)
    ax.set_xticks(list(panel.sizes), [str(size) for size in panel.sizes])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(FuncFormatter(short))
