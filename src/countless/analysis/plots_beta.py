"""What an agent is rewarded, against the size of its bonus."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from countless.analysis.charts import GREY
from countless.analysis.curves import band, spread, styles
from countless.analysis.plots import STYLE, save_figure, short

Values = NDArray[Any]  # of each seed, or (seeds, betas)


def draw_beta(
    stem: Path, betas: Values, panels: Mapping[str, tuple[Values, Mapping[str, Values]]]
) -> None:
    """One panel per task: a line for each bonus, and the agent without one as a level."""
    looks = styles((name, name) for _, paid in panels.values() for name in paid)
    with plt.rc_context(STYLE):
        figure, row = plt.subplots(
            1,
            len(panels),
            figsize=(3.1 * len(panels) + 0.4, 2.9),
            squeeze=False,
            layout="constrained",
        )
        for ax, (title, (alone, paid)) in zip(row[0], panels.items(), strict=True):
            if np.isfinite(alone).any():
                ax.axhline(float(np.nanmean(alone)), color=GREY, linestyle="--", label="PPO alone")
            for name, values in paid.items():
                colour, _ = looks[name]
                mean, _ = band(values)
                low, high = spread(values)
                ax.plot(betas, mean, color=colour, marker="o", markersize=3.5,
                        label=f"with {name}")  # fmt: skip
                ax.fill_between(betas, low, high, color=colour, alpha=0.15, linewidth=0)
            ax.set(title=title, xlabel="β", xscale="log")
            ax.set_ylim(0, 1.1 * ax.dataLim.y1)
            ax.set_xticks(betas, [short(float(beta)) for beta in betas])
            ax.minorticks_off()
        row[0][0].set_ylabel("reward of the task")
        row[0][0].legend(fontsize=8)
        save_figure(figure, stem)
