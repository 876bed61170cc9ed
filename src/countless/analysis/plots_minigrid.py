"""Performance profiles: all runs of all tasks in one curve per agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from countless.analysis.curves import line_styles
from countless.analysis.plots import STYLE, save_figure
from countless.analysis.statistics import profile

LEVELS = np.linspace(0.0, 1.0, 101)


def draw_profiles(stem: Path, scores: Mapping[str, Sequence[NDArray[Any]]]) -> None:
    """The share of runs with at least a score, averaged over the tasks (Agarwal et al. 2021)."""
    looks = line_styles({label: label for label in scores})
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots(figsize=(6.4, 3.8))
        for label, tasks in scores.items():
            colour, dash = looks[label]
            share, low, high = (100.0 * line for line in profile(tasks, LEVELS))
            ax.plot(100.0 * LEVELS, share, color=colour, linestyle=dash, label=label)
            ax.fill_between(100.0 * LEVELS, low, high, color=colour, alpha=0.12, linewidth=0)
        ax.set(
            xlabel="success in the last 100 episodes, at least (%)",
            ylabel="runs (%)",
            xlim=(0.0, 100.0),
            ylim=(-2.0, 102.0),
        )
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=8)
        save_figure(figure, stem)
