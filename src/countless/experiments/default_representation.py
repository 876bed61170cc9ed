"""Sarsa+DR beside its published numbers, and what its bonus owes to seeing rewards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from countless.agents.catalogue import make_agent
from countless.analysis.charts import Panels, distribution_chart
from countless.analysis.statistics import summarise
from countless.analysis.tables import Cell, Estimate, Table, number
from countless.envs.catalog import make_mdp
from countless.experiments.experiment import Experiment, Plan, Records, Returns, Section
from countless.experiments.published import (
    DOMAIN_LABELS,
    REPLAY_RUNS,
    TSE,
    TSE_REPLAY_SEED,
    TSE_SARSA_SR,
)
from countless.runs.job import Job
from countless.runs.tabular import TabularJob, default_steps


@dataclass(frozen=True)
class Row:
    """An agent with parameters beside its preset's."""

    label: str
    agent: str
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    swaps_steps: bool = False  # alpha and eta change places
    initial_value: Mapping[str, float] = field(default_factory=dict)  # by domain

    def job(self, env: str, runs: int, seed: int, rng: str = "countless") -> TabularJob:
        mdp = make_mdp(env)
        start = {"initial_value": self.initial_value[env]} if self.initial_value else {}
        agent = make_agent(self.agent, mdp, {**self.parameters, **start})
        if self.swaps_steps:
            given = asdict(agent)
            swapped = {"alpha": given["eta"], "eta": given["alpha"]}
            agent = make_agent(self.agent, mdp, swapped)
        return TabularJob((agent,), mdp, runs, default_steps(mdp), seed, rng)


SR = Row("Sarsa+SR ℓ1", "sarsa-sr")
DR = Row("Sarsa+DR", "sarsa-dr")
SWAPPED = Row("Sarsa+DR, step sizes swapped", "sarsa-dr", swaps_steps=True)
BLIND = Row("Sarsa+DR that sees no rewards", "sarsa-dr", {"seen_rewards": "none"})
# In RiverSwim a bonus of about -60 at every step (-0.6 times beta) is matched by values that start
# 60 / (1 - gamma) higher. In SixArms: the largest reward.
OPTIMISM = {"riverswim": 1_200.0, "sixarms": 6_000.0}
PLAIN = Row("Sarsa from optimistic values", "sarsa-dr", {"beta": 0.0}, initial_value=OPTIMISM)
ROWS = (SR, DR, SWAPPED, BLIND, PLAIN)


def replay_job(env: str) -> TabularJob:
    """The runs of the released script."""
    return DR.job(env, REPLAY_RUNS, TSE_REPLAY_SEED, "authors")


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """The published runs, and fresh ones of every row."""
    fresh = [row.job(env, plan.runs, plan.seed) for env in DOMAIN_LABELS for row in ROWS]
    yield [*(replay_job(env) for env in DOMAIN_LABELS), *fresh]


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """One row per agent and domain, and what they say."""
    fresh = {
        (env, row.label): records.returns(row.job(env, plan.runs, plan.seed))[0]
        for env in DOMAIN_LABELS
        for row in ROWS
    }
    replays = {env: records.returns(replay_job(env))[0] for env in DOMAIN_LABELS}
    rows = []
    for env, domain in DOMAIN_LABELS.items():
        for row in ROWS:
            ours = summarise(fresh[env, row.label])
            replay = replays[env] if row is DR else None
            cells: tuple[Cell, ...] = (
                domain,
                row.label,
                *_published(env, row),
                *((None, None) if replay is None else (float(replay.mean()), float(replay.std()))),
                Estimate(ours.mean, ours.half),
                ours.sd,
                ours.median,
            )
            rows.append(cells)
    note = (
        "published: by Tse et al. 2025, in thousands there, with a standard deviation that divides by "
        f"the number of runs, as in the two columns that follow; replay: the {REPLAY_RUNS} runs of "
        f"their released script; fresh: {plan.runs:,} runs of ours."
    )
    numbers = ("published", "SD", "replay", "its SD", "fresh ± 95% CI", "fresh SD", "median")
    table = Table(
        "Published, replay and fresh runs",
        ("domain", "agent", *numbers),
        tuple(rows),
        labels=2,
        note=note,
        formats=dict.fromkeys(numbers, ",.0f"),
    )
    words = (_replay_words(replays), *(_domain_words(env, fresh) for env in DOMAIN_LABELS))
    seeds = f"{TSE_REPLAY_SEED} for the replay, {plan.seed} otherwise"
    return Section((table,), (), words, seeds, panels=(_spread(fresh),))


def _spread(fresh: Mapping[tuple[str, str], Returns]) -> Panels:
    """All fresh runs: the means and the medians of the table lie far apart."""
    return Panels(
        "default-representation-returns",
        "The share of fresh runs that reach at least a return. Where a line falls early and goes on "
        "far to the right, a few runs carry the mean.",
        tuple(
            distribution_chart(
                domain,
                {row.label: fresh[env, row.label] for row in ROWS},
                agents={row.label: row.agent for row in ROWS},
            )
            for env, domain in DOMAIN_LABELS.items()
        ),
    )


def _published(env: str, row: Row) -> tuple[float | None, float | None]:
    if row is DR:
        mean, sd = TSE[env]
        return 1000.0 * mean, 1000.0 * sd
    return (1000.0 * TSE_SARSA_SR[env] if row is SR else None), None


def _replay_words(replays: Mapping[str, Returns]) -> str:
    off = []
    for env, domain in DOMAIN_LABELS.items():
        returns = replays[env]
        for what, ours, printed in zip(
            ("mean", "SD"), (returns.mean(), returns.std()), TSE[env], strict=True
        ):
            if round(ours / 1000) != printed:
                off.append(f"the {what} in {domain} comes out as {ours / 1000:,.1f} thousand")
    said = (
        "Replaying the draws of the released script with the step size 0.5 for the default "
        "representation, and the other one for the values, gives the published means and SDs to the "
        "digits printed"
    )
    return f"{said}." if not off else f"{said}, except: {'; '.join(off)}."


def _domain_words(env: str, fresh: Mapping[tuple[str, str], Returns]) -> str:
    sr, dr, swapped, blind, plain = (summarise(fresh[env, row.label]) for row in ROWS)
    return (
        f"{DOMAIN_LABELS[env]}: over many runs the mean of Sarsa+DR is {dr.mean / sr.mean:.1f} times "
        f"that of Sarsa+SR, its median {number(dr.median)} against {number(sr.median)}. With the two "
        f"step sizes swapped the mean is {number(swapped.mean)}. A default representation that sees "
        f"-1 at every step, and so no reward, has {number(blind.mean)}, "
        f"{blind.mean / dr.mean:.0%} of what it has with rewards. Without any bonus, but with values "
        f"that start at {number(OPTIMISM[env])}, the mean is {number(plain.mean)}, the median "
        f"{number(plain.median)}."
    )


EXPERIMENT = Experiment(
    "default-representation",
    "Sarsa with the default representation as bonus: published, replay, fresh runs",
    "The default representation: Sarsa+DR beside Sarsa+SR, undiscounted return of 5,000 steps",
    "tabular",
    jobs,
    render,
    minutes=0.5,
)
