"""Learning curves and distributions of returns, each agent in the same style everywhere."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from countless.analysis.plots import STYLE, save_figure, short

Array = NDArray[np.float64]

# Okabe & Ito's colours, which colour-blind readers tell apart too, and three ways to draw a line.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#8C6D00")
DASHES = ("-", "--", ":")
STYLES = tuple((colour, dash) for dash in DASHES for colour in PALETTE)
LONG_LABEL = 30  # characters

# What is often drawn together has a style of its own.
KNOWN = (
    "sarsa-sr", "essr", "rmax", "mbie", "mbie-eb", "e3", "random", "sarsa",
    "sarsa-counts", "psrl", "ucrl2", "spie", "dqn-mmc-sr", "dqn-mmc", "dqn", "dqn-counts",
    "dqn-cts", "dqn-rnd", "dqn-pixelcnn", "optimal", "sarsa-dr",
)  # fmt: skip


class Curve(Protocol):
    """Return against steps or frames: one row per run, one column per point."""

    @property
    def x(self) -> Array: ...

    @property
    def y(self) -> Array: ...

    @property
    def unit(self) -> str: ...


def styles(labels: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """A colour and a dash for each (label, agent): the agent's own, or the next that is free.

    >>> alone = styles([("R-Max", "rmax")])
    >>> styles([("SPIE", "spie"), ("R-Max", "rmax")])["R-Max"] == alone["R-Max"]
    True
    """
    chosen: dict[str, tuple[str, str]] = {}
    for label, agent in labels:
        first = KNOWN.index(agent) if agent in KNOWN else zlib.crc32(label.encode()) % len(STYLES)
        order = [STYLES[(first + i) % len(STYLES)] for i in range(len(STYLES))]
        free = [style for style in order if style not in chosen.values()]
        chosen[label] = (free or order)[0]
    return chosen


def band(y: Array) -> tuple[Array, Array]:
    """The mean over runs and the half width of its 95% interval, where runs are known."""
    known = np.isfinite(y)
    runs = known.sum(axis=0)
    filled = np.where(known, y, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=0) / runs
        squares = np.where(known, (y - mean) ** 2, 0.0).sum(axis=0)
        half = 1.96 * np.sqrt(squares / (runs - 1) / runs)
    return np.where(runs > 0, mean, np.nan), np.where(runs > 1, half, np.nan)


def plot_curves(
    curves: Mapping[str, tuple[str, Curve]],
    ax: Axes | None = None,
    chosen: Mapping[str, tuple[str, str]] | None = None,
) -> Axes:
    """Mean return with its 95% band, one line for each label -> (agent, curve)."""
    with plt.rc_context(STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        chosen = chosen or styles((label, agent) for label, (agent, _) in curves.items())
        unit = "steps"
        for label, (_, curve) in curves.items():
            colour, dash = chosen[label]
            mean, half = band(curve.y)
            known = np.isfinite(mean)
            x, unit = curve.x[known], curve.unit
            ax.plot(x, mean[known], dash, color=colour, linewidth=1.4, label=label)
            low, high = (mean - half)[known], (mean + half)[known]
            ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.set_xlabel(unit)
        ax.set_ylabel("reward so far" if unit == "steps" else "return of an episode")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(FuncFormatter(short))
        if len(curves) > 1:
            ax.legend(fontsize=8)
    return ax


def plot_distribution(returns: Mapping[str, Array], ax: Axes | None = None) -> Axes:
    """The share of runs that reach at least a return: all runs are seen, not only their mean."""
    with plt.rc_context(STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        for label, values in list(returns.items())[: len(STYLES)]:
            known = np.sort(values[np.isfinite(values)])
            share = 1.0 - np.arange(len(known)) / max(len(known), 1)
            ax.step(known, 100.0 * share, where="post", linewidth=1.4, label=label)
        ax.set_xlabel("return of a run")
        ax.set_ylabel("% of runs with at least that return")
        ax.set_ylim(0, 102)
        ax.xaxis.set_major_formatter(FuncFormatter(short))
        if len(returns) > 1:
            ax.legend(fontsize=8)
    return ax


def draw_curves(stem: Path, panels: Mapping[str, Mapping[str, tuple[str, Curve]]]) -> None:
    """`<stem>.png` and `<stem>.svg`: one panel per title, one curve per label -> (agent, curve)."""
    every = {label: agent for curves in panels.values() for label, (agent, _) in curves.items()}
    chosen = styles(every.items())
    with plt.rc_context(STYLE):
        across = min(3, len(panels))
        down = math.ceil(len(panels) / across)
        figure, axes = plt.subplots(
            down, across, figsize=(4.6 * across, 3.5 * down), squeeze=False, layout="constrained"
        )
        for ax in axes.flat[len(panels) :]:
            ax.set_visible(False)
        handles: dict[str, Any] = {}
        for ax, (title, curves) in zip(axes.flat, panels.items(), strict=False):
            # Every label has its style in all panels, whichever of them it is missing from.
            plot_curves(curves, ax, chosen)
            if ax.get_legend() is not None:
                ax.get_legend().remove()
            ax.set_title(title)
            handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        for row in axes:
            for ax in row[1:]:
                ax.set_ylabel("")
        if len(every) > 1:
            shown = [label for label in every if label in handles]
            # Beside the panels long labels would leave them no room.
            long = max(map(len, shown)) > LONG_LABEL
            figure.legend(
                [handles[label] for label in shown],
                shown,
                loc="outside lower center" if long else "outside right center",
                fontsize=8,
            )
        save_figure(figure, stem)
