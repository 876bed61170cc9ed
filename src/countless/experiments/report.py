"""A folder of results as one self-contained HTML page: the paper's experiments, and all other runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.analysis.charts import Explorer, Panels, Sweep, curve_chart, distribution_chart
from countless.analysis.html import (
    contents,
    figure_html,
    folded,
    page,
    panels_html,
    paragraph,
    provenance_html,
    table_html,
)
from countless.analysis.tables import Cell, Estimate, Table, counted
from countless.core.errors import CountlessError
from countless.experiments.catalogue import EXPERIMENTS
from countless.experiments.experiment import (
    DIFFERS,
    OPEN,
    REPRODUCED,
    Claim,
    Finished,
    is_planned,
    planned_jobs,
    show,
)
from countless.runs.groups import Curve, Group, best_first, label_groups, varying_parameters
from countless.runs.result import Result
from countless.runs.store import StoredJob, stored_jobs

TITLE = "Countless: count-based exploration, without counting"
INTRODUCTION = (
    "The norm of the successor representation (SR), while it is being learned, says how often a "
    "state was visited, so its inverse is an exploration bonus (Machado, Bellemare & Bowling, AAAI "
    "2020). This page shows what was run here, beside what the paper prints."
)
WORDS = (
    "SD: the sample standard deviation. IQM: the mean of the middle half. Intervals: 95% bootstrap "
    "intervals of the mean (above 20,000 runs, normal ones; below five runs, none)."
)
VERDICT_CLASSES = {REPRODUCED: "reproduced", DIFFERS: "differs", OPEN: "open"}
MOST_ROWS = 50  # of one environment: the best settings of a large sweep
MOST_CURVES = 12
MANY_SETTINGS = 6  # from which on a sweep is worth filtering
MANY_RUNS = 20  # from which on a distribution is worth a look


def finished_experiments(results: Path) -> list[Finished]:
    """The experiments that were run to their end in a folder of results."""
    return [
        show(experiment, results)
        for experiment in EXPERIMENTS.values()
        if is_planned(experiment, results)
    ]


def other_jobs(results: Path) -> list[StoredJob]:
    """The jobs that no experiment shows."""
    shown = {
        folder
        for experiment in EXPERIMENTS.values()
        for folder in planned_jobs(experiment, results)
    }
    return [
        job
        for job in stored_jobs(results)
        if job.folder is not None and job.folder.name not in shown
    ]


def report_html(results: Path) -> tuple[str, list[str]]:
    """The page, and the names of what it shows."""
    finished = finished_experiments(results)
    own = Result(other_jobs(results))
    if not finished and not own.groups:
        raise CountlessError(
            f"{results} holds no results; make some with `countless run`, `countless sweep` or "
            "`countless reproduce`"
        )
    body, links = [], []
    for item in finished:
        links.append((item.experiment.name, item.experiment.title))
        body.append(_experiment_html(item))
    for env in dict.fromkeys(group.env for group in own.groups):
        anchor = f"runs-{env}"
        links.append((anchor, f"Runs in {env}"))
        body.append(_runs_html(anchor, env, [g for g in own.groups if g.env == env]))
    claims = [(item.experiment.name, claim) for item in finished for claim in item.section.claims]
    head = [scoreboard_html(claims)] if claims else []
    page_html = page(TITLE, INTRODUCTION, [*head, contents(links), paragraph(WORDS)], body)
    return page_html, [anchor for anchor, _ in links]


def scoreboard_html(claims: Sequence[tuple[str, Claim]]) -> str:
    """What the paper says, what came out here, and the verdict: one row per claim, linked to where it
    is shown."""
    verdicts = [claim.verdict for _, claim in claims]
    tally = "".join(
        f"<li><b>{verdicts.count(verdict)}</b>{escape(verdict)}</li>"
        for verdict in (REPRODUCED, DIFFERS, OPEN)
        if verdict in verdicts
    )
    rows = "".join(
        f'<tr><th scope="row"><a href="#{anchor}">{escape(claim.claim)}</a></th>'
        f'<td data-of="paper">{escape(claim.paper)}</td><td data-of="ours">{escape(claim.ours)}</td>'
        f'<td class="verdict {VERDICT_CLASSES[claim.verdict]}">{escape(claim.verdict)}</td></tr>'
        for anchor, claim in claims
    )
    heads = "".join(
        f'<th scope="col">{name}</th>' for name in ("claim", "paper", "ours", "verdict")
    )
    return (
        f'<h2 id="scoreboard">What the paper says, and what came out here</h2>'
        f'<ul class="tally">{tally}</ul><table class="score"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _experiment_html(item: Finished) -> str:
    section = item.section
    parts = [f'<section id="{item.experiment.name}"><h2>{escape(item.experiment.title)}</h2>']
    parts += [panels_html(panels) for panels in section.panels]
    parts += [
        figure_html(figure.stem, figure.caption)
        for figure in section.figures
        if not figure.interactive
    ]
    parts += [paragraph(text) for text in section.words]
    first, *more = [table_html(table) for table in section.tables] or [""]
    parts.append(first)
    if more:
        parts.append(folded(f"All numbers: {counted(len(more), 'more table')}", more))
    parts.append(provenance_html([item.made["command"]], provenance_lines(item.made)))
    return "\n".join([*parts, "</section>"])


def provenance_lines(made: Mapping[str, Any]) -> dict[str, str]:
    """What made a section, in words."""
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    commit = f", commit {made['commit']}" if made.get("commit") else ""
    dates = made["first"] if made["first"] == made["last"] else f"{made['first']} to {made['last']}"
    return {
        "made by": made["command"],
        "took": f"{made['seconds']:,.1f} s of work on {made['jobs']} job{'s' * (made['jobs'] != 1)}",
        "seeds": made["seeds"],
        "on": f"{made['machine']}",
        "date": f"{dates}",
        "versions": versions + commit,
    }


def runs_table(groups: Sequence[Group]) -> Table:
    """One row per agent and setting, the best first."""
    rows: list[tuple[Cell, ...]] = []
    ranked = best_first(groups)
    labels = dict(zip(map(id, groups), label_groups(groups), strict=True))
    for group in ranked[:MOST_ROWS]:
        summary, label = group.summary, labels[id(group)]
        if summary is None:
            rows.append((label, group.length, 0, None, None, None, None))
            continue
        mean = Estimate(summary.mean, summary.half)
        statistics = (summary.sd, summary.median, summary.iqm)
        rows.append((label, group.length, summary.runs, mean, *statistics))
    columns = ("agent", "length", "runs", "mean return ± 95% CI", "SD", "median", "IQM")
    note = (
        "The return of a run is the sum of its rewards (tabular agents) or the mean return of its "
        "last 100 episodes (deep agents)."
    )
    if len(ranked) > len(rows):
        note += f" The best {len(rows)} of {len(ranked):,} settings are shown."
    return Table("Returns, the best first", columns, tuple(rows), labels=2, note=note)


def _runs_html(anchor: str, env: str, groups: Sequence[Group]) -> str:
    parts = [f'<section id="{escape(anchor, quote=True)}"><h2>Runs in {escape(env)}</h2>']
    best = best_first(groups)[:MOST_CURVES]
    parts += [panels_html(panels) for panels in _panels(anchor, best)]
    parts += [panels_html(panels) for panels in _sweeps(anchor, groups)]
    parts.append(table_html(runs_table(groups)))
    jobs = {job.about["id"]: job for group in groups for job in group.jobs}
    commands = list(dict.fromkeys(str(job.about["command"]) for job in jobs.values()))
    dates = sorted(str(job.about["date"]) for job in jobs.values())
    latest = max(jobs.values(), key=lambda job: str(job.about["date"]))
    made = {
        "command": "; ".join(commands[:5]) + ("; ..." if len(commands) > 5 else ""),
        "jobs": len(jobs),
        "seconds": sum(job.seconds for job in jobs.values()),
        "seeds": ", ".join(dict.fromkeys(str(job.about["seed"]) for job in jobs.values())),
        "first": dates[0],
        "last": dates[-1],
        **{name: latest.about.get(name) for name in ("versions", "commit", "machine")},
    }
    parts.append(provenance_html(commands, provenance_lines(made)))
    return "\n".join([*parts, "</section>"])


def _panels(anchor: str, groups: Sequence[Group]) -> list[Panels]:
    """Learning curves, one chart per length of runs; and how the returns are distributed."""
    labels = dict(zip(map(id, groups), label_groups(groups), strict=True))
    curves: dict[str, dict[str, tuple[str, Curve]]] = {}
    returns: dict[str, dict[str, NDArray[np.float64]]] = {}
    for group in groups:
        title, label = f"runs of {group.length}", labels[id(group)]
        if group.curve is not None:
            curves.setdefault(title, {})[label] = (group.agent, group.curve)
        if np.isfinite(group.returns).sum() >= MANY_RUNS:
            returns.setdefault(title, {})[label] = group.returns
    shown = []
    if curves:
        charts = tuple(curve_chart(title, of) for title, of in curves.items())
        caption = "Learning curves: mean over runs, with a 95% band from two runs on."
        shown.append(Panels(f"{anchor}-curves", caption, charts))
    if returns:
        charts = tuple(distribution_chart(title, of) for title, of in returns.items())
        caption = "All runs: the share of them that reach at least a return."
        shown.append(Panels(f"{anchor}-returns", caption, charts))
    return shown


def _sweeps(anchor: str, groups: Sequence[Group]) -> list[Panels]:
    """The settings of each agent that was swept, to be filtered."""
    sweeps = {}
    for agent in dict.fromkeys(group.agent for group in groups):
        of_agent = [group for group in groups if group.agent == agent and group.summary is not None]
        names = [
            name
            for name in varying_parameters(of_agent)
            if all(isinstance(group.config.get(name), int | float) for group in of_agent)
        ]
        if len(of_agent) >= MANY_SETTINGS and names:
            parameters = {name: [float(group.config[name]) for group in of_agent] for name in names}
            means = [group.summary.mean for group in of_agent if group.summary is not None]
            sweeps[agent] = Sweep(parameters, means)
    if not sweeps:
        return []
    caption = (
        "Mean return against each parameter, over all settings or over those that you pick. The band "
        "is the middle half of them, the thin line their median, the thick one the best."
    )
    explorer = Explorer("What the return depends on", "mean return", sweeps)
    return [Panels(f"{anchor}-settings", caption, (explorer,))]
