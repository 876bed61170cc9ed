"""Table 1: Sarsa against Sarsa+SR in RiverSwim and SixArms."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from countless.analysis.statistics import summarise
from countless.analysis.tables import number
from countless.core.progress import Reporter
from countless.experiments.entries import (
    Returns,
    bracket_words,
    load_entries,
    replay_words,
    run_entries,
    side_by_side,
)
from countless.experiments.published import TABLE_1, Entry
from countless.experiments.section import Experiment, Section, read_made, replay_seeds

TITLE = "Table 1: Sarsa and Sarsa+SR, undiscounted return of 5,000 steps"


def run(folder: Path, runs: int, seed: int, reporter: Reporter) -> None:
    """The four entries, replayed and fresh."""
    run_entries(TABLE_1, folder, runs, seed, reporter)


def show(folder: Path) -> Section:
    """The table and what it means."""
    loaded = load_entries(TABLE_1, folder)
    return Section(
        name="table1",
        title=TITLE,
        tables=(side_by_side(loaded),),
        figures=(),
        words=(replay_words(loaded), bracket_words(loaded), *_domain_words(loaded)),
        made=(made := read_made(folder)),
        seeds=replay_seeds(made),
    )


def _domain_words(loaded: list[tuple[Entry, Returns, Returns]]) -> list[str]:
    words = []
    for (entry, _, plain), (_, _, bonus) in (loaded[:2], loaded[2:]):
        sarsa, sr = summarise(plain), summarise(bonus)
        above = float(np.mean(bonus > sarsa.median))
        relation = "above" if sr.median > sarsa.median else "below"
        words.append(
            f"{entry.domain}: the mean of Sarsa+SR is {sr.mean / sarsa.mean:.1f} times Sarsa's; its "
            f"median, {number(sr.median)}, is {relation} Sarsa's, {number(sarsa.median)}. "
            f"{above:.0%} of its runs do better than the median run of Sarsa."
        )
    return words


EXPERIMENT = Experiment("Sarsa against Sarsa+SR: paper, replay, fresh runs", run, show)
