"""Table 1: Sarsa against Sarsa+SR in RiverSwim and SixArms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from countless.analysis.statistics import summarise
from countless.analysis.tables import number
from countless.experiments import paper_and_ours as ours
from countless.experiments.experiment import (
    DIFFERS,
    REPRODUCED,
    Claim,
    Experiment,
    Plan,
    Records,
    Section,
)
from countless.experiments.published import DOMAIN_LABELS, TABLE_1


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """The table and what it means."""
    compared = ours.compare(TABLE_1, plan, records)
    sixarms = ours.pick(compared, "sixarms", "Sarsa+SR ℓ1")
    words = (
        ours.replay_words(compared),
        ours.bracket_words(sixarms),
        *(_domain_words(compared, env) for env in DOMAIN_LABELS),
        "Table 6 has fresh runs of the same settings under another seed: its means differ from those "
        "here by chance, most in SixArms, where a few runs carry the mean.",
    )
    return Section(
        (ours.side_by_side(compared),),
        (),
        words,
        ours.seeds_of(plan),
        (ours.digits_claim("Table 1", compared), *(_claim(compared, env) for env in DOMAIN_LABELS)),
        (ours.distributions("table1-returns", compared),),
    )


def _claim(compared: Sequence[ours.Compared], env: str) -> Claim:
    """The finding of a domain, on fresh runs: of the mean, and of the median run."""
    plain, bonus = (ours.pick(compared, env, label) for label in ("Sarsa", "Sarsa+SR ℓ1"))
    sarsa, sr = summarise(plain.fresh), summarise(bonus.fresh)
    relation = "above" if sr.median > sarsa.median else "below"
    clear = sr.mean - sr.half > sarsa.mean + sarsa.half
    return Claim(
        f"The bonus raises the mean return in {DOMAIN_LABELS[env]}",
        f"{bonus.entry.mean / plain.entry.mean:.1f} × Sarsa's",
        f"{sr.mean / sarsa.mean:.1f} ×; its median run is {relation} Sarsa's",
        REPRODUCED if clear else DIFFERS,
    )


def _domain_words(compared: Sequence[ours.Compared], env: str) -> str:
    plain, bonus = (
        ours.pick(compared, env, "Sarsa").fresh,
        ours.pick(compared, env, "Sarsa+SR ℓ1").fresh,
    )
    sarsa, sr = summarise(plain), summarise(bonus)
    above = float(np.mean(bonus > sarsa.median))
    relation = "above" if sr.median > sarsa.median else "below"
    return (
        f"{DOMAIN_LABELS[env]}: the mean of Sarsa+SR is {sr.mean / sarsa.mean:.1f} times Sarsa's; its "
        f"median, {number(sr.median)}, is {relation} Sarsa's, {number(sarsa.median)}. "
        f"{above:.0%} of its runs do better than the median run of Sarsa."
    )


EXPERIMENT = Experiment(
    "table1",
    "Sarsa against Sarsa+SR: paper, replay, fresh runs",
    "Table 1: Sarsa and Sarsa+SR, undiscounted return of 5,000 steps",
    "tabular",
    lambda plan, records: ours.entry_jobs(TABLE_1, plan),
    render,
    minutes=0.3,
)
