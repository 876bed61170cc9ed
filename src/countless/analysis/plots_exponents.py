"""The growth of a norm over the plane of two parameters, and returns against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter

from countless.analysis.charts import GREY, Chart, Series
from countless.analysis.plots import COLOURS, STYLE, Array, save_figure, short

LEAST, MOST = 0.0, 1.2  # of the colours


@dataclass(frozen=True)
class Plane:
    """Values over two parameters, (y, x); NaN where there is none."""

    title: str
    values: Array
    half: Array  # of the intervals

    def chart(self, etas: Sequence[float], gammas: Sequence[float]) -> Chart:
        """A line over the step size for each discount, and the exponents 0.5 and 1."""
        series = [
            Series(f"γ_SR = {gamma:g}", etas, y, y - half, y + half, (colour, "-"), points="too")
            for gamma, colour, y, half in zip(gammas, COLOURS, self.values, self.half, strict=False)
            if np.isfinite(y).any()
        ]
        ends = (etas[0], etas[-1])
        series += [
            Series(f"{words} (a = {a:g})", ends, (a, a), style=(GREY, ":" if a < 1.0 else "--"))
            for words, a in (("1/√n", 0.5), ("1/n", 1.0))
        ]
        x, y = "step size η of the SR", "exponent a of n"
        return Chart(self.title, x, y, tuple(series), log="x")


def draw_planes(
    stem: Path, rows: Sequence[Sequence[Plane]], etas: Sequence[float], gammas: Sequence[float]
) -> None:
    """The exponent over step size and discount, one panel per domain and decade of visits."""
    with plt.rc_context(STYLE | {"axes.grid": False}):
        figure, axes = plt.subplots(
            len(rows), len(rows[0]), figsize=(4.1 * len(rows[0]), 2.6 * len(rows)), squeeze=False,
            sharex=True, sharey=True, layout="constrained",
        )  # fmt: skip
        for panels, row in zip(axes, rows, strict=True):
            for ax, plane in zip(panels, row, strict=True):
                image = ax.imshow(
                    np.ma.masked_invalid(plane.values), origin="lower", aspect="auto",
                    vmin=LEAST, vmax=MOST, cmap="viridis",
                )  # fmt: skip
                for (y, x), value in np.ndenumerate(plane.values):
                    if np.isfinite(value):
                        ink = "black" if value > 0.6 * MOST else "white"
                        text = f"{value:.2f}".replace("-0.00", "0.00")
                        ax.text(x, y, text, ha="center", va="center", fontsize=6.5, color=ink)
                ax.set_title(plane.title)
            panels[0].set_ylabel("discount of the SR, $\\gamma_{SR}$")
        for ax in axes[-1]:
            ax.set_xlabel("step size of the SR, η")
            ax.set_xticks(range(len(etas)), [f"{eta:g}" for eta in etas], rotation=45)
            ax.set_yticks(range(len(gammas)), [f"{gamma:g}" for gamma in gammas])
        bar = figure.colorbar(image, ax=axes, label="exponent of n", aspect=30)
        bar.set_ticks([0.0, 0.5, 1.0])
        save_figure(figure, stem)


@dataclass(frozen=True)
class Scatter:
    """Points over x, under several names."""

    title: str
    x: Array
    y: Mapping[str, Array]

    def chart(self) -> Chart:
        """For a page."""
        known = np.isfinite(self.x)
        series = tuple(
            Series(label, self.x[known], y[known], style=(colour, "-"), points="only")
            for colour, (label, y) in zip((COLOURS[0], COLOURS[4]), self.y.items(), strict=True)
        )
        return Chart(self.title, "exponent a of n", "mean return", series)


def draw_scatters(stem: Path, rows: Sequence[Sequence[Scatter]]) -> None:
    """Mean return against the exponent, one panel per domain and decade of visits."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(rows), len(rows[0]), figsize=(3.5 * len(rows[0]), 2.7 * len(rows)), squeeze=False,
            sharey="row", layout="constrained",
        )  # fmt: skip
        for panels, row in zip(axes, rows, strict=True):
            for ax, scatter in zip(panels, row, strict=True):
                for colour, mark, (label, y) in zip(
                    (COLOURS[0], COLOURS[4]), "ox", scatter.y.items(), strict=True
                ):
                    ax.plot(scatter.x, y, mark, color=colour, markersize=4, alpha=0.8, label=label)
                for law in (0.5, 1.0):
                    ax.axvline(law, color="0.6", linewidth=1, linestyle=":")
                ax.set(title=scatter.title, ylim=(0, None))
                ax.yaxis.set_major_formatter(FuncFormatter(short))
            panels[0].set_ylabel("mean return")
        for ax in axes[-1]:
            ax.set_xlabel("exponent of n")
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncol=2)
        save_figure(figure, stem)
