"""Performance profiles: all runs of all tasks in one curve per agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from countless.analysis.curves import Styles, draw_panels
from countless.analysis.statistics import profile

LEVELS = np.linspace(0.0, 1.0, 101)


def draw_profiles(
    stem: Path, panels: Mapping[str, Mapping[str, Sequence[NDArray[Any]]]], chosen: Styles
) -> None:
    """The share of runs with at least a score, averaged over the tasks (Agarwal et al. 2021).

    One panel per title, one line per label -> scores of each task.
    """
    labels = list(dict.fromkeys(label for scores in panels.values() for label in scores))

    def plot(title: str, ax: Axes) -> None:
        for label, tasks in panels[title].items():
            colour, dash = chosen[label]
            share, low, high = (100.0 * line for line in profile(tasks, LEVELS))
            ax.plot(100.0 * LEVELS, share, color=colour, linestyle=dash, label=label)
            ax.fill_between(100.0 * LEVELS, low, high, color=colour, alpha=0.12, linewidth=0)
        ax.set(
            xlabel="success in the last 100 episodes, at least (%)",
            ylabel="runs (%)",
            xlim=(0.0, 100.0),
            ylim=(-2.0, 102.0),
        )

    draw_panels(stem, list(panels), labels, plot)
