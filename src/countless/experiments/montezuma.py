"""Montezuma's Revenge on a laptop: how far agents come where nearly every score is zero."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.dqn.agents import FRAMES, OF_BONUS
from countless.analysis.charts import Chart, Panels, Series
from countless.analysis.tables import Cell, Table
from countless.envs.places import CELL
from countless.experiments.experiment import Experiment, Figure, Plan, Records, Section, unfinished
from countless.runs.job import Job
from countless.runs.store import StoredJob

if TYPE_CHECKING:
    import pyarrow

    from countless.runs.dqn import DqnJob

Line = tuple[NDArray[Any], NDArray[Any]]  # frames, cells
GAME = "MontezumaRevenge"
LENGTHS = FRAMES | {"laptop": 2_000_000}
# The network of `--scale small` that is silent about what it never saw, at the size of this scale.
SILENT = {
    name: OF_BONUS["small"]["sr"][name]
    for name in ("encoder_bias", "sr_bias", "first_weights", "gamma_sr", "sr_terminal")
}


@dataclass(frozen=True)
class Row:
    """An agent of the study."""

    label: str
    agent: str
    parameters: dict[str, Any] = field(default_factory=dict)


ROWS = (
    Row("DQN_e^MMC", "dqn-mmc"),
    Row("DQN_e^MMC+SR ℓ1", "dqn-mmc-sr"),
    Row("DQN_e^MMC+SR ℓ2", "dqn-mmc-sr", {"norm": 2.0}),
    Row("ℓ2, silent network", "dqn-mmc-sr", {"norm": 2.0} | SILENT),
    Row("SR on fixed features", "dqn-mmc", {"bonus": "sr-norm"}),
    Row("DQN_e^MMC with CTS", "dqn-cts"),
    Row("DQN_e^MMC with RND", "dqn-rnd"),
)


def cell_job(row: Row, seed: int, plan: Plan) -> DqnJob:
    """One seed of one agent."""
    from countless.runs.dqn import make_job

    return make_job(
        row.agent,
        GAME,
        seed=seed,
        frames=LENGTHS[plan.scale],
        scale=plan.scale,
        device="cpu",
        parameters=row.parameters,
    )


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Seed by seed, each agent in turn: an interrupted study has compared them all."""
    yield [cell_job(row, seed, plan) for seed in plan.seeds for row in ROWS]


@dataclass(frozen=True)
class Outcome:
    """What one seed came to."""

    rooms: int
    cells: int
    key_at: int | None  # frames until the end of the first episode with the key
    best: float  # score of an episode


def surveyed(job: StoredJob) -> pyarrow.Table | None:
    """The episodes that say what was seen, or None: records of earlier versions do not."""
    if job.records is None or "cells" not in job.records.column_names:
        return None
    episodes = job.records.filter(job.records["cells"].is_valid())
    return episodes if len(episodes) else None


def outcome(episodes: pyarrow.Table) -> Outcome:
    """From the episodes of one seed."""
    with_key = episodes["frames"].to_numpy()[episodes["key"].to_numpy()]
    return Outcome(
        int(episodes["rooms"][-1].as_py()),
        int(episodes["cells"][-1].as_py()),
        int(with_key[0]) if len(with_key) else None,
        float(episodes["return"].to_numpy().max()),
    )


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """One row per agent, and the cells seen over frames, every run drawn."""
    from countless.analysis.plots_coverage import draw_coverage

    found = {
        row.label: {
            seed: episodes
            for seed in plan.seeds
            if (job := records.find(cell_job(row, seed, plan))) is not None
            and (episodes := surveyed(job)) is not None
        }
        for row in ROWS
    }
    drawn = {
        label: {
            seed: (episodes["frames"].to_numpy(), episodes["cells"].to_numpy())
            for seed, episodes in seeds.items()
        }
        for label, seeds in found.items()
        if seeds
    }
    figures: tuple[Figure, ...] = ()
    panels: tuple[Panels, ...] = ()
    if drawn:
        draw_coverage(folder / "coverage", drawn, LENGTHS[plan.scale])
        caption = (
            "Distinct cells in which the player was seen so far, against frames: one line per run. "
            "The warm-up's cells are counted too, so neither the lines nor the axis begin at zero."
        )
        figures = (Figure(folder / "coverage", caption, interactive=True),)
        panels = (Panels("montezuma-coverage", caption, (_chart(drawn),)),)
    return Section(
        (_table(found),),
        figures,
        (
            *unfinished(sum(map(len, found.values())), len(ROWS) * len(plan.seeds)),
            *_words(LENGTHS[plan.scale]),
        ),
        " ".join(map(str, plan.seeds)),
        panels=panels,
    )


def _chart(drawn: Mapping[str, Mapping[int, Line]]) -> Chart:
    from countless.analysis.plots_coverage import coverage_styles

    chosen = coverage_styles(drawn)
    series = tuple(
        Series(f"{label}, seed {seed}", frames, cells, style=chosen[label][seed])
        for label, runs in drawn.items()
        for seed, (frames, cells) in runs.items()
    )
    return Chart("Montezuma's Revenge", "frames", "distinct cells seen", series, steps=1)


def _table(found: Mapping[str, Mapping[int, pyarrow.Table]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for label, kept in found.items():
        seeds = [outcome(episodes) for episodes in kept.values()]
        if not seeds:
            rows.append((label, *[None] * 6))
            continue
        keys = [one.key_at for one in seeds if one.key_at is not None]
        rows.append(
            (
                label,
                max(one.rooms for one in seeds),
                float(np.mean([one.cells for one in seeds])),
                ", ".join(str(one.cells) for one in seeds),
                f"{len(keys)} of {len(seeds)}",
                min(keys, default=None),
                max(one.best for one in seeds),
            )
        )
    columns = (
        "agent", "most rooms", "cells, mean", "cells per seed", "seeds with the key",
        "first key, frames", "best score",
    )  # fmt: skip
    formats = {"cells, mean": ".0f", "first key, frames": ",.0f", "best score": ",.0f"}
    return Table("Montezuma's Revenge: how far they came", columns, tuple(rows), formats=formats)


def _words(frames: int) -> tuple[str, ...]:
    return (
        f"{frames:,} frames per run. Rooms, cells and the key are read from the game's RAM: a cell is "
        f"{CELL} x {CELL} pixels of a room. The agents do not see this.",
        "The silent network has no biases below ψ and small first weights, a discount of 0.9 for ψ "
        "and a ψ that goes on after an episode's end: what solves DeepSea (docs/deep.md). "
        "The SR on fixed features is the bonus sr-norm.",
    )


EXPERIMENT = Experiment(
    "montezuma",
    "rooms, cells and the first key of Montezuma's Revenge, by agent",
    "Montezuma's Revenge: coverage",
    "dqn",
    jobs,
    render,
    partial=True,
    games=(GAME,),
)
