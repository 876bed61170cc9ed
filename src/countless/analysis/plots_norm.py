"""The norm of a learned SR beside the visits that it stands for, while an agent learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from countless.analysis.charts import GREY, MARK_COLOURS, Chart, Series
from countless.analysis.plots import STYLE, Array, save_figure, short

TIMES = ("#56B4E9", "#0072B2", "#000000")  # early, halfway, at the end
FEWEST_TICKS = 3


@dataclass(frozen=True)
class Correlations:
    """Rank correlations (seeds, times) at some steps; NaN where there was none."""

    step: NDArray[np.int64]
    y: Array

    def lines(self) -> tuple[NDArray[np.int64], Array, Array, Array]:
        """Where some seed is known: the steps, the mean of the seeds, the least and the largest."""
        known = np.isfinite(self.y).any(axis=0)
        y = self.y[:, known]
        mean, low, high = (of(y, axis=0) for of in (np.nanmean, np.nanmin, np.nanmax))
        return self.step[known], mean, low, high


def _colour(i: int) -> str:
    return MARK_COLOURS[i % len(MARK_COLOURS)]


def correlation_charts(
    panels: Mapping[str, Mapping[str, Correlations]], wanted: float
) -> tuple[Chart, ...]:
    """What `draw_correlations` draws, for a page."""
    charts = []
    for title, lines in panels.items():
        series = [
            Series(label, *one.lines(), (_colour(i), "-"), points="too")
            for i, (label, one) in enumerate(lines.items())
        ]
        ends = [0, max(float(one.step[-1]) for one in lines.values())]
        series.append(Series(f"wanted: {wanted:g}", ends, [wanted] * 2, style=(GREY, "--")))
        charts.append(Chart(title, "steps", "rank correlation", tuple(series)))
    return tuple(charts)


def draw_correlations(
    stem: Path, panels: Mapping[str, Mapping[str, Correlations]], wanted: float
) -> None:
    """Rank correlation against steps: a line through the means of the seeds, and their range."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, len(panels), figsize=(3.6 * len(panels) + 0.6, 3.4), sharey=True, squeeze=False,
            layout="constrained",
        )  # fmt: skip
        handles: dict[str, Any] = {}
        for ax, (title, lines) in zip(axes[0], panels.items(), strict=True):
            for i, (label, one) in enumerate(lines.items()):
                x, mean, low, high = one.lines()
                colour = _colour(i)
                (handles[label],) = ax.plot(x, mean, ".-", color=colour)
                ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
            handles[f"wanted: {wanted:g}"] = ax.axhline(wanted, color="0.4", ls="--", lw=1)
            ax.axhline(0.0, color="0.7", linewidth=1)
            ax.set(title=title, xlabel="steps", ylim=(-1.05, 1.05), xlim=(0, None))
            ax.xaxis.set_major_formatter(FuncFormatter(short))
        axes[0][0].set_ylabel("rank correlation of norm and visits")
        figure.legend(list(handles.values()), list(handles), loc="outside right center", fontsize=8)
        save_figure(figure, stem)


@dataclass(frozen=True)
class Cloud:
    """The visits and the norm of each state at one time."""

    step: int
    visits: NDArray[np.int64]
    norm: Array


def cloud_charts(rows: Mapping[str, Mapping[str, Sequence[Cloud]]]) -> tuple[Chart, ...]:
    """What `draw_clouds` draws, for a page."""
    return tuple(
        Chart(
            f"{env}, {label}",
            "visits",
            "norm of the SR",
            tuple(
                Series(
                    f"after {cloud.step:,} steps",
                    cloud.visits[cloud.visits > 0],
                    cloud.norm[cloud.visits > 0],
                    style=(colour, "-"),
                    points="only",
                )
                for colour, cloud in zip(TIMES, clouds, strict=False)
            ),
            log="xy",
        )
        for env, row in rows.items()
        for label, clouds in row.items()
    )


def draw_clouds(stem: Path, rows: Mapping[str, Mapping[str, Sequence[Cloud]]]) -> None:
    """Norm against visits, both in logarithms: a row per environment, a column per setting."""
    columns = max(len(row) for row in rows.values())
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(rows), columns, figsize=(3.6 * columns, 2.9 * len(rows)), squeeze=False,
            sharex="row", sharey="row", layout="constrained",
        )  # fmt: skip
        for panels, (env, row) in zip(axes, rows.items(), strict=True):
            for ax, (label, clouds) in zip(panels, row.items(), strict=True):
                for colour, cloud in zip(TIMES, clouds, strict=False):
                    seen = cloud.visits > 0
                    ax.plot(
                        cloud.visits[seen], cloud.norm[seen], ".", color=colour, markersize=5,
                        alpha=0.75, label=f"after {cloud.step:,} steps",
                    )  # fmt: skip
                ax.set(title=f"{env}, {label}", xlabel="visits", xscale="log", yscale="log")
                for axis in (ax.xaxis, ax.yaxis):
                    axis.set_major_formatter(FuncFormatter(short))
                    axis.set_minor_formatter(NullFormatter())
            panels[0].set_ylabel("norm of the SR")
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), fontsize=8)
        save_figure(figure, stem)


@dataclass(frozen=True)
class MapRow:
    """One quantity over the maze at several times; NaN where a cell has none."""

    label: str
    cells: Sequence[Array]
    logarithmic: bool = False


def draw_maps(
    stem: Path,
    walls: NDArray[np.bool_],
    titles: Sequence[str],
    rows: Sequence[MapRow],
    shared: str = "",
) -> None:
    """Maps of a maze, one column per time; each row has one colour bar, named in words.

    Where `shared` says what all rows show, they have one colour bar and one scale, and their labels
    stand beside them.
    """
    one = MapRow(shared, [cells for row in rows for cells in row.cells], rows[0].logarithmic)
    with plt.rc_context(STYLE | {"axes.grid": False}):
        figure, axes = plt.subplots(
            len(rows), len(titles), figsize=(1.9 * len(titles) + 1.2, 1.95 * len(rows)),
            squeeze=False, layout="constrained",
        )  # fmt: skip
        for panels, row in zip(axes, rows, strict=True):
            scale = _scale(one if shared else row)
            for ax, cells in zip(panels, row.cells, strict=True):
                ax.imshow(np.where(walls, 1.0, np.nan), cmap="gray", vmin=0.0, vmax=2.5)
                image = ax.imshow(np.ma.masked_invalid(cells), cmap="viridis", norm=scale)
                ax.set_xticks([])
                ax.set_yticks([])
                for spine in ax.spines.values():
                    spine.set(visible=True, color="0.6")
            if shared:
                panels[0].set_ylabel(row.label)
            else:
                _colour_bar(figure, image, list(panels), row, 12)
        if shared:
            _colour_bar(figure, image, list(axes.flat), one, 30)
        for ax, title in zip(axes[0], titles, strict=True):
            ax.set_title(title)
        save_figure(figure, stem)


def _colour_bar(figure: Figure, image: Any, places: list[Any], row: MapRow, aspect: int) -> None:
    bar = figure.colorbar(image, ax=places, label=row.label, aspect=aspect)
    low, high = float(image.norm.vmin or 0.0), float(image.norm.vmax or 1.0)
    ticks = _round_values(low, high, row.logarithmic)
    bar.set_ticks(ticks, labels=[short(tick) for tick in ticks])
    bar.ax.minorticks_off()


def _scale(row: MapRow) -> Normalize:
    """The colours of a row: from its smallest to its largest value at any time."""
    values = np.concatenate([cells[np.isfinite(cells)] for cells in row.cells])
    if row.logarithmic:
        values = values[values > 0]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.5, 1.0)
    if low == high:
        high = low + 1.0
    return LogNorm(low, high) if row.logarithmic else Normalize(low, high)


def _round_values(low: float, high: float, logarithmic: bool) -> list[float]:
    """A few round numbers between two others."""
    if not logarithmic:
        ticks = MaxNLocator(5).tick_values(low, high)
        return [float(tick) for tick in ticks if low <= tick <= high]
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5), tuple(range(1, 10))):
        within = [float(d * p) for p in powers for d in digits if low <= d * p <= high]
        if len(within) >= FEWEST_TICKS:
            return within
    return [low, high]
