"""A leaderboard: every tabular agent in every built-in MDP, at default and at tuned parameters.

Parameters are tuned on one half of the MDPs and scored on the other, both ways round.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from countless.agents.catalogue import AGENTS, TABULAR, agent_entry, make_agent
from countless.agents.tabular.agent import TabularAgent, reward_range
from countless.agents.tabular.simulate import plans
from countless.analysis.charts import Panels, profile_chart
from countless.analysis.curves import PALETTE
from countless.analysis.plots_leaderboard import Score, draw_leaderboard, leaderboard_chart
from countless.analysis.statistics import pooled_iqm
from countless.analysis.tables import Cell, Estimate, Table
from countless.envs.catalog import make_mdp
from countless.envs.mdp import MDP
from countless.envs.solve import optimal_return, policy_return, uniform_policy
from countless.experiments.experiment import Experiment, Figure, Plan, Records, Returns, Section
from countless.runs.job import Job
from countless.runs.tabular import TabularJob, default_steps

# MDPs of one kind are in one half: nothing is scored where its like was tuned.
HALVES: tuple[tuple[str, ...], ...] = (
    ("riverswim", "riverswim-12", "deepsea-8", "bsuite-deepsea-6"),
    ("sixarms", "sixarms-1660", "chain-20", "gridworld-6", "fourrooms"),
)
GRID_UNIT = 10_000.0  # the range of RiverSwim's rewards, for which the grids of bonuses are written
MOST_SETTINGS = 100  # of a larger grid, so many are drawn
MOST_PLANNED = 12  # and so many for an agent that plans
SCORED, TUNED = 1000, 2500  # runs are plan.runs over these: 10 and 4 with the default plan

Setting = Mapping[str, Any]  # a point of a grid; nothing given stands for the defaults


def environments() -> list[str]:
    """The MDPs of both halves."""
    return [env for half in HALVES for env in half]


def agents() -> list[str]:
    """Every tabular agent of the catalogue."""
    return [name for name, entry in AGENTS.items() if entry.engine == TABULAR]


@lru_cache(maxsize=128)
def settings(name: str) -> tuple[Setting, ...]:
    """The defaults and, of the agent's own grid, all points or some drawn by chance."""
    grid = agent_entry(name).grid
    if grid is None:
        return ({},)
    points = [
        dict(zip(grid.values, values, strict=True))
        for values in itertools.product(*grid.values.values())
    ]
    most = MOST_PLANNED if plans(make_agent(name), make_mdp(HALVES[0][0])) else MOST_SETTINGS
    if len(points) > most:
        drawn = np.random.default_rng(0).choice(len(points), most, replace=False)
        points = [points[i] for i in np.sort(drawn)]
    return ({}, *points)


def made(name: str, setting: Setting, mdp: MDP) -> TabularAgent:
    """The agent with a setting, without any preset: those were tuned on the MDP itself.

    Grids of parameters in units of the rewards were written for RiverSwim; elsewhere they are the
    same shares of the range of the rewards.
    """
    unit = (reward_range(mdp) or 1.0) / GRID_UNIT
    known = agent_entry(name).parameters
    given = {
        key: value * unit if "share" in known[key].metadata else value
        for key, value in setting.items()
    }
    return make_agent(name, "", given)


def score_job(name: str, setting: Setting, env: str, plan: Plan) -> TabularJob:
    """The runs that count."""
    mdp = make_mdp(env)
    runs = max(2, plan.runs // SCORED)
    return TabularJob((made(name, setting, mdp),), mdp, runs, default_steps(mdp), plan.seed)


def tuning_job(name: str, env: str, plan: Plan) -> TabularJob:
    """A few runs of every setting."""
    mdp = make_mdp(env)
    every = tuple(made(name, setting, mdp) for setting in settings(name))
    return TabularJob(every, mdp, max(2, plan.runs // TUNED), default_steps(mdp), plan.seed)


@lru_cache(maxsize=64)
def scale(env: str, steps: int) -> tuple[float, float]:
    """The expected returns of uniformly random actions and of the best policy."""
    mdp = make_mdp(env)
    return policy_return(mdp, uniform_policy(mdp), steps), optimal_return(mdp, steps)


def normalised(job: TabularJob, records: Records) -> Returns:
    """Returns (settings, runs) as 0 for random actions and 1 for the best policy."""
    random, best = scale(job.env, job.steps)
    share: Returns = (records.returns(job) - random) / (best - random)
    return share


def chosen(name: str, half: int, plan: Plan, records: Records) -> Setting:
    """The setting with the best mean score over the MDPs of a half."""
    every = settings(name)
    if len(every) == 1:
        return every[0]
    means = [normalised(tuning_job(name, env, plan), records).mean(axis=1) for env in HALVES[half]]
    return every[int(np.argmax(np.mean(means, axis=0)))]


def tuned_for(name: str, env: str, plan: Plan, records: Records) -> Setting:
    """The setting that was chosen on the half to which `env` does not belong."""
    own = next(i for i, half in enumerate(HALVES) if env in half)
    return chosen(name, 1 - own, plan, records)


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Tuning and defaults; then what was tuned on the other half."""
    yield [
        *(score_job(name, {}, env, plan) for name in agents() for env in environments()),
        *(
            tuning_job(name, env, plan)
            for name in agents()
            if len(settings(name)) > 1
            for env in environments()
        ),
    ]
    yield [
        score_job(name, tuned_for(name, env, plan, records), env, plan)
        for name in agents()
        for env in environments()
    ]


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """The ranking, the scores by MDP, and the settings that were chosen."""
    default, tuned = {}, {}
    for name in agents():
        default[name] = [
            normalised(score_job(name, {}, env, plan), records)[0] for env in environments()
        ]
        tuned[name] = [
            normalised(score_job(name, tuned_for(name, env, plan, records), env, plan), records)[0]
            for env in environments()
        ]
    scores = {
        name: Score(pooled_iqm(tuned[name]), pooled_iqm(default[name]), _means(tuned[name]))
        for name in agents()
    }
    ranking = sorted(scores, key=lambda name: -scores[name].tuned[0])
    ranked = {name: scores[name] for name in ranking}
    draw_leaderboard(folder / "leaderboard", ranked, environments())
    runs = len(tuned[ranking[0]][0])
    caption = (
        "Left: interquartile mean of the normalised return over all MDPs and runs, with its 95% "
        "interval; filled: tuned on the other half of the MDPs, hollow: default parameters. Right: "
        "the mean score with tuned parameters, by MDP. 0: random actions; 1: the best policy."
    )
    tables = (
        _ranking_table(ranking, scores, runs),
        _mdp_table("tuned on the other half", ranking, tuned),
        _mdp_table("default parameters", ranking, default),
        _settings_table(ranking, plan, records),
    )
    words = _words(ranking, scores, plan)
    figure = Figure(folder / "leaderboard", caption, interactive=True)
    return Section(tables, (figure,), words, panels=_panels(ranked, {n: tuned[n] for n in ranking}))


def _panels(
    ranked: Mapping[str, Score], tuned: Mapping[str, Sequence[Returns]]
) -> tuple[Panels, ...]:
    """The ranking with its intervals, and how the runs behind it are spread."""
    count = len(environments())
    told = (
        f"Interquartile mean (IQM) of the normalised return over {count} MDPs and all runs, the best "
        "agent first. The bar is the 95% interval of a bootstrap that draws the runs of every MDP "
        "anew (Agarwal et al. 2021). 0 is what random actions collect, 1 what the best policy does."
    )
    spread = (
        "Performance profiles: the share of runs that reach at least a score, averaged over the MDPs, "
        "with parameters tuned on other MDPs. The higher a line, the better; the band is the 95% "
        f"interval of the same bootstrap. The first {len(PALETTE)} of the ranking are drawn; press a "
        "name to show or to hide it."
    )
    x = "normalised return (%; 0: random, 100: best)"
    return (
        Panels("leaderboard-ranking", told, (leaderboard_chart(f"{count} MDPs", ranked),)),
        Panels("leaderboard-profiles", spread, (profile_chart(f"{count} MDPs, tuned", tuned, x),)),
    )


def _means(scores: Sequence[Returns]) -> list[float]:
    return [float(runs.mean()) for runs in scores]


def _estimate(value: tuple[float, tuple[float, float]]) -> Estimate:
    iqm, (low, high) = value
    return Estimate(iqm, (high - low) / 2)


def _ranking_table(ranking: Sequence[str], scores: Mapping[str, Score], runs: int) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for rank, name in enumerate(ranking, start=1):
        score = scores[name]
        tried = len(settings(name)) if len(settings(name)) > 1 else None
        lines.append((name, rank, _estimate(score.tuned), _estimate(score.default), tried, runs))
    columns = ("agent", "rank", "tuned elsewhere", "default", "settings tried", "runs per MDP")
    note = (
        "Interquartile mean ± half of its 95% interval, by a bootstrap of the runs of each MDP; how "
        "the choice of MDPs and of settings would vary is not in it. settings tried: with the "
        "defaults; a dash where there is nothing to tune."
    )
    formats = {"tuned elsewhere": ".3f", "default": ".3f"}
    title = f"Normalised return over {len(environments())} MDPs (0: random, 1: the best policy)"
    return Table(title, columns, tuple(lines), 1, note, formats)


def _mdp_table(
    title: str, ranking: Sequence[str], scores: Mapping[str, Sequence[Returns]]
) -> Table:
    columns = tuple(environments())
    lines: list[tuple[Cell, ...]] = [(name, *_means(scores[name])) for name in ranking]
    formats = dict.fromkeys(columns, ".2f")
    return Table(f"Mean score by MDP, {title}", ("agent", *columns), tuple(lines), 1, "", formats)


def _settings_table(ranking: Sequence[str], plan: Plan, records: Records) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for name in ranking:
        if len(settings(name)) == 1:
            continue
        for half, envs in enumerate(HALVES):
            setting = chosen(name, half, plan, records)
            every = [normalised(tuning_job(name, env, plan), records).mean(axis=1) for env in envs]
            best = float(np.mean(every, axis=0)[settings(name).index(setting)])
            lines.append((name, ", ".join(envs), _told(name, setting), best))
    columns = ("agent", "tuned on", "setting", "score there")
    note = (
        "× range: in units of the range of the rewards. The score on the MDPs of tuning flatters: "
        "the best of many."
    )
    title = "What was chosen on each half, for the other one"
    return Table(title, columns, tuple(lines), 3, note, {"score there": ".2f"})


def _told(name: str, setting: Setting) -> str:
    if not setting:
        return "the defaults"
    known = agent_entry(name).parameters
    return ", ".join(
        f"{key} {value / GRID_UNIT:g} × range"
        if "share" in known[key].metadata
        else f"{key} {value:g}"
        for key, value in setting.items()
    )


def _words(ranking: Sequence[str], scores: Mapping[str, Score], plan: Plan) -> tuple[str, ...]:
    learners = [name for name in ranking if len(settings(name)) > 1]
    better = [name for name in learners if scores[name].tuned[0] > scores[name].default[0]]
    halves = " and ".join(f"({', '.join(half)})" for half in HALVES)
    return (
        f"The two halves are {halves}; a setting is chosen by its mean score over one half, "
        f"{max(2, plan.runs // TUNED)} runs of each MDP, and scored on the other. Defaults are "
        "without presets, which were tuned on RiverSwim and SixArms themselves.",
        f"First of those that learn: {learners[0]}. With settings tuned elsewhere "
        f"{len(better)} of {len(learners)} do better than with their defaults"
        + (f": {', '.join(better)}." if better else "."),
        "sarsa-sr and sarsa-counts start from optimistic values, sarsa from zero: what separates them "
        "from it is not the bonus alone (`countless reproduce regret`).",
    )


EXPERIMENT = Experiment(
    "leaderboard",
    "every tabular agent in every built-in MDP, at default and at tuned parameters",
    "A leaderboard: normalised return of 5,000 steps of learning",
    "tabular",
    jobs,
    render,
    minutes=4.0,
)
