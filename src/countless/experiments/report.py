"""A folder of results as one self-contained HTML page: the paper's experiments, and all other runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from countless.analysis.curves import draw_curves
from countless.analysis.html import definition_list, figure_html, page, paragraph, table_html
from countless.analysis.tables import Cell, Estimate, Table
from countless.core.errors import CountlessError
from countless.core.records import ensure_folder
from countless.experiments.catalogue import EXPERIMENTS
from countless.experiments.experiment import (
    FOLDER,
    Figure,
    Finished,
    is_planned,
    planned_jobs,
    show,
)
from countless.runs.groups import Group, best_first, label_groups
from countless.runs.result import Result
from countless.runs.store import StoredJob, stored_jobs

TITLE = "Countless: count-based exploration, without counting"
INTRODUCTION = (
    "The norm of the successor representation (SR), while it is being learned, says how often a "
    "state was visited, so its inverse is an exploration bonus (Machado, Bellemare & Bowling, "
    "“Count-Based Exploration with the Successor Representation”, AAAI 2020). The SD is the sample "
    "standard deviation; the IQM is the mean of the middle half; intervals are 95% bootstrap "
    "intervals of the mean (above 20,000 runs, normal ones; below five runs, none)."
)
MOST_ROWS = 50  # of one environment: the best settings of a large sweep
MOST_CURVES = 12


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
    body = [paragraph(INTRODUCTION)]
    contents = []
    for item in finished:
        contents.append((item.experiment.name, item.experiment.title))
        body.append(_experiment_html(item))
    figures = ensure_folder(results / FOLDER / "runs") if own.groups else results
    for env in dict.fromkeys(group.env for group in own.groups):
        anchor = f"runs-{env}"
        contents.append((anchor, f"Runs in {env}"))
        body.append(_runs_html(anchor, env, [g for g in own.groups if g.env == env], figures))
    return page(TITLE, contents, body), [anchor for anchor, _ in contents]


def _experiment_html(item: Finished) -> str:
    parts = [f'<section id="{item.experiment.name}"><h2>{item.experiment.title}</h2>']
    parts += [table_html(table) for table in item.section.tables]
    parts += [figure_html(figure.stem, figure.caption) for figure in item.section.figures]
    parts += [paragraph(text) for text in item.section.words]
    parts.append(definition_list(provenance_lines(item.made)))
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


def _runs_html(anchor: str, env: str, groups: Sequence[Group], folder: Path) -> str:
    parts = [f'<section id="{escape(anchor)}"><h2>Runs in {escape(env)}</h2>']
    parts.append(table_html(runs_table(groups)))
    stem = folder / "".join(c if c.isalnum() else "-" for c in env)
    best = best_first(groups)[:MOST_CURVES]
    drawn = _draw(stem, [group for group in best if group.curve is not None])
    parts += [figure_html(figure.stem, figure.caption) for figure in drawn]
    jobs = {job.about["id"]: job for group in groups for job in group.jobs}
    commands = dict.fromkeys(str(job.about["command"]) for job in jobs.values())
    dates = sorted(str(job.about["date"]) for job in jobs.values())
    latest = max(jobs.values(), key=lambda job: str(job.about["date"]))
    made = {
        "command": "; ".join(list(commands)[:5]) + ("; ..." if len(commands) > 5 else ""),
        "jobs": len(jobs),
        "seconds": sum(job.seconds for job in jobs.values()),
        "seeds": ", ".join(dict.fromkeys(str(job.about["seed"]) for job in jobs.values())),
        "first": dates[0],
        "last": dates[-1],
        **{name: latest.about.get(name) for name in ("versions", "commit", "machine")},
    }
    parts.append(definition_list(provenance_lines(made)))
    return "\n".join([*parts, "</section>"])


def _draw(stem: Path, groups: Sequence[Group]) -> list[Figure]:
    """Learning curves, one panel per length of runs."""
    if not groups:
        return []
    panels: dict[str, dict[str, Any]] = {}
    for label, group in zip(label_groups(groups), groups, strict=True):
        panels.setdefault(f"runs of {group.length}", {})[label] = (group.agent, group.curve)
    draw_curves(stem, panels)
    return [Figure(stem, "Learning curves: mean over runs, with a 95% band from two runs on.")]
