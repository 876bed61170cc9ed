"""Table 5: the l1- and the l2-norm of the SR."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from countless.analysis.statistics import summarise
from countless.analysis.tables import number
from countless.experiments import paper_and_ours as ours
from countless.experiments.experiment import Experiment, Plan, Records, Section
from countless.experiments.published import DOMAIN_LABELS, TABLE_5


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """The table and what it means."""
    compared = ours.compare(TABLE_5, plan, records)
    words = (
        ours.replay_words(compared),
        ours.bracket_words(ours.pick(compared, "sixarms", "Sarsa+SR ℓ2")),
        *(_difference_words(compared, env) for env in DOMAIN_LABELS),
    )
    return Section((ours.side_by_side(compared),), (), words, ours.seeds_of(plan))


def _difference_words(compared: Sequence[ours.Compared], env: str) -> str:
    first = summarise(ours.pick(compared, env, "Sarsa+SR ℓ1").fresh)
    second = summarise(ours.pick(compared, env, "Sarsa+SR ℓ2").fresh)
    difference = second.mean - first.mean
    half = 1.96 * (first.sd**2 / first.runs + second.sd**2 / second.runs) ** 0.5
    clear = "a clear" if abs(difference) > half else "no clear"
    return (
        f"{DOMAIN_LABELS[env]}: over fresh runs ℓ2 minus ℓ1 is {number(difference)} "
        f"(95% interval {number(difference - half)} to {number(difference + half)}), "
        f"{abs(difference) / first.mean:.1%} of the mean: {clear} difference. Each norm has its "
        "own parameters from Table 6."
    )


EXPERIMENT = Experiment(
    "table5",
    "the ℓ1- against the ℓ2-norm of the SR",
    "Table 5: Sarsa+SR with the ℓ1- and the ℓ2-norm, undiscounted return of 5,000 steps",
    "tabular",
    lambda plan, records: ours.entry_jobs(TABLE_5, plan),
    render,
    minutes=0.4,
)
