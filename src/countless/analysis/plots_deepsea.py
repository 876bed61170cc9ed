"""Episodes to success against the size of DeepSea."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from countless.analysis.plots import COLOURS, STYLE, save_figure

MARKERS = "osD^v<>PX*"
# size -> the episode of each seed that succeeded, and how many seeds there were
Points = Mapping[int, tuple[Sequence[int], int]]


def draw_episodes(
    stem: Path, panels: Mapping[str, Mapping[str, Points]], sizes: Sequence[int], most: int
) -> None:
    """One panel for each kind of success, one line per agent through the medians of its seeds.

    Hollow where not all seeds succeeded; nothing where none did.
    """
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(panels), figsize=(9.5, 3.8), sharey=True, squeeze=False)
        for ax, (title, agents) in zip(axes[0], panels.items(), strict=True):
            for i, (label, points) in enumerate(agents.items()):
                colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
                known = {n: one for n, one in points.items() if one[0]}
                x = [n + 0.12 * (i - (len(agents) - 1) / 2) for n in known]
                y = [float(np.median(episodes)) for episodes, _ in known.values()]
                ax.plot(x, y, color=colour, linewidth=1.2, label=label)
                for at, height, (episodes, seeds) in zip(x, y, known.values(), strict=True):
                    whole = len(episodes) == seeds
                    ax.plot(
                        at, height, marker=marker, color=colour, linestyle="",
                        markerfacecolor=colour if whole else "white",
                    )  # fmt: skip
                    ax.plot([at] * len(episodes), episodes, ".", color=colour, markersize=3)
            low, high = min(sizes) - 1, max(sizes) + 1
            n = np.linspace(low, high)
            ax.plot(n, 2.0**n, color="0.4", linestyle="--", label="random: $2^N$")
            ax.axhline(most, color="0.8", linewidth=1)
            ax.set(title=title, xlabel="N", yscale="log", xlim=(low, high), ylim=(1, 3 * most))
            ax.set_xticks(list(sizes))
        axes[0][0].set_ylabel("episodes")
        axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=8)
        save_figure(figure, stem)
