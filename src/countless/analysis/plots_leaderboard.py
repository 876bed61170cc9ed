"""The leaderboard: one row per agent, its score with interval, and its score in each MDP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from countless.analysis.charts import Intervals, Mark
from countless.analysis.plots import COLOURS, STYLE, save_figure

Interval = tuple[float, tuple[float, float]]  # a value and the ends of its interval


@dataclass(frozen=True)
class Score:
    """Of one agent: tuned and default over all MDPs, and the tuned mean in each of them."""

    tuned: Interval
    default: Interval
    means: Sequence[float]


TUNED, DEFAULT = "tuned on other MDPs", "default parameters"


def leaderboard_chart(title: str, scores: Mapping[str, Score]) -> Intervals:
    """The left half of the drawing, for a page."""
    rows = {
        name: {TUNED: Mark(*score.tuned), DEFAULT: Mark(*score.default)}
        for name, score in scores.items()
    }
    return Intervals(title, "agent", "IQM of the normalised return", rows)


def draw_leaderboard(stem: Path, scores: Mapping[str, Score], envs: Sequence[str]) -> None:
    """Intervals on the left, a map of MDPs on the right, the best agent on top."""
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(
            1, 2, sharey=True, figsize=(10.0, 0.34 * len(scores) + 1.5),
            gridspec_kw={"width_ratios": (1.0, 1.5), "wspace": 0.05},
        )  # fmt: skip
        for i, score in enumerate(scores.values()):
            for (value, (low, high)), shift, filled in (
                (score.tuned, -0.13, True),
                (score.default, 0.13, False),
            ):
                colour = COLOURS[0] if filled else "0.45"
                left.plot([low, high], [i + shift] * 2, color=colour, linewidth=1.4)
                left.plot(
                    value, i + shift, "o", color=colour, markersize=5,
                    markerfacecolor=colour if filled else "white",
                )  # fmt: skip
        left.plot([], [], "o", color=COLOURS[0], label=TUNED)
        left.plot([], [], "o", color="0.45", markerfacecolor="white", label=DEFAULT)
        left.legend(loc="lower right", fontsize=8)
        left.set(xlabel="IQM of normalised return", yticks=range(len(scores)))
        left.set_yticklabels(list(scores))
        left.set_ylim(len(scores) - 0.4, -0.6)
        means = np.array([score.means for score in scores.values()])
        right.imshow(np.clip(means, 0.0, 1.0), cmap="Blues", vmin=0.0, vmax=1.25, aspect="auto")
        for (i, k), mean in np.ndenumerate(means):
            shown = f"{mean:.2f}".replace("-0.00", "0.00")
            colour = "white" if mean > 0.65 else "0.15"
            right.text(k, i, shown, ha="center", va="center", color=colour, fontsize=7.5)
        right.set_xticks(range(len(envs)), list(envs), rotation=30, ha="right")
        right.set_title("tuned, by MDP: 0 random, 1 the best policy")
        right.tick_params(length=0)
        right.grid(False)
        right.spines[["left", "bottom"]].set_visible(False)
        save_figure(figure, stem)
