"""A bonus beside the visit counts that it stands for."""

from __future__ import annotations

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


def draw_diagnosis(
    stem: Path,
    layout: NDArray[np.int64],
    visits: NDArray[np.int64],
    bonus: Array,
    title: str,
    correlation: float,
) -> None:
    """Visits and bonus as maps of the states (`layout`, -1: no state), and one against the other."""
    with plt.rc_context(STYLE | {"axes.grid": False}):
        figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.4))
        _draw_map(figure, axes[0], layout, visits.astype(np.float64), "visits")
        _draw_map(figure, axes[1], layout, bonus, "bonus")
        _draw_scatter(axes[2], visits, bonus, correlation)
        figure.suptitle(title)
        figure.tight_layout()
        save_figure(figure, stem)


def _draw_map(
    figure: Figure, ax: Axes, layout: NDArray[np.int64], values: Array, label: str
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
    ax.set_title(label if not spread or (values > 0).all() else f"{label} (white: none)")
    bar = figure.colorbar(image, ax=ax)
    if spread:
        ticks = np.geomspace(positive.min(), positive.max(), 4)
        bar.set_ticks(list(ticks), labels=[short(tick) for tick in ticks])
        bar.ax.minorticks_off()


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
