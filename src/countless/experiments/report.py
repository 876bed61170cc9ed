"""A folder of results as one self-contained HTML page: the paper's experiments, and all other runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
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
from countless.analysis.statistics import FEWEST_RUNS, Summary
from countless.analysis.tables import Cell, Table, counted, number
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
from countless.runs.groups import (
    Curve,
    Group,
    best_first,
    label_groups,
    partial_words,
    short_value,
    varying_parameters,
)
from countless.runs.result import Result
from countless.runs.store import StoredJob, stored_jobs

TITLE = "Countless: count-based exploration, without counting"
INTRODUCTION = (
    "The norm of the successor representation (SR), while it is being learned, says how often a "
    "state was visited, so its inverse is an exploration bonus (Machado, Bellemare & Bowling, AAAI "
    "2020). This page shows what was run here"
)
WORDS = (
    "SD: the sample standard deviation. IQM: the mean of the middle half. From five runs on, an "
    "interval or a band is the 95% bootstrap interval of the mean (of very many runs the normal one, "
    "which is then the same). Fewer than five runs have no interval: what is shown then is their "
    "range, from the lowest run to the highest."
)
VERDICT_CLASSES = {REPRODUCED: "reproduced", DIFFERS: "differs", OPEN: "open"}
MOST_ROWS = 50  # of one environment: the best settings of a large sweep
MOST_CURVES = 12
MOST_AGENTS, MOST_PARAMETERS = 8, 14  # of a section, whose parameters are listed
TOLD = (  # first, of those that do not differ
    "alpha", "learning_rate", "gamma", "epsilon", "beta", "norm", "eta", "gamma_sr", "initial_value",
    "bonus", "bonus_limit", "epsilon_steps", "warmup", "batch", "replay", "network",
)  # fmt: skip
MANY_SETTINGS = 6  # from which on a sweep is worth filtering
MANY_RUNS = 20  # from which on a distribution is worth a look


def finished_experiments(results: Path) -> list[Finished]:
    """The experiments that were run to their end in a folder of results, whole or not."""
    return [
        show(experiment, results, whole=False)
        for experiment in EXPERIMENTS.values()
        if is_planned(experiment, results)
    ]


def other_jobs(jobs: Sequence[StoredJob], shown: Collection[str]) -> list[StoredJob]:
    """The jobs that no experiment shows, given the folders of those that are shown."""
    return [job for job in jobs if job.folder is not None and job.folder.name not in shown]


def report_html(results: Path) -> tuple[str, list[str]]:
    """The page, and the names of what it shows."""
    finished = finished_experiments(results)
    jobs = stored_jobs(results)
    abouts = {job.folder.name: job.about for job in jobs if job.folder is not None}
    planned = {name: planned_jobs(one, results) for name, one in EXPERIMENTS.items()}
    own = Result(other_jobs(jobs, {folder for of in planned.values() for folder in of}))
    if not finished and not own.groups:
        raise CountlessError(
            f"{results} holds no results; make some with `countless run`, `countless sweep` or "
            "`countless reproduce`"
        )
    body, links = [], []
    for item in finished:
        links.append((item.experiment.name, item.experiment.title))
        folders = planned[item.experiment.name]
        body.append(_experiment_html(item, [abouts[one] for one in folders if one in abouts]))
    for env in dict.fromkeys(group.env for group in own.groups):
        anchor = f"runs-{env}"
        links.append((anchor, f"Runs in {env}"))
        body.append(_runs_html(anchor, env, [g for g in own.groups if g.env == env]))
    claims = [(item.experiment.name, claim) for item in finished for claim in item.section.claims]
    ran = paragraph(ran_words(jobs))
    head = [scoreboard_html(claims), ran] if claims else [ran]
    lead = INTRODUCTION + (", beside what the paper says." if claims else ".")
    page_html = page(TITLE, lead, [*head, contents(links), paragraph(WORDS)], body)
    return page_html, [anchor for anchor, _ in links]


def ran_words(jobs: Sequence[StoredJob]) -> str:
    """What was run, in a sentence or two."""
    known = [job.about for job in jobs if job.about.get("agent")]
    played = [about for about in known if about.get("engine") != "measurement"]
    measured = len(known) - len(played)
    said = []
    if played:
        agents, envs = (
            _listed(sorted({str(a[name]) for a in played})) for name in ("agent", "env")
        )
        said.append(f"{counted(len(played), 'job')} of {agents} in {envs}")
    if measured:
        said.append(counted(measured, "job") + " that measured something else than returns")
    partial = sum(job.finished is None for job in jobs)
    end = f" {counted(partial, 'job')} of these did not run to the end." if partial else ""
    return f"What was run here: {', and '.join(said)}.{end}"


def _listed(names: Sequence[str], most: int = 6) -> str:
    """Some names, and how many more there are."""
    if len(names) > most:
        return ", ".join(names[:most]) + f" and {len(names) - most} more"
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])


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


def _experiment_html(item: Finished, abouts: Sequence[Mapping[str, Any]]) -> str:
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
    lines = provenance_lines(item.made, abouts)
    parts.append(provenance_html([item.made["command"]], lines))
    return "\n".join([*parts, "</section>"])


def provenance_lines(
    made: Mapping[str, Any], abouts: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """What made a section, in words; `abouts` are its jobs, as they describe themselves."""
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    commit = f", commit {made['commit']}" if made.get("commit") else ""
    first, last = day(made["first"]), day(made["last"])
    return {
        "made by": made["command"],
        **parameter_lines(abouts),
        "took": f"{made['seconds']:,.1f} s of work on {made['jobs']} job{'s' * (made['jobs'] != 1)}",
        "seeds": made["seeds"],
        "on": f"{made['machine']}",
        "date": first if first == last else f"{first} to {last}",
        "versions": versions + commit,
    }


def day(date: str | None) -> str:
    """A date as people read it.

    >>> day("2026-11-16T15:01:16+00:00")
    '16 November 2026, 15:01 UTC'
    """
    try:
        at = datetime.fromisoformat(str(date)).astimezone(UTC)
    except ValueError:
        return "not known"
    return f"{at.day} {at:%B %Y, %H:%M} UTC"


def parameter_lines(abouts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The parameters of each agent: those that differ first, then as many others as fit."""
    configs: dict[str, list[Mapping[str, Any]]] = {}
    for about in abouts:
        identity = about.get("identity", {})
        found = identity.get("settings") or [identity.get("config") or identity.get("parameters")]
        agent = str((found[0] or {}).get("of", about.get("agent")))
        configs.setdefault(agent, []).extend(one for one in found if one)
    return {
        f"parameters of {agent}": _parameter_words(found)
        for agent, found in list(configs.items())[:MOST_AGENTS]
        if found
    }


def _parameter_words(configs: Sequence[Mapping[str, Any]]) -> str:
    names = dict.fromkeys(name for one in configs for name in one if name != "of")
    values = {
        name: list(dict.fromkeys(short_value(one.get(name)) for one in configs)) for name in names
    }
    differ = [name for name, of in values.items() if len(of) > 1]
    same = [name for name in (*TOLD, *names) if name in values and name not in differ]
    listed = [*differ, *dict.fromkeys(same)]
    words = [
        f"{name} {' or '.join(values[name][:5])}{' or ...' * (len(values[name]) > 5)}"
        for name in listed[:MOST_PARAMETERS]
    ]
    more = len(listed) - len(words)
    return ", ".join(words) + (f", and {more} more in the job's job.json" if more else "")


def labels_of(groups: Sequence[Group]) -> dict[int, str]:
    """The label of each group by its identity; one that is not finished says so."""
    labels = {}
    for group, label in zip(groups, label_groups(groups), strict=True):
        partial = partial_words(group)
        labels[id(group)] = f"{label} ({partial})" if partial else label
    return labels


def runs_table(groups: Sequence[Group]) -> Table:
    """One row per agent and setting, the best first."""
    rows: list[tuple[Cell, ...]] = []
    ranked = best_first(groups)
    labels = labels_of(groups)
    lengths = {group.length for group in groups}
    for group in ranked[:MOST_ROWS]:
        summary = group.summary
        names = (labels[id(group)], *([group.length] if len(lengths) > 1 else []))
        if summary is None:
            rows.append((*names, 0, None, None, None, None, None))
            continue
        statistics = (summary.sd, summary.median, summary.iqm)
        rows.append((*names, summary.runs, summary.mean, ends_words(summary), *statistics))
    columns = ("runs", "mean", "95% interval", "SD", "median", "IQM")
    names = ("agent", *(["length"] if len(lengths) > 1 else []))
    note = (
        "The return of a run is the sum of its rewards (tabular agents) or the mean return of its "
        "last 100 episodes (deep agents)."
    )
    if any(group.summary is not None and group.summary.runs < FEWEST_RUNS for group in groups):
        note += " Fewer than five runs have no interval; their range is given instead."
    if len(ranked) > len(rows):
        note += f" The best {len(rows)} of {len(ranked):,} settings are shown."
    title = f"Returns of runs of {lengths.pop()}, the best first" if len(lengths) == 1 else (
        "Returns, the best first"
    )  # fmt: skip
    return Table(title, (*names, *columns), tuple(rows), labels=len(names), note=note)


def ends_words(summary: Summary) -> str:
    """The interval of a mean, or the range of runs that are too few for one."""
    if summary.runs >= FEWEST_RUNS:
        return " to ".join(map(number, summary.ci95))
    if summary.runs == 1:
        return "one run"
    return f"range {number(summary.min)} to {number(summary.max)}"


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
    lines = provenance_lines(made, [job.about for job in jobs.values()])
    parts.append(provenance_html(commands, lines))
    return "\n".join([*parts, "</section>"])


def _panels(anchor: str, groups: Sequence[Group]) -> list[Panels]:
    """Learning curves, one chart per length of runs; and how the returns are distributed."""
    labels = labels_of(groups)
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
        sizes = {len(group.returns) for group in groups if group.curve is not None}
        caption = f"Learning curves: mean over runs. {band_words(sizes)}".strip()
        shown.append(Panels(f"{anchor}-curves", caption, charts))
    if returns:
        charts = tuple(distribution_chart(title, of) for title, of in returns.items())
        caption = "All runs: the share of them that reach at least a return."
        shown.append(Panels(f"{anchor}-returns", caption, charts))
    return shown


def band_words(sizes: Collection[int]) -> str:
    """What the bands around curves are, of so many runs each."""
    said = []
    if any(runs >= FEWEST_RUNS for runs in sizes):
        said.append("the 95% interval of the mean where there are five runs or more")
    if any(1 < runs < FEWEST_RUNS for runs in sizes):
        said.append("the range from the lowest to the highest run where there are fewer than five")
    return f"The band is {', and '.join(said)}." if said else "A single run has no band."


def _sweeps(anchor: str, groups: Sequence[Group]) -> list[Panels]:
    """The settings of each agent that was swept, to be filtered."""
    sweeps = {}
    for agent in dict.fromkeys(group.agent for group in groups):
        of_agent = [group for group in groups if group.agent == agent and group.summary is not None]
        names = [
            name
            for name in varying_parameters([group.config for group in of_agent])
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
