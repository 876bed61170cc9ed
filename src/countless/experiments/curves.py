"""Learning curves of agents in several MDPs: reward collected so far, against steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from countless.agents.tabular.simulate import REWARD, trace_runs
from countless.analysis.plots import draw_learning
from countless.core.progress import Reporter
from countless.core.records import read_table, write_table
from countless.runs.study import Study

POINTS = 50

Curve = tuple[str, str, Study]  # panel, label, and the study whose runs are drawn


def record_curves(folder: Path, curves: Sequence[Curve], reporter: Reporter) -> None:
    """Trace every run of every curve, one at a time, and keep the means."""
    columns: dict[str, list[Any]] = {"panel": [], "agent": [], "step": [], "mean": []}
    with reporter.task(f"{folder.name}: learning curves", len(curves)) as advance:
        for panel, label, study in curves:
            mean = np.zeros(study.steps)
            for run in range(study.runs):
                trace = trace_runs(
                    study.settings[0],
                    study.mdp,
                    runs=1,
                    steps=study.steps,
                    seed=study.seed,
                    first_run=run,
                )
                mean += trace[0, :, REWARD].cumsum() / study.runs
            at = np.linspace(0, study.steps - 1, POINTS + 1).astype(int)
            columns["panel"] += [panel] * len(at)
            columns["agent"] += [label] * len(at)
            columns["step"] += (at + 1).tolist()
            columns["mean"] += mean[at].tolist()
            advance(1)
    write_table(folder / "curves.parquet", columns)


def draw_curves(folder: Path, stem: Path) -> None:
    """Draw what `record_curves` kept."""
    table = read_table(folder / "curves.parquet")
    assert table is not None
    data = {name: np.array(table[name].to_pylist()) for name in table.column_names}
    panels: dict[str, dict[str, Any]] = {}
    for panel in dict.fromkeys(data["panel"].tolist()):
        here = data["panel"] == panel
        panels[panel] = {}
        for label in dict.fromkeys(data["agent"][here].tolist()):
            of = here & (data["agent"] == label)
            panels[panel][label] = (data["step"][of], data["mean"][of])
    draw_learning(stem, panels)
