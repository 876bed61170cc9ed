"""How much of a game was seen, as it goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from numpy.typing import NDArray

from countless.analysis.curves import line_styles
from countless.analysis.plots import STYLE, save_figure, short

Line = tuple[NDArray[Any], NDArray[Any]]  # frames, cells


def draw_coverage(stem: Path, agents: Mapping[str, Sequence[Line]], frames: int) -> None:
    """One line per run, one colour per agent."""
    looks = line_styles({label: label for label in agents})
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots(figsize=(7.2, 4.0))
        for label, runs in agents.items():
            colour, dash = looks[label]
            for i, (at, cells) in enumerate(runs):
                name = label if i == 0 else None
                ax.step(at, cells, where="post", color=colour, linestyle=dash, label=name)
        ax.set(xlabel="frames", ylabel="distinct cells seen", xlim=(0, frames))
        ax.xaxis.set_major_formatter(short)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=8)
        save_figure(figure, stem)
