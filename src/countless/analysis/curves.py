"""Learning curves and distributions of returns, each agent in the same style everywhere."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from countless.analysis.plots import STYLE, save_figure, short
from countless.analysis.statistics import FEWEST_RUNS, RESAMPLES

Array = NDArray[np.float64]
Styles = Mapping[str, tuple[str, str]]  # of each label: colour and dash

# Okabe & Ito's colours, which colour-blind readers tell apart too, and three ways to draw a line.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#8C6D00")
DASHES = ("-", "--", ":")
STYLES = tuple((colour, dash) for dash in DASHES for colour in PALETTE)
LONG_LABEL = 30  # characters
BOOTSTRAP_CURVES = 200  # runs, above which the normal interval of a mean is as good

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


def line_styles(labels: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """A style for each label -> agent: no dashes where colours are enough to tell lines apart."""
    chosen = styles(labels.items())
    if len(labels) > len(PALETTE):
        return chosen
    free = list(PALETTE)
    solid = {}
    for label, (colour, _) in chosen.items():
        own = colour if colour in free else free[0]
        free.remove(own)
        solid[label] = (own, "-")
    return solid


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


def spread(y: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of the band around a mean over runs, for y (runs, points).

    From five runs on the 95% bootstrap interval of the mean; of more than 200, for which it is the
    same, the normal one. Fewer runs have no interval: the range of the runs, from two on.
    """
    mean, half = band(y)
    runs, known = len(y), np.isfinite(y)
    if runs > BOOTSTRAP_CURVES:
        return mean - half, mean + half
    several = known.sum(axis=0) > 1
    if runs < FEWEST_RUNS:
        ends = np.where(known, y, np.inf).min(axis=0), np.where(known, y, -np.inf).max(axis=0)
    else:
        drawn = np.random.default_rng(0).multinomial(runs, np.full(runs, 1 / runs), RESAMPLES)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = (drawn @ np.where(known, y, 0.0)) / (drawn @ known)
        # A resample without a run that is known here says nothing: it counts as the mean.
        low, high = np.quantile(np.where(np.isfinite(means), means, mean), (0.025, 0.975), axis=0)
        ends = low, high
    return np.where(several, ends[0], np.nan), np.where(several, ends[1], np.nan)


def plot_curves(
    curves: Mapping[str, tuple[str, Curve]],
    ax: Axes | None = None,
    chosen: Styles | None = None,
) -> Axes:
    """Mean return with the band of `spread`, one line for each label -> (agent, curve)."""
    with plt.rc_context(STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        chosen = chosen or line_styles({label: agent for label, (agent, _) in curves.items()})
        unit = "steps"
        for label, (_, curve) in curves.items():
            colour, dash = chosen[label]
            mean, _ = band(curve.y)
            low, high = spread(curve.y)
            known = np.isfinite(mean)
            x, unit = curve.x[known], curve.unit
            mark = "o" if len(x) == 1 else None  # a line of one point would not be seen
            ax.plot(x, mean[known], dash, marker=mark, color=colour, linewidth=1.4, label=label)
            # The range of a few runs is wide: paler, so that several do not hide the lines.
            alpha = 0.2 if len(curve.y) >= FEWEST_RUNS else 0.08
            ax.fill_between(x, low[known], high[known], color=colour, alpha=alpha, linewidth=0)
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


def draw_curves(
    stem: Path,
    panels: Mapping[str, Mapping[str, tuple[str, Curve]]],
    chosen: Styles | None = None,
) -> None:
    """`<stem>.png` and `<stem>.svg`: one panel per title, one curve per label -> (agent, curve)."""
    every = {label: agent for curves in panels.values() for label, (agent, _) in curves.items()}
    looks = chosen or line_styles(every)
    draw_panels(
        stem, list(panels), list(every), lambda title, ax: plot_curves(panels[title], ax, looks)
    )


def draw_panels(
    stem: Path, titles: Sequence[str], labels: Sequence[str], plot: Callable[[str, Axes], Any]
) -> None:
    """`<stem>.png` and `<stem>.svg`: one panel per title, drawn by `plot`, and one legend for all.

    The legend has those of `labels` that are drawn; every label is to look alike in all panels.
    """
    with plt.rc_context(STYLE):
        across = min(3, len(titles))
        down = math.ceil(len(titles) / across)
        figure, axes = plt.subplots(
            down, across, figsize=(4.6 * across, 3.5 * down), squeeze=False, layout="constrained"
        )
        for ax in axes.flat[len(titles) :]:
            ax.set_visible(False)
        handles: dict[str, Any] = {}
        for ax, title in zip(axes.flat, titles, strict=False):
            plot(title, ax)
            if ax.get_legend() is not None:
                ax.get_legend().remove()
            ax.set_title(title)
            handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        for row in axes:
            for ax in row[1:]:
                ax.set_ylabel("")
        shown = [label for label in labels if label in handles]
        if len(labels) > 1 and shown:
            # Beside the panels long labels would leave them no room.
            long = max(map(len, shown)) > LONG_LABEL
            figure.legend(
                [handles[label] for label in shown],
                shown,
                loc="outside lower center" if long else "outside right center",
                fontsize=8,
            )
        save_figure(figure, stem)
