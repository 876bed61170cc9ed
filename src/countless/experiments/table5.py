"""Table 5: the l1- and the l2-norm of the SR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from countless.analysis.statistics import summarise
from countless.analysis.tables import number
from countless.experiments import paper_and_ours as ours
from countless.experiments.experiment import (
    DIFFERS,
    OPEN,
    REPRODUCED,
    Claim,
    Experiment,
    Plan,
    Records,
    Section,
)
from countless.experiments.published import DOMAIN_LABELS, TABLE_5


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """The table and what it means."""
    compared = ours.compare(TABLE_5, plan, records)
    words = (
        ours.replay_words(compared),
        ours.bracket_words(ours.pick(compared, "sixarms", "Sarsa+SR ℓ2")),
        *(_difference_words(compared, env) for env in DOMAIN_LABELS),
    )
    return Section(
        (ours.side_by_side(compared),),
        (),
        words,
        ours.seeds_of(plan),
        (ours.digits_claim("Table 5", compared), *(_claim(compared, env) for env in DOMAIN_LABELS)),
        (ours.distributions("table5-returns", compared),),
    )


@dataclass(frozen=True)
class _Difference:
    """The mean of ℓ2 minus that of ℓ1 over fresh runs, and the half width of its 95% interval."""

    mean: float
    half: float
    share: float  # of the mean of ℓ1

    @property
    def is_clear(self) -> bool:
        return abs(self.mean) > self.half


def _difference(compared: Sequence[ours.Compared], env: str) -> _Difference:
    first = summarise(ours.pick(compared, env, "Sarsa+SR ℓ1").fresh)
    second = summarise(ours.pick(compared, env, "Sarsa+SR ℓ2").fresh)
    difference = second.mean - first.mean
    half = 1.96 * (first.sd**2 / first.runs + second.sd**2 / second.runs) ** 0.5
    return _Difference(difference, half, difference / first.mean)


def _difference_words(compared: Sequence[ours.Compared], env: str) -> str:
    found = _difference(compared, env)
    clear = "a clear" if found.is_clear else "no clear"
    return (
        f"{DOMAIN_LABELS[env]}: over fresh runs ℓ2 minus ℓ1 is {number(found.mean)} "
        f"(95% interval {number(found.mean - found.half)} to {number(found.mean + found.half)}), "
        f"{abs(found.share):.1%} of the mean: {clear} difference. Each norm has its "
        "own parameters from Table 6."
    )


def _claim(compared: Sequence[ours.Compared], env: str) -> Claim:
    first, second = (ours.pick(compared, env, f"Sarsa+SR ℓ{p}").entry.mean for p in (1, 2))
    found = _difference(compared, env)
    clear = "a clear" if found.is_clear else "no clear"
    same_side = (found.mean > 0) == (second > first)
    return Claim(
        f"ℓ2 against ℓ1 in {DOMAIN_LABELS[env]}",
        f"{(second - first) / first:+.1%}",
        f"{found.share:+.1%}, {clear} difference",
        REPRODUCED if same_side and found.is_clear else OPEN if not found.is_clear else DIFFERS,
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
