"""Who solves DeepSea, and after how many episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from countless.analysis.charts import GREY, Chart, Intervals, Mark, Series
from countless.analysis.curves import line_styles
from countless.analysis.plots import COLOURS, STYLE, save_figure, short

# One colour and marker per agent.
AGENT_COLOURS = (*COLOURS, "#7A5195", "#8C6D31", "#000000", "#7F7F7F")
MARKERS = "osD^v<>PX*"
SIZE_COLOURS = ("#9ECAE1", "#4292C6", "#084594", "#6A51A3", "#3F007D")
# size -> the episode of each seed that succeeded, and how many seeds there were
Points = Mapping[int, tuple[Sequence[int], int]]


def solved_chart(title: str, agents: Mapping[str, Points], x: str) -> Intervals:
    """The median and the range of the seeds that succeeded, for each agent and size."""
    rows = {
        label: {
            f"N = {size}": Mark(
                float(np.median(found)) if found else np.nan,
                (min(found), max(found)) if len(found) > 1 else (np.nan, np.nan),
                f"{len(found)} of {seeds}",
            )
            for size, (found, seeds) in points.items()
            if seeds
        }
        for label, points in agents.items()
    }
    return Intervals(title, "agent", x, rows, log=True)


def episode_charts(
    panels: Mapping[str, Mapping[str, Points]], sizes: Sequence[int], most: int
) -> tuple[Chart, ...]:
    """What `draw_episodes` draws, for a page: medians alone."""
    chosen = line_styles({label: label for agents in panels.values() for label in agents})
    n = np.linspace(min(sizes) - 1, max(sizes) + 1)
    n = n[2.0**n <= most]
    random = (Series("random acting: 2^N", n, 2.0**n, style=(GREY, "--")),) if len(n) else ()
    charts = []
    for title, agents in panels.items():
        medians = {
            label: {size: float(np.median(found)) for size, (found, _) in points.items() if found}
            for label, points in agents.items()
        }
        series = tuple(
            Series(label, list(y), list(y.values()), style=chosen[label], points="too")
            for label, y in medians.items()
            if y
        )
        if series:
            drawn = (*series, *random)
            charts.append(
                Chart(title.capitalize(), "size N", "episodes", drawn, log="y", ticks=sizes)
            )
    return tuple(charts)


def success_chart(
    title: str, episodes: NDArray[np.int64], success: Mapping[str, NDArray[np.float64]]
) -> Chart:
    """The share of the last 100 episodes that succeed, (seeds, episodes) for each agent: the mean."""
    chosen = line_styles({label: label for label in success})
    series = tuple(
        Series(label, episodes, 100.0 * y.mean(axis=0), style=chosen[label])
        for label, y in success.items()
    )
    return Chart(title, "episodes", "successful episodes (%)", series)


def draw_solved(
    stem: Path, agents: Mapping[str, Points], sizes: Sequence[int], episodes: str
) -> None:
    """One row per agent: how many seeds succeeded at each size, and after how many episodes."""
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(
            1, 2, sharey=True, figsize=(9.0, 0.36 * len(agents) + 1.2),
            gridspec_kw={"width_ratios": (max(1.0, 0.42 * len(sizes)), 2.2), "wspace": 0.06},
        )  # fmt: skip
        shares = np.full((len(agents), len(sizes)), np.nan)
        for i, points in enumerate(agents.values()):
            for k, size in enumerate(sizes):
                found, seeds = points[size]
                if seeds:
                    shares[i, k] = len(found) / seeds
                dark = seeds and len(found) > 0.6 * seeds
                text = f"{len(found)} of {seeds}" if seeds else "–"
                left.text(k, i, text, ha="center", va="center", color="white" if dark else "0.15")
                y = i + 0.24 * (k - (len(sizes) - 1) / 2)
                right.plot(found, [y] * len(found), "o", color=_size_colour(k), markersize=4.5)
        left.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.25, aspect="auto")
        left.set(title="seeds that solve it", yticks=range(len(agents)), yticklabels=list(agents))
        left.set_xticks(range(len(sizes)), [f"N = {size}" for size in sizes])
        left.tick_params(length=0)
        left.grid(False)
        left.spines[["left", "bottom"]].set_visible(False)
        known = [at for points in agents.values() for found, _ in points.values() for at in found]
        right.set_xlim(min(known, default=10) / 1.1, max(known, default=100) * 1.1)
        right.set(title=episodes, xscale="log", xlabel="episodes")
        right.xaxis.set_major_formatter(short)
        right.xaxis.set_minor_formatter(short)
        right.tick_params(axis="both", which="both", length=0)
        right.grid(visible=True, which="both", axis="both", color="0.92")
        _legend(right, sizes)
        save_figure(figure, stem)


def _size_colour(k: int) -> str:
    return SIZE_COLOURS[k % len(SIZE_COLOURS)]


def _legend(ax: Axes, sizes: Sequence[int]) -> None:
    for k, size in enumerate(sizes):
        ax.plot([], [], "o", color=_size_colour(k), label=f"N = {size}")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=8, title="one dot per seed")


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
                colour = AGENT_COLOURS[i % len(AGENT_COLOURS)]
                marker = MARKERS[i % len(MARKERS)]
                known = {n: one for n, one in points.items() if one[0]}
                x = [n + 0.12 * (i - (len(agents) - 1) / 2) for n in known]
                y = [float(np.median(episodes)) for episodes, _ in known.values()]
                ax.plot(x, y, color=colour, linewidth=1.2)
                ax.plot([], [], color=colour, marker=marker, linewidth=1.2, label=label)
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
            ax.set(title=title, xlabel="N", yscale="log", xlim=(low, high))
            ax.set_ylim(most / 100, 3 * most)
            ax.set_xticks(list(sizes))
        axes[0][0].set_ylabel("episodes")
        axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=8)
        save_figure(figure, stem)
