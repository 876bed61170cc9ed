"""MiniGrid: does a bonus make other people's agents solve more?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from countless.analysis.charts import Intervals, Mark, Panels, curve_chart, profile_chart
from countless.analysis.curves import line_styles
from countless.analysis.statistics import pooled_iqm, probability_of_improvement
from countless.analysis.tables import Cell, Table, counted
from countless.envs.minigrid import PICTURES, SYMBOLS, VIEWS
from countless.experiments.experiment import (
    Experiment,
    Figure,
    Plan,
    Records,
    Returns,
    Section,
    unfinished,
)
from countless.experiments.minigrid_plan import (
    ALONE,
    ENTROPY,
    EXTENTS,
    PUBLISHED,
    ROWS,
    TASKS,
    Extent,
    cell_job,
    cells,
    env_of,
    jobs,
    rows_of,
    seeds_of,
    task_of,
)
from countless.runs.groups import LAST, groups_of
from countless.runs.host_agents import PPOConfig
from countless.runs.solved import Solved, first
from countless.runs.store import StoredJob

LOOKS = 20  # during a run, at equal distances
STABLE = Solved(least=1e-9, share=0.9, window=LAST, overall=0.0)  # any return above 0 is a success


@dataclass(frozen=True)
class Outcome:
    """What one seed came to."""

    success: float  # share of the last 100 episodes
    steps: int | None  # until 90 of 100 episodes in a row were successes
    area: float  # the same share, looked at `LOOKS` times during the run, on average


def outcome(job: StoredJob) -> Outcome:
    """From the episodes of one seed; a run without an episode has had no success."""
    assert job.records is not None
    returns, frames = (job.records[name].to_numpy() for name in ("return", "frames"))
    at = first(STABLE.stable(returns))
    steps = None if at is None else int(frames[at - 1])
    whole = frames[-1] if len(frames) else 0
    looks = [_share(returns[frames <= whole * k / LOOKS]) for k in range(1, LOOKS + 1)]
    return Outcome(looks[-1], steps, float(np.mean(looks)))


def _share(returns: Returns) -> float:
    """Successes among the last 100 episodes."""
    return float((returns[-LAST:] > 0.0).mean()) if len(returns) else 0.0


Found = dict[tuple[str, str, str], list[StoredJob]]


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """One table per task and view, one over all tasks, curves, and profiles."""
    from countless.analysis.curves import draw_curves
    from countless.analysis.plots_minigrid import draw_profiles

    found: Found = {
        (row.label, env, view): [
            done
            for seed in seeds_of(row, view, plan)
            if (done := records.find(cell_job(row, env, view, seed, plan))) is not None
        ]
        for env, view in cells(plan)
        for row in rows_of(view)
    }
    tables = [_cell_table(env, view, found) for env, view in cells(plan)]
    ends = {
        row.label: [[outcome(job) for job in found[row.label, env, SYMBOLS]] for env in plan.games]
        for row in ROWS
        if SYMBOLS in row.views and all(found[row.label, env, SYMBOLS] for env in plan.games)
    }
    whole, areas = (
        {
            label: [np.array([getattr(one, name) for one in seeds]) for seeds in tasks]
            for label, tasks in ends.items()
        }
        for name in ("success", "area")
    )
    panels = {
        _panel(family, env, view): {
            row.explores_by: (row.explores_by, curve)
            for row in ROWS
            if row.family == family
            and (kept := found.get((row.label, env, view)))
            and (curve := groups_of(kept)[0].curve) is not None
        }
        for view in VIEWS  # one row of panels per family, then the pictures
        for family in ALONE
        for env, seen_as in cells(plan)
        if seen_as == view
    }
    chosen = line_styles({row.explores_by: row.explores_by for row in ROWS})
    figures: list[Figure] = []
    shown: list[Panels] = []
    if drawn := {title: panel for title, panel in panels.items() if panel}:
        draw_curves(folder / "curves", drawn, chosen)
        figures.append(
            Figure(
                folder / "curves",
                "Return of the task alone, without the bonus, against frames, each of which is a step: "
                "mean over the seeds with its 95% band, or the range of fewer than five seeds. A "
                "return above 0 is a success; the quicker, the closer to 1.",
                interactive=True,
            )
        )
        charts = tuple(curve_chart(title, panel, chosen) for title, panel in drawn.items())
        shown.append(Panels("minigrid-curves", figures[-1].caption, charts))
    if whole:
        profiles = {
            f"{family}, all tasks as symbols": {
                row.explores_by: whole[row.label]
                for row in ROWS
                if row.family == family and row.label in whole
            }
            for family in ALONE
        }
        profiles = {title: scores for title, scores in profiles.items() if scores}
        draw_profiles(folder / "profiles", profiles, chosen)
        figures.append(
            Figure(
                folder / "profiles",
                "Performance profiles over all tasks seen as symbols: the share of runs with at least "
                "that success in their last 100 episodes.",
                interactive=True,
            )
        )
        x = "success in the last 100 episodes (%)"
        charts = tuple(
            profile_chart(title, scores, x, chosen=chosen) for title, scores in profiles.items()
        )
        caption = f"{figures[-1].caption} The band is the 95% interval, from five seeds on."
        shown.append(Panels("minigrid-profiles", caption, charts))
    if any(found.values()):
        shown.append(_successes(found, plan, whole))
    extent = EXTENTS[plan.scale]
    ended = sum(map(len, found.values()))
    planned = sum(len(several) for several in jobs(plan, records))
    return Section(
        (*tables, *([_overall(whole, areas, plan)] if whole else [])),
        tuple(figures),
        (*unfinished(ended, planned), *_words(extent)),
        " ".join(map(str, plan.seeds)),
        panels=tuple(shown),
    )


def _panel(family: str, env: str, view: str) -> str:
    """What a panel of curves is called."""
    return f"{family} in {task_of(env)}" + (" (pictures)" if view == PICTURES else "")


def _successes(found: Found, plan: Plan, whole: Mapping[str, Sequence[Returns]]) -> Panels:
    """The interquartile mean of the success of each agent, over all tasks and in each of them."""
    cases = {"All tasks as symbols": whole} if whole else {}
    cases |= {
        f"{task_of(env)}, {view}": {
            row.label: [np.array([outcome(job).success for job in seeds])]
            for row in ROWS
            if (seeds := found.get((row.label, env, view)))
        }
        for env, view in cells(plan)
    }
    charts = []
    for title, scores in cases.items():
        rows = {}
        for label, tasks in scores.items():
            iqm, (low, high) = pooled_iqm([100.0 * runs for runs in tasks])
            rows[label] = {"IQM": Mark(iqm, (low, high), counted(len(tasks[0]), "seed"))}
        if rows:
            charts.append(Intervals(title, "agent", "IQM of the success (%)", rows))
    caption = (
        "Success in the last 100 episodes: the interquartile mean (IQM) over the seeds and, from five "
        "seeds on, its 95% interval by a bootstrap that draws the seeds of every task anew (Agarwal "
        "et al. 2021)."
    )
    return Panels("minigrid-success", caption, tuple(charts))


def _cell_table(env: str, view: str, found: Found) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for row in ROWS:
        if (row.label, env, view) not in found:
            continue
        seeds = [outcome(job) for job in found[row.label, env, view]]
        known = [one.steps for one in seeds if one.steps is not None]
        rows.append(
            (
                row.label,
                float(np.mean([100.0 * one.success for one in seeds])) if seeds else None,
                f"{len(known)} of {len(seeds)}" if seeds else None,
                float(np.median(known)) / 1000.0 if known else None,
            )
        )
    for label, (success, thousands) in PUBLISHED[task_of(env)].items():
        if success is not None and view == SYMBOLS:
            rows.append((f"published: {label}", success, None, thousands))
    columns = ("agent", "success %", "seeds at 90%", "thousand steps")
    formats = {"success %": ".1f", "thousand steps": ",.0f"}
    return Table(f"{task_of(env)}, seen as {view}", columns, tuple(rows), formats=formats)


def _overall(
    scores: Mapping[str, list[Returns]], areas: Mapping[str, list[Returns]], plan: Plan
) -> Table:
    """The interquartile mean over all tasks and seeds, and how often a bonus beats none."""
    rows: list[tuple[Cell, ...]] = []
    for label, tasks in scores.items():
        value, interval = pooled_iqm(tasks)
        over_run, its_interval = pooled_iqm(areas[label])
        better: tuple[Cell, Cell] = (None, None)
        alone = ALONE[next(row.family for row in ROWS if row.label == label)]
        if label != alone and alone in scores:
            chance, bounds = probability_of_improvement(areas[label], areas[alone])
            better = chance, _interval(bounds)
        rows.append((label, value, _interval(interval), over_run, _interval(its_interval), *better))
    columns = (
        "agent", "IQM at the end", "95% interval", "IQM over the run", "its interval",
        "P(better than alone)", "interval of P",
    )  # fmt: skip
    formats = dict.fromkeys(("IQM at the end", "IQM over the run", "P(better than alone)"), ".2f")
    names = ", ".join(map(task_of, plan.games))
    return Table(
        f"All tasks as symbols ({names}): success",
        columns,
        tuple(rows),
        note="At the end: the share of the last 100 episodes that reach the goal. Over the run: the "
        f"mean of that share at {LOOKS} equal distances, which is larger the sooner a task is learned; "
        "P is how often a run of the agent has a larger one than a run of the same agent alone; a tie "
        "counts half.",
        formats=formats,
    )


def _interval(bounds: tuple[float, float]) -> str | None:
    return None if np.isnan(bounds[0]) else f"{bounds[0]:.2f} to {bounds[1]:.2f}"


def _words(extent: Extent) -> tuple[str, ...]:
    return (
        f"Stable-Baselines3's PPO has 8 environments and {extent.ppo:,} steps "
        f"({extent.ppo_pictures:,} with pictures), its DQN (SB3's) {extent.dqn:,}, our DQN "
        f"{extent.own_dqn:,} ({extent.own_pictures:,} with pictures, `--scale small`, learning as "
        "often as SB3's). The agents see the 7 x 7 cells before them: as symbols the codes of the "
        "cells, as pictures 56 x 56 pixels in colour, which our DQN turns grey. The bonuses are "
        "standardised "
        f"(`scale=standardise`) with β = {PPOConfig().beta:g}, the same "
        "in all tasks; raw is that of the paper's agent as it is defined. PPO's loss has no term for "
        "the entropy, which is Stable-Baselines3's default; with entropy it has one of weight "
        f"{ENTROPY:g}, another way to explore.",
        "Success: the share of a run's last 100 episodes that reach the goal, mean over the seeds. "
        "Thousand steps: until 90 of 100 episodes in a row were successes, median of the seeds that "
        "got there.",
        "Published: A2C with ten seeds, second-hand from Table 1 of the SI2E paper; its steps are "
        "those to the success printed there.",
    )


EXPERIMENT = Experiment(
    "minigrid",
    "does a bonus make Stable-Baselines3's PPO and our DQN solve more of MiniGrid",
    "MiniGrid: bonuses in other people's agents",
    "dqn",
    jobs,
    render,
    partial=True,
    games=tuple(map(env_of, TASKS)),
    scale_games={scale: tuple(map(env_of, extent.tasks)) for scale, extent in EXTENTS.items()},
)
