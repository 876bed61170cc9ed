"""Tables 1 and 5: the paper's number, its replay to the digit, and many fresh runs, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from countless.agents.catalogue import make_agent
from countless.analysis.charts import Panels, distribution_chart
from countless.analysis.statistics import Summary, summarise
from countless.analysis.tables import Table, number
from countless.envs.catalog import make_mdp
from countless.experiments.experiment import (
    DIFFERS,
    REPRODUCED,
    Claim,
    Plan,
    Records,
    Returns,
)
from countless.experiments.published import DOMAIN_LABELS, REPLAY_RUNS, REPLAY_SEED, Entry
from countless.runs.job import Job
from countless.runs.tabular import TabularJob, default_steps


def entry_job(entry: Entry, *, runs: int, seed: int, rng: str = "countless") -> TabularJob:
    """The runs behind one entry, with the paper's parameters."""
    mdp = make_mdp(entry.env)
    agent = make_agent(entry.agent, mdp, entry.parameters)
    return TabularJob((agent,), mdp, runs, default_steps(mdp), seed, rng)


def replay_job(entry: Entry) -> TabularJob:
    """The paper's own 100 runs."""
    return entry_job(entry, runs=REPLAY_RUNS, seed=REPLAY_SEED, rng="authors")


def entry_jobs(entries: Sequence[Entry], plan: Plan) -> Iterator[Sequence[Job]]:
    """Replay and fresh runs of every entry."""
    yield [
        job
        for entry in entries
        for job in (replay_job(entry), entry_job(entry, runs=plan.runs, seed=plan.seed))
    ]


@dataclass(frozen=True)
class Compared:
    """An entry with the returns of its replay and of its fresh runs."""

    entry: Entry
    replay: Returns
    fresh: Returns


def compare(entries: Sequence[Entry], plan: Plan, records: Records) -> list[Compared]:
    """Each entry with its returns."""
    return [
        Compared(
            entry,
            records.returns(replay_job(entry))[0],
            records.returns(entry_job(entry, runs=plan.runs, seed=plan.seed))[0],
        )
        for entry in entries
    ]


def pick(compared: Sequence[Compared], env: str, label: str) -> Compared:
    """The entry of an agent in a domain."""
    return next(c for c in compared if c.entry.env == env and c.entry.label == label)


def side_by_side(compared: Sequence[Compared]) -> Table:
    """One block of rows per entry, one column per source."""
    rows: list[tuple[str | float | int | None, ...]] = []
    for item in compared:
        entry, replay, fresh = item.entry, summarise(item.replay), summarise(item.fresh)
        rows += [
            (entry.domain, entry.label, "mean", entry.mean, *_pair("mean", replay, fresh)),
            ("", "", "SD *", entry.bracket, *_pair("sd", replay, fresh)),
            ("", "", "95% CI from", None, replay.ci95[0], fresh.ci95[0]),
            ("", "", "to", None, replay.ci95[1], fresh.ci95[1]),
            ("", "", "median", None, *_pair("median", replay, fresh)),
            ("", "", "IQM", None, *_pair("iqm", replay, fresh)),
        ]
    columns = ("domain", "agent", "", "paper", "replay", "fresh")
    note = (
        f"replay: the paper's {REPLAY_RUNS} runs; fresh: {len(compared[0].fresh):,} runs of ours; "
        "95% CI: of the mean; IQM: the mean of the middle half.\n* printed in the paper as a 95% "
        "confidence interval"
    )
    return Table("Paper, replay and fresh runs", columns, tuple(rows), labels=3, note=note)


def _pair(field: str, replay: Summary, fresh: Summary) -> tuple[float, float]:
    return getattr(replay, field), getattr(fresh, field)


def replay_words(compared: Sequence[Compared]) -> str:
    """Whether the replay meets the paper, said from the numbers."""
    off = []
    for item in compared:
        entry, replay = item.entry, summarise(item.replay)
        for what, ours, paper in (
            ("mean", replay.mean, entry.mean),
            ("SD", replay.sd, entry.bracket),
        ):
            if round(ours) != paper:
                off.append(
                    f"{entry.label} in {entry.domain}: the {what} comes out as {ours:,.2f}, "
                    f"the paper prints {paper:,}"
                )
    said = (
        "Replaying the released code's random draws gives every mean and every number in "
        "parentheses to the last digit"
    )
    return f"{said}." if not off else f"{said}, except one: {'; '.join(off)}."


def bracket_words(item: Compared) -> str:
    """What the parentheses are, and what a real interval would be."""
    low, high = summarise(item.replay).ci95
    entry = item.entry
    return (
        "The number in parentheses, which the paper calls a 95% confidence interval, is the sample "
        f"standard deviation of the 100 runs. For {entry.label} in {entry.domain} the paper prints "
        f"{entry.mean:,} ({entry.bracket:,}); a real 95% interval of that mean is "
        f"{number(low)} to {number(high)}."
    )


def seeds_of(plan: Plan) -> str:
    """The seeds of an experiment that replays the paper and runs afresh."""
    return f"{REPLAY_SEED} for the replay, {plan.seed} for the fresh runs"


def digits_claim(table: str, compared: Sequence[Compared]) -> Claim:
    """Whether the paper's means come out to the digit."""
    met = sum(round(summarise(item.replay).mean) == item.entry.mean for item in compared)
    return Claim(
        f"The means of {table}",
        f"{len(compared)} means",
        f"{met} of {len(compared)} to the last digit, with the released code's random draws",
        REPRODUCED if met == len(compared) else DIFFERS,
    )


def distributions(name: str, compared: Sequence[Compared]) -> Panels:
    """All fresh runs of each domain: a mean does not show that few of them carry it."""
    return Panels(
        name,
        "The share of fresh runs that reach at least a return. Where a line falls early and goes on "
        "far to the right, a few runs carry the mean.",
        tuple(
            distribution_chart(
                domain,
                {item.entry.label: item.fresh for item in compared if item.entry.env == env},
                agents={item.entry.label: item.entry.agent for item in compared},
            )
            for env, domain in DOMAIN_LABELS.items()
        ),
    )
