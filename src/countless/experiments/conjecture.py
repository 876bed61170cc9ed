"""The paper's conjecture: the norm of the substochastic SR in place of counts, in agents that count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.catalogue import make_agent
from countless.agents.tabular.kernels.ssr_counts import LOWER, UPPER, count_from_norm
from countless.agents.tabular.simulate import NORM, SLOT, STATE, trace_runs
from countless.analysis.charts import Panels
from countless.analysis.plots_counts import CountErrors, count_error_charts, draw_count_errors
from countless.analysis.statistics import Summary, summarise
from countless.analysis.tables import Cell, Estimate, Table
from countless.envs.catalog import make_mdp
from countless.experiments.experiment import (
    DIFFERS,
    REPRODUCED,
    Claim,
    Experiment,
    Figure,
    Plan,
    Records,
    Section,
)
from countless.experiments.more_mdps import environments as more_environments
from countless.experiments.published import DOMAIN_LABELS
from countless.runs.job import Execution, Job, Stopped
from countless.runs.measurement import MeasurementJob
from countless.runs.tabular import TabularJob, default_steps

AGENTS = {"rmax": "R-Max", "mbie-eb": "MBIE-EB", "e3": "E3"}
READINGS = {"ssr": UPPER, "ssr-low": LOWER}  # those that need nothing but the norm
SMALL, LARGE = 30, 150  # states up to which runs are many, and above which they are few
FEWER, FEWEST = 10, 100  # as many times fewer runs above
TRACED = 100  # runs whose steps are compared with those of their twins that count
CHUNK_RUNS = 10
FIRST_MARK, MARKS = 10, 12
VERDICTS = {
    "same": "the same actions",
    "open": "no difference in return to be seen",
    "better": "better",
    "worse": "worse",
}


@dataclass(frozen=True)
class Source:
    """Where the counts of an agent come from."""

    counts: str
    gamma_ssr: float

    @property
    def label(self) -> str:
        return self.counts if self.counts == "true" else f"{self.counts}, γ {self.gamma_ssr:g}"

    @property
    def parameters(self) -> dict[str, Any]:
        if self.counts == "true":
            return {}
        return {"counts": self.counts, "gamma_ssr": self.gamma_ssr}


TRUE = Source("true", 0.0)
EXACT = Source("ssr-exact", 0.9)
SMALLEST = Source("ssr", 0.001)
EVERYWHERE = (Source("ssr", 0.1), SMALLEST, Source("ssr-low", 0.01))
STUDIED = (
    Source("ssr", 0.3), Source("ssr", 0.1), Source("ssr", 0.03), Source("ssr", 0.01), SMALLEST,
    Source("ssr-low", 0.01), Source("ssr-low", 0.3), Source("ssr-low", 0.9), EXACT,
)  # fmt: skip


def environments() -> tuple[str, ...]:
    """The paper's two domains and six more."""
    return (*DOMAIN_LABELS, *more_environments(), "fourrooms")


def sources(env: str) -> tuple[Source, ...]:
    """All of them in the paper's domains, fewer elsewhere."""
    return STUDIED if env in DOMAIN_LABELS else EVERYWHERE


def agent_job(agent: str, env: str, source: Source, plan: Plan) -> TabularJob:
    """Runs of an agent with one source of counts; those of all sources have the same draws."""
    mdp = make_mdp(env)
    fewer = 1 if mdp.n_states <= SMALL else FEWER if mdp.n_states <= LARGE else FEWEST
    runs = max(2, plan.runs // (10 * fewer))
    made = make_agent(agent, mdp, source.parameters)
    return TabularJob((made,), mdp, runs, default_steps(mdp), plan.seed)


def marks(steps: int) -> NDArray[np.int64]:
    """The steps at which errors are kept, evenly on a logarithmic scale."""
    return np.unique(np.geomspace(min(FIRST_MARK, steps), steps, MARKS).astype(np.int64))


def tries(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each step, how often its pair has been tried by then.

    >>> tries(np.array([4, 7, 4, 4]))
    array([1, 1, 2, 3])
    """
    order = np.argsort(pairs, kind="stable")
    ordered = pairs[order]
    first = np.searchsorted(ordered, ordered)
    counts = np.empty(len(pairs), dtype=np.int64)
    counts[order] = np.arange(len(pairs)) - first + 1
    return counts


def relative_error(read: NDArray[np.float64], true: NDArray[np.float64]) -> NDArray[np.float64]:
    """|n^ - n| / max(n^, n): 0 if right, 1/2 if off by a factor of two, 1 if infinite.

    >>> relative_error(np.array([4.0, 2.0, np.inf]), np.array([4.0, 4.0, 4.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return 1.0 - np.minimum(read, true) / np.maximum(read, true)


def measure(job: TabularJob, counted: TabularJob, execution: Execution) -> dict[str, Any]:
    """Run by run and mark by mark: the mean error since the mark before, and when decisions part."""
    at = marks(job.steps)
    agent = job.configs[0]
    reading = READINGS.get(agent["counts"])
    columns: dict[str, list[Any]] = {"run": [], "step": [], "error": [], "parted_at": []}
    for first in range(0, min(TRACED, job.runs), CHUNK_RUNS):
        if execution.stop():
            raise Stopped
        runs = min(CHUNK_RUNS, min(TRACED, job.runs) - first)
        ours, theirs = (
            trace_runs(
                one.settings[0], one.mdp, runs=runs, steps=one.steps, seed=one.seed, first_run=first
            )
            for one in (job, counted)
        )
        for run in range(runs):
            taken = ours[run][:, [STATE, SLOT]].astype(np.int64)
            other = (taken != theirs[run][:, [STATE, SLOT]]).any(axis=1)
            error = np.full(job.steps, np.nan)
            if reading is not None:
                norms = ours[run][:, NORM]
                read = np.array(
                    [count_from_norm(reading, agent["gamma_ssr"], norm, 0.0) for norm in norms]
                )
                true = tries(taken[:, 0] * job.mdp.n_actions + taken[:, 1]).astype(np.float64)
                error = relative_error(read, true)
            columns["run"].append(np.full(len(at), first + run))
            columns["step"].append(at)
            starts = np.concatenate([[0], at[:-1]])
            columns["error"].append(
                np.add.reduceat(error, starts) / np.diff(np.append(starts, at[-1]))
            )
            parted_at = float(other.argmax() + 1) if other.any() else np.nan
            columns["parted_at"].append(np.full(len(at), parted_at))
        execution.task.advance(runs * job.steps)
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def error_job(agent: str, env: str, source: Source, plan: Plan) -> MeasurementJob:
    """The errors of the counts that an agent reads off, and where it parts from its twin."""
    job, counted = (agent_job(agent, env, one, plan) for one in (source, TRUE))
    traced = min(TRACED, job.runs)
    return MeasurementJob(
        "count-errors",
        env,
        plan.seed,
        traced * job.steps,
        {"of": agent, "traced_runs": traced, "steps": job.steps, **job.configs[0]},
        lambda execution: measure(job, counted, execution),
    )


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Returns of all runs, then the steps of some."""
    yield [
        agent_job(agent, env, source, plan)
        for env in environments()
        for agent in AGENTS
        for source in (TRUE, *sources(env))
    ]
    yield [
        error_job(agent, env, source, plan)
        for env in environments()
        for agent in AGENTS
        for source in sources(env)
    ]


@dataclass(frozen=True)
class Compared:
    """An agent in an environment whose counts are read off, against the same runs that count."""

    agent: str
    env: str
    source: Source
    summary: Summary
    difference: Summary  # run by run
    errors: CountErrors
    median_parting: float | None  # None where fewer than half of the runs part

    @property
    def verdict(self) -> str:
        low, high = self.difference.ci95
        if self.errors.parted[-1] == 0:
            return "same"
        return "worse" if high < 0 else "better" if low > 0 else "open"


def compare(agent: str, env: str, source: Source, plan: Plan, records: Records) -> Compared:
    """From the records of both."""
    ours = records.returns(agent_job(agent, env, source, plan))[0]
    theirs = records.returns(agent_job(agent, env, TRUE, plan))[0]
    table = records[error_job(agent, env, source, plan)].records
    assert table is not None
    step, error, parted_at = (table[name].to_numpy() for name in ("step", "error", "parted_at"))
    at = np.unique(step)
    partings = np.nan_to_num(parted_at[step == at[-1]], nan=np.inf)
    errors = CountErrors(
        at.astype(np.float64),
        np.array([error[step == mark].mean() for mark in at]),
        np.array([(partings <= mark).mean() for mark in at]),
    )
    median = float(np.median(partings))
    return Compared(
        agent, env, source, summarise(ours), summarise(ours - theirs), errors,
        median if np.isfinite(median) else None,
    )  # fmt: skip


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """A verdict for each source, one table per environment, and the errors over time."""
    compared = [
        compare(agent, env, source, plan, records)
        for env in environments()
        for agent in AGENTS
        for source in sources(env)
    ]
    figures, shown = [], []
    for env, domain in DOMAIN_LABELS.items():
        if env not in environments():
            continue
        stem = folder / f"errors-{env}"
        panels = {
            f"{label} in {domain}": {
                one.source.label: one.errors
                for one in compared
                if (one.env, one.agent) == (env, agent) and one.source != EXACT
            }
            for agent, label in AGENTS.items()
        }
        draw_count_errors(stem, panels)
        caption = (
            f"{domain}. Above: |n̂ − n| / max(n̂, n) of the pair just tried, mean over the steps "
            "since the mark before and over runs (1: n̂ is infinite or 0). Below: the share of runs "
            "that have taken another action than the same run with true counts."
        )
        figures.append(Figure(stem, caption, interactive=True))
        told = (
            f"{domain}: first how far the count n̂ that is read off the norm is from the true n, "
            "|n̂ − n| / max(n̂, n) of the pair of state and action just tried, mean over the steps since "
            "the point before and over runs (100%: n̂ is infinite or 0). Then the share of runs that "
            "have taken another action than the same run with true counts. A line is a way to read "
            "counts off the norm: by the upper end of Theorem 1 (ssr) or the lower one (ssr-low), at a "
            "discount γ."
        )
        shown.append(Panels(f"conjecture-{env}", told, count_error_charts(panels)))
    tables = [_table(env, [one for one in compared if one.env == env], plan, records)
              for env in environments()]  # fmt: skip
    return Section(
        (_verdicts(compared), *tables),
        tuple(figures),
        _words(compared),
        claims=tuple(_claim(agent, compared) for agent in AGENTS),
        panels=tuple(shown),
    )


def _claim(agent: str, compared: Sequence[Compared]) -> Claim:
    """The conjecture for one agent, at the smallest discount."""
    these = [one for one in compared if one.agent == agent and one.source == SMALLEST]
    count = {word: sum(one.verdict == word for one in these) for word in VERDICTS}
    worse = f", does worse in {count['worse']}" if count["worse"] else ""
    return Claim(
        f"{AGENTS[agent]} could read its counts off the norm of the substochastic SR",
        "conjectured",
        f"takes the same actions in {count['same']} of {len(these)} MDPs{worse} "
        f"(γ = {SMALLEST.gamma_ssr:g})",
        DIFFERS if count["worse"] else REPRODUCED,
    )


def _verdicts(compared: Sequence[Compared]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for source in dict.fromkeys(one.source for one in compared):
        for agent, label in AGENTS.items():
            these = [one for one in compared if (one.source, one.agent) == (source, agent)]
            verdicts = [one.verdict for one in these]
            counts = [verdicts.count(word) for word in VERDICTS]
            rows.append((source.label, label, len(these), *counts))
    note = (
        "How many environments. same: all traced runs take every action as with true counts; open, "
        "better, worse: where the 95% interval of the paired difference of returns lies about, above "
        "or below 0."
    )
    columns = ("counts from", "agent", "of", *VERDICTS)
    return Table("Against true counts", columns, tuple(rows), labels=2, note=note)


def _table(env: str, compared: Sequence[Compared], plan: Plan, records: Records) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for agent, label in AGENTS.items():
        counted = summarise(records.returns(agent_job(agent, env, TRUE, plan))[0])
        mean = Estimate(counted.mean, counted.half)
        rows.append((label, TRUE.label, mean, None, None, None, None))
        for one in compared:
            if one.agent == agent:
                exact = one.source == EXACT
                rows.append(
                    (
                        label,
                        one.source.label,
                        Estimate(one.summary.mean, one.summary.half),
                        Estimate(one.difference.mean, one.difference.half),
                        None if exact else float(one.errors.error[-1]),
                        float(one.errors.parted[-1]),
                        one.median_parting,
                    )
                )
    runs = agent_job("rmax", env, TRUE, plan).runs
    number = ",.0f" if abs(compared[0].summary.mean) > 1000 else ",.2f"
    columns = (
        "agent", "counts from", "mean ± 95% CI", "minus true ± 95% CI", "count error", "part",
        "at step",
    )  # fmt: skip
    formats = dict.fromkeys(columns[2:4], number) | {"count error": ".1%", "part": ".0%"}
    note = (
        f"{runs:,} runs, each with the same draws whatever the counts come from. count error: of the "
        "pair just tried, mean over the last steps. part: the share of runs that take another action "
        "at some step; at step: the median step at which they first do (none where fewer than half do)."
    )
    mdp = make_mdp(env)
    title = f"{DOMAIN_LABELS.get(env, env)}: {mdp.n_states} states"
    formats["at step"] = ",.0f"
    return Table(title, columns, tuple(rows), labels=2, note=note, formats=formats)


def _words(compared: Sequence[Compared]) -> tuple[str, ...]:
    def told(counts: str, gamma: float, *agents: str) -> str:
        these = [
            one for one in compared if one.source == Source(counts, gamma) and one.agent in agents
        ]
        parts = []
        for verdict, phrase in VERDICTS.items():
            cases = [f"{AGENTS[one.agent]} in {one.env}" for one in these if one.verdict == verdict]
            named = f" ({', '.join(cases)})" if cases and verdict in ("better", "worse") else ""
            parts.append(f"{phrase} in {len(cases)} of {len(these)}{named}")
        return "; ".join(parts)

    words = [
        "Theorem 1 holds the count between n̂_low = γ/(1/(1−γ) − ‖Ψ̃‖₁) − 1 (ssr-low) and "
        "n̂ = γ/((1+γ) − ‖Ψ̃‖₁) − 1 (ssr). The upper end is finite for sure only while "
        "n + 1 < (1−γ)/γ: up to 7 visits at γ = 0.1, 97 at 0.01, 997 at 0.001, none from γ = 0.5 on. "
        "It reaches m with the m-th visit, and not before, for sure if γ ≤ 1/m².",
        "ssr at γ = 0.001, R-Max and E3, which need counts up to m: "
        f"{told('ssr', 0.001, 'rmax', 'e3')}.",
        "ssr at γ = 0.001, MBIE-EB, which needs counts of any size: "
        f"{told('ssr', 0.001, 'mbie-eb')}.",
        "ssr at γ = 0.1, all agents, whose counts are then overstated from the first visits on, so "
        "that pairs pass for known early and bonuses vanish early: "
        f"{told('ssr', 0.1, *AGENTS)}.",
        "ssr-low at γ = 0.01, all agents, whose counts are never overstated: "
        f"{told('ssr-low', 0.01, *AGENTS)}.",
        "Where all that lies ahead is known equally well, n̂_low + 1 is near (1−γ)² (n+1): its error "
        "settles near 1 − (1−γ)², 2% at γ = 0.01, 51% at 0.3, 99% at 0.9.",
    ]
    exact = [one for one in compared if one.source == EXACT]
    same = sum(one.verdict == "same" for one in exact)
    words.append(
        "With the norms of the states entered as well, n/(n+1) = (‖Ψ̃(s,a)‖₁ − 1) / (γ · their mean) "
        f"exactly, at any γ: at γ = {EXACT.gamma_ssr:g} all runs take the same actions as with true "
        f"counts in {same} of {len(exact)} cases."
    )
    return tuple(words)


EXPERIMENT = Experiment(
    "conjecture",
    "SSR norms in place of counts in R-Max, MBIE-EB and E3, in eight MDPs",
    "The paper's conjecture: SSR norms in place of visit counts, undiscounted return of 5,000 steps",
    "tabular",
    jobs,
    render,
    minutes=6.0,
)
