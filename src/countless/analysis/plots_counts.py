"""The figure of counts that are read off norms: how far off they are, and when decisions change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, PercentFormatter

from countless.analysis.charts import Chart, Series
from countless.analysis.curves import STYLES
from countless.analysis.plots import STYLE, Array, save_figure, short


@dataclass(frozen=True)
class CountErrors:
    """At some steps: the mean relative error of the counts, and the share of runs that have parted."""

    steps: Array
    error: Array
    parted: Array


def count_error_charts(panels: Mapping[str, Mapping[str, CountErrors]]) -> tuple[Chart, ...]:
    """What `draw_count_errors` draws, for a page: errors first, then the runs that have parted."""
    labels = list(dict.fromkeys(label for lines in panels.values() for label in lines))
    kinds = {
        "error": ("errors", "mean error of the count (%)"),
        "parted": ("other actions", "runs that have parted (%)"),
    }
    return tuple(
        Chart(
            f"{title}: {what}",
            "steps",
            y,
            tuple(
                Series(
                    label,
                    line.steps,
                    100.0 * getattr(line, kind),
                    style=STYLES[labels.index(label)],
                )
                for label, line in lines.items()
            ),
            log="x",
        )
        for kind, (what, y) in kinds.items()
        for title, lines in panels.items()
    )


def draw_count_errors(stem: Path, panels: Mapping[str, Mapping[str, CountErrors]]) -> None:
    """One column per title: errors above, runs that have parted below; one line per label."""
    labels = list(dict.fromkeys(label for lines in panels.values() for label in lines))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            2, len(panels), figsize=(3.4 * len(panels), 5.2), squeeze=False,
            sharex=True, sharey=True, layout="constrained",
        )  # fmt: skip
        for column, (title, lines) in enumerate(panels.items()):
            for label, line in lines.items():
                colour, _ = STYLES[labels.index(label)]
                for ax, y in zip(axes[:, column], (line.error, line.parted), strict=True):
                    ax.plot(line.steps, y, color=colour, linewidth=1.5, label=label)
            axes[0, column].set_title(title)
            axes[1, column].set_xlabel("steps")
        for ax in axes.flat:
            ax.set_xscale("log")
            ax.set_ylim(-0.03, 1.03)
            ax.xaxis.set_major_formatter(FuncFormatter(short))
            ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes[0, 0].set_ylabel("mean error of the count")
        axes[1, 0].set_ylabel("runs that have taken\nanother action")
        handles, shown = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, shown, loc="outside lower center", ncols=4)
        save_figure(figure, stem)
