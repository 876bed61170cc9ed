"""A bonus beside the visit counts that it stands for."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from countless.analysis.plots import COLOURS, STYLE, Array, save_figure, short

FEW_DECADES = 4  # up to which 2 and 5 are marked too


def draw_diagnosis(
    stem: Path,
    layout: NDArray[np.int64],
    visits: NDArray[np.int64],
    bonus: Array,
    title: str,
    correlation: float,
    outside: str = "walls",
) -> None:
    """Visits and bonus as maps of the states (`layout`, -1: `outside`), and one against the other."""
    with plt.rc_context(STYLE | {"axes.grid": False}):
        figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.4))
        _draw_map(figure, axes[0], layout, visits.astype(np.float64), "visits", outside)
        _draw_map(figure, axes[1], layout, bonus, "bonus", outside)
        _draw_scatter(axes[2], visits, bonus, correlation)
        figure.suptitle(title)
        figure.tight_layout()
        save_figure(figure, stem)


def _draw_map(
    figure: Figure,
    ax: Axes,
    layout: NDArray[np.int64],
    values: Array,
    label: str,
    outside: str,
) -> None:
    cells = np.where(layout < 0, np.nan, values[np.maximum(layout, 0)])
    walls = np.where(layout < 0, 1.0, np.nan)
    ax.imshow(walls, cmap="gray", vmin=0.0, vmax=2.5)
    positive = cells[np.isfinite(cells) & (cells > 0)]
    spread = len(positive) > 0 and positive.max() > 10 * positive.min()
    norm: Any = LogNorm(positive.min(), positive.max()) if spread else None
    shown = np.ma.masked_invalid(np.where(cells > 0, cells, np.nan) if spread else cells)
    image = ax.imshow(shown, cmap="viridis", norm=norm)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    marks = [*([f"grey: {outside}"] if (layout < 0).any() else [])]
    marks += ["white: none"] if spread and not (values > 0).all() else []
    ax.set_title(f"{label} ({', '.join(marks)})" if marks else label)
    bar = figure.colorbar(
        image, ax=ax, label=f"{label} of a state{', log scale' if spread else ''}"
    )
    if spread:
        ticks = round_ticks(float(positive.min()), float(positive.max()))
        bar.set_ticks(ticks, labels=[short(tick) for tick in ticks])
        bar.ax.minorticks_off()


def round_ticks(low: float, high: float) -> list[float]:
    """Round numbers on a logarithmic scale from `low` to `high`: 1, 2 and 5, or powers of ten.

    >>> round_ticks(3.2, 480.0), round_ticks(0.7, 2e5)
    ([5.0, 10.0, 20.0, 50.0, 100.0, 200.0], [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0])
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    parts = (1, 2, 5) if len(decades) <= FEW_DECADES else (1,)
    every = [float(f"{part}e{decade}") for decade in decades for part in parts]
    return [tick for tick in every if low <= tick <= high]


def _draw_scatter(ax: Axes, visits: NDArray[np.int64], bonus: Array, correlation: float) -> None:
    seen = visits > 0
    positive = bonus[bonus > 0]
    none = int((bonus[seen] <= 0).sum())
    ax.plot(visits[seen], bonus[seen], ".", color=COLOURS[0], markersize=5, label="a state")
    if (bonus[seen] > 0).any():
        # beta / sqrt(n) through the middle of the cloud: what counts would give.
        n = np.geomspace(visits[seen].min(), visits[seen].max(), 50)
        paid = seen & (bonus > 0)
        scale = np.median(bonus[paid] * np.sqrt(visits[paid]))
        ax.plot(
            n, scale / np.sqrt(n), "--", color="0.4", linewidth=1, label=r"$\propto 1/\sqrt{n}$"
        )
        ax.set_xscale("log")
        if positive.max() > 3 * positive.min():
            ax.set_yscale("log")
    ax.grid(True)
    ax.set_xlabel("visits n")
    ax.set_ylabel("bonus")
    ax.set_title(f"rank correlation with rarity {correlation:.2f}")
    if none:
        ax.text(0.03, 0.04, f"bonus 0 in {none} states", transform=ax.transAxes, fontsize=8)
    ax.legend(fontsize=8)
