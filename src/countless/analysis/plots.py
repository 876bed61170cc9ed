"""The figures. Each takes arrays and writes `<stem>.png` and `<stem>.svg`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from countless.core.durable import atomic_path

Array = NDArray[np.float64]

STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.92",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "countless",
    "svg.fonttype": "path",
}
# Okabe & Ito: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7")


def save_figure(figure: Figure, stem: Path) -> None:
    """`<stem>.png` and `<stem>.svg`, and the figure is closed."""
    for suffix in ("png", "svg"):
        with atomic_path(stem.with_name(f"{stem.name}.{suffix}")) as path:
            metadata = {"Date": None} if suffix == "svg" else None
            figure.savefig(path, format=suffix, dpi=160, bbox_inches="tight", metadata=metadata)
    plt.close(figure)


def short(value: float, _position: object = None) -> str:
    """A tick label: 1.2M, 250k, 40."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


@dataclass(frozen=True)
class NormCurve:
    """The mean norm after so many visits, the half width of its 95% CI, and the runs behind it."""

    x: Array
    y: Array
    half: Array
    runs: Array

    @staticmethod
    def columns() -> tuple[str, ...]:
        """The columns of a record that make a curve of norms, in the order of the fields."""
        return ("visits", "norm", "half_ci95", "runs")


def draw_norms(stem: Path, panels: Mapping[str, Sequence[NormCurve]], c1: float, c2: float) -> None:
    """Norm of the SR against visits: one panel per source of runs, one curve per state."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(panels), figsize=(9.5, 3.8), sharey=True, sharex=True)
        widest = 1.0
        for ax, (title, curves) in zip(np.atleast_1d(axes), panels.items(), strict=True):
            for s, curve in enumerate(curves):
                shown = curve.runs >= max(curve.runs.max() / 2, 2)
                x, y, half = curve.x[shown], curve.y[shown], curve.half[shown]
                widest = max(widest, float(x.max(initial=1)))
                ax.plot(x, y, color=COLOURS[s], label=f"state {s}", linewidth=1.5)
                ax.fill_between(x, y - half, y + half, color=COLOURS[s], alpha=0.25, linewidth=0)
            ax.set_title(title)
            ax.set_xlabel("visits n")
        top = max(float(c.y[c.runs >= c.runs.max() / 2].max()) for p in panels.values() for c in p)
        for ax in np.atleast_1d(axes):
            n = np.linspace(0, widest, 200)
            ax.plot(
                n,
                c1 * np.sqrt(n),
                "--",
                color="0.35",
                linewidth=1,
                label=f"$f_1 = {c1}\\sqrt{{n}}$",
            )
            ax.plot(n, c2 * n, ":", color="0.35", linewidth=1.2, label=f"$f_2 = {c2}\\,n$")
            ax.set_xlim(0, widest)
            ax.set_ylim(0, 1.08 * top)
        first = np.atleast_1d(axes)[0]
        first.set_ylabel(r"norm of the SR, $\|\hat\Psi(s)\|_1$")
        handles, labels = first.get_legend_handles_labels()
        figure.legend(handles, labels, loc="center left", bbox_to_anchor=(0.98, 0.5))
        figure.tight_layout()
        save_figure(figure, stem)


@dataclass(frozen=True)
class Axis:
    """One parameter: its levels, the returns of all settings at each, and of the published one."""

    label: str
    levels: Array
    returns: list[Array]
    alone: Array
    published: float


@dataclass(frozen=True)
class Sensitivity:
    """A row of panels: one domain, one panel per parameter."""

    label: str
    axes: list[Axis]


def draw_sensitivity(stem: Path, rows: Sequence[Sensitivity]) -> None:
    """Mean return against each parameter."""
    with plt.rc_context(STYLE):
        columns = max(len(row.axes) for row in rows)
        figure, grid = plt.subplots(
            len(rows),
            columns,
            figsize=(2.1 * columns, 2.2 * len(rows)),
            sharey="row",
            squeeze=False,
        )
        for row, panels in zip(rows, grid, strict=True):
            for axis, ax in zip(row.axes, panels, strict=True):
                _draw_axis(ax, axis)
            panels[0].set_ylabel(f"{row.label}\nmean return")
        for ax, axis in zip(grid[-1], rows[-1].axes, strict=True):
            ax.set_xlabel(axis.label)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="upper center", ncol=5, bbox_to_anchor=(0.5, 1.06), fontsize=8
        )
        figure.tight_layout()
        save_figure(figure, stem)


def _draw_axis(ax: Axes, axis: Axis) -> None:
    x = np.arange(len(axis.levels))
    low, middle, high = (
        np.array([np.quantile(values, q) for values in axis.returns]) for q in (0.25, 0.5, 0.75)
    )
    ax.fill_between(x, low, high, color="0.85", linewidth=0, label="middle half of all settings")
    ax.plot(x, middle, color="0.45", linewidth=1.2, label="their median")
    ax.plot(
        x, [values.max() for values in axis.returns], "o-", color=COLOURS[0], markersize=3,
        linewidth=1.2, label="the best",
    )  # fmt: skip
    ax.plot(x, axis.alone, "-", color=COLOURS[4], linewidth=1.2, label="others as published")
    at = int(np.argmin(np.abs(axis.levels - axis.published)))
    ax.plot(
        x[at], axis.alone[at], "o", color=COLOURS[4], markersize=6, clip_on=False,
        label="the published setting",
    )  # fmt: skip
    ax.set_xticks(x, [short(level) for level in axis.levels])
    ax.yaxis.set_major_formatter(FuncFormatter(short))
    ax.set_ylim(bottom=0)


def draw_heatmaps(stem: Path, panels: Mapping[str, Mapping[str, Any]]) -> None:
    """Mean return over two parameters, one panel per domain."""
    with plt.rc_context(STYLE | {"axes.grid": False}):
        figure, axes = plt.subplots(1, len(panels), figsize=(4.9 * len(panels), 3.2), squeeze=False)
        for ax, (title, panel) in zip(axes[0], panels.items(), strict=True):
            x, y, values = panel["x"], panel["y"], panel["values"]
            dx, dy = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
            image = ax.imshow(
                values,
                origin="lower",
                aspect="auto",
                extent=(x[0] - dx, x[-1] + dx, y[0] - dy, y[-1] + dy),
                norm=LogNorm(),
                cmap="viridis",
            )
            ax.plot(
                *panel["published"],
                "o",
                markerfacecolor="none",
                color="red",
                markersize=9,
                clip_on=False,
            )
            ax.plot(*panel["best"], "x", color="red", markersize=7, clip_on=False)
            ax.set_title(title)
            ax.set_xlabel("α")
            ax.set_ylabel("ε")
            low, high = float(values.min()), float(values.max())
            bar = figure.colorbar(image, ax=ax, label="mean return")
            ticks = np.geomspace(low, high, 5)
            bar.set_ticks(list(ticks), labels=[short(tick) for tick in ticks])
            bar.ax.minorticks_off()
        figure.tight_layout()
        save_figure(figure, stem)


def draw_bounds(stem: Path, panels: Mapping[float, Mapping[str, Array]]) -> None:
    """Theorem 1: the gap of the norm against gamma / (n + 1), one panel per discount."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(panels), figsize=(3.4 * len(panels), 3.3))
        for ax, (gamma, data) in zip(np.atleast_1d(axes), panels.items(), strict=True):
            x = np.geomspace(data["upper"].min(), gamma, 200)
            ax.plot(data["upper"], data["gap"], ".", color=COLOURS[0], markersize=3,
                    alpha=0.5, label="a state")  # fmt: skip
            ax.plot(x, x, color=COLOURS[4], linewidth=1.4, label="upper bound")
            lower = x - gamma**2 / (1 - gamma)
            ax.plot(x, lower, "--", color=COLOURS[4], linewidth=1.4, label="lower bound")
            ax.set_xscale("log")
            ax.set_title(f"$\\gamma$ = {gamma:g}")
            ax.set_xlabel(r"$\gamma/(n+1)$")
        np.atleast_1d(axes)[0].set_ylabel(r"$(1+\gamma) - \|\tilde\Psi(s)\|_1$")
        np.atleast_1d(axes)[0].legend(loc="upper left", fontsize=8)
        figure.tight_layout()
        save_figure(figure, stem)
