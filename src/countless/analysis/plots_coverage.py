"""How much of a game was seen, as it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from countless.analysis.curves import DASHES, line_styles
from countless.analysis.plots import STYLE, save_figure, short

Line = tuple[NDArray[Any], NDArray[Any]]  # frames, cells
Lines = Mapping[str, Mapping[int, Line]]  # agent -> seed -> line


def coverage_styles(agents: Lines) -> dict[str, dict[int, tuple[str, str]]]:
    """A colour for each agent, a dash for each seed."""
    seeds = sorted({seed for runs in agents.values() for seed in runs})
    dashes = {seed: DASHES[i % len(DASHES)] for i, seed in enumerate(seeds)}
    return {
        label: {seed: (colour, dashes[seed]) for seed in agents[label]}
        for label, (colour, _) in line_styles({label: label for label in agents}).items()
    }


def draw_coverage(stem: Path, agents: Lines, frames: int) -> None:
    """One line per run."""
    looks = coverage_styles(agents)
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots(figsize=(7.2, 4.0))
        for label, runs in agents.items():
            for seed, (at, cells) in runs.items():
                colour, dash = looks[label][seed]
                ax.step(at, cells, where="post", color=colour, linestyle=dash, linewidth=1.2)
        ax.set(xlabel="frames", ylabel="distinct cells seen", xlim=(0, frames))
        ax.xaxis.set_major_formatter(short)
        own = {label: next(iter(styles.values()))[0] for label, styles in looks.items()}
        seeds = {f"seed {s}": dash for each in looks.values() for s, (_, dash) in each.items()}
        handles = [Line2D([], [], color=colour, label=label) for label, colour in own.items()]
        handles += [
            Line2D([], [], color="0.4", ls=dash, label=label)
            for label, dash in sorted(seeds.items() if len(seeds) > 1 else ())
        ]
        ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=8)
        save_figure(figure, stem)
