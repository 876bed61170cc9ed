"""Table 5: the l1- and the l2-norm of the SR."""

from __future__ import annotations

from pathlib import Path

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
from countless.experiments.published import TABLE_5, Entry
from countless.experiments.section import Experiment, Section, read_made, replay_seeds

TITLE = "Table 5: Sarsa+SR with the ℓ1- and the ℓ2-norm, undiscounted return of 5,000 steps"


def run(folder: Path, runs: int, seed: int, reporter: Reporter) -> None:
    """The four entries, replayed and fresh."""
    run_entries(TABLE_5, folder, runs, seed, reporter)


def show(folder: Path) -> Section:
    """The table and what it means."""
    loaded = load_entries(TABLE_5, folder)
    return Section(
        name="table5",
        title=TITLE,
        tables=(side_by_side(loaded),),
        figures=(),
        words=(replay_words(loaded), bracket_words(loaded), *_difference_words(loaded)),
        made=(made := read_made(folder)),
        seeds=replay_seeds(made),
    )


def _difference_words(loaded: list[tuple[Entry, Returns, Returns]]) -> list[str]:
    words = []
    for (entry, _, one), (_, _, two) in (loaded[:2], loaded[2:]):
        first, second = summarise(one), summarise(two)
        difference = second.mean - first.mean
        half = 1.96 * (first.sd**2 / first.runs + second.sd**2 / second.runs) ** 0.5
        clear = "a clear" if abs(difference) > half else "no clear"
        words.append(
            f"{entry.domain}: over fresh runs ℓ2 minus ℓ1 is {number(difference)} "
            f"(95% interval {number(difference - half)} to {number(difference + half)}), "
            f"{abs(difference) / first.mean:.1%} of the mean: {clear} difference. Each norm has its "
            "own parameters from Table 6."
        )
    return words


EXPERIMENT = Experiment("the ℓ1- against the ℓ2-norm of the SR", run, show)
