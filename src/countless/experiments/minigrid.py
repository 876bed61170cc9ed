"""MiniGrid: does a bonus make other people's agents solve more?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from countless.analysis.charts import Intervals, Mark, Panels, curve_chart, profile_chart
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
from countless.runs.groups import LAST, groups_of
from countless.runs.host_agents import HOSTS, PPOConfig
from countless.runs.hosts import HostJob
from countless.runs.job import Job
from countless.runs.solved import Solved, first
from countless.runs.store import StoredJob

LOOKS = 20  # during a run, at equal distances
STABLE = Solved(least=1e-9, share=0.9, window=LAST, overall=0.0)  # any return above 0 is a success


def env_of(task: str) -> str:
    return f"minigrid:MiniGrid-{task}-v0"


def task_of(env: str) -> str:
    return env.removeprefix("minigrid:MiniGrid-").removesuffix("-v0")


# Success in percent, and after how many thousand steps: A2C with ten seeds, from Table 1 of the SI2E
# paper, where the first two are baselines. Second-hand: not checked against the papers of each method.
PUBLISHED: dict[str, dict[str, tuple[float | None, float | None]]] = {
    "SimpleCrossingS9N1": {
        "A2C": (88.2, 570.0), "A2C with state entropy": (88.6, 394.0), "A2C with SI2E": (93.6, 139.0)
    },
    "KeyCorridorS3R1": {
        "A2C": (86.6, 659.0), "A2C with state entropy": (87.2, 464.0), "A2C with SI2E": (94.2, 129.0)
    },
    "DoorKey-6x6": {
        "A2C": (92.7, 567.0), "A2C with state entropy": (93.2, 476.0), "A2C with SI2E": (97.0, 231.0)
    },
    "DoorKey-8x8": {
        "A2C": (None, None), "A2C with state entropy": (72.6, 1516.0),
        "A2C with SI2E": (98.6, 1091.0),
    },
    "RedBlueDoors-6x6": {
        "A2C": (None, None), "A2C with state entropy": (None, None), "A2C with SI2E": (85.8, 462.0)
    },
}  # fmt: skip
TASKS = tuple(PUBLISHED)


@dataclass(frozen=True)
class Extent:
    """How much a scale of this study runs: the tasks, the steps of each agent, and how many of the
    plan's seeds what is slow is run with."""

    tasks: tuple[str, ...]
    pictures: tuple[str, ...]  # those that are seen as pictures too
    ppo: int
    ppo_pictures: int
    dqn: int  # Stable-Baselines3's
    own_dqn: int
    own_pictures: int  # our DQN's with pictures; 0: it sees symbols only
    picture_seeds: int
    dqn_seeds: int
    parameters: dict[str, Any] = field(default_factory=dict)  # of our DQN


ONE = ("DoorKey-6x6",)
EXTENTS = {
    "smoke": Extent(
        ONE, ONE, ppo=4_096, ppo_pictures=4_096, dqn=4_096, own_dqn=600, own_pictures=400,
        picture_seeds=1, dqn_seeds=1,
        parameters={"warmup": 100, "epsilon_steps": 200},
    ),
    "laptop": Extent(
        TASKS[:3], ONE, ppo=120_000, ppo_pictures=100_000, dqn=60_000, own_dqn=60_000,
        own_pictures=0, picture_seeds=3, dqn_seeds=3,
    ),
    "paper": Extent(
        TASKS, TASKS, ppo=2_000_000, ppo_pictures=2_000_000, dqn=500_000, own_dqn=500_000,
        own_pictures=500_000, picture_seeds=10, dqn_seeds=10, parameters={"epsilon_steps": 100_000},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """An agent of the study: a host with a bonus, or one of our deep agents."""

    label: str
    host: str  # of `HOSTS`, or a deep agent's name
    bonus: str = "none"
    views: tuple[str, ...] = (SYMBOLS, PICTURES)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """Whose agent it is."""
        return FAMILIES.get(self.host, "our DQN")

    @property
    def explores_by(self) -> str:
        """What its line is called among those of its family."""
        if self.label == ALONE[self.family]:
            return "alone"
        return self.label.partition(" with ")[2] or self.label


FAMILIES = {"ppo": "PPO", "sb3-dqn": "SB3's DQN"}
ALONE = {
    "PPO": "PPO alone",
    "SB3's DQN": "SB3's DQN alone",
    "our DQN": "DQN_e^MMC",
}  # without a bonus
ENTROPY = 0.01  # the weight that many settings of PPO have: PPO's own way to explore
# Our DQN learns as Stable-Baselines3's does here. What its untrained network promises must fade within
# the run, but not at once (docs/deep.md): the agent with the SR has first weights of its own.
OWN_DQN = {
    "gamma": 0.95, "time_limit": "truncation", "learning_rate": 0.0005, "batch": 64,
    "update_period": 2, "envs": 8, "warmup": 2_000, "epsilon": 0.05, "epsilon_steps": 18_000,
}  # fmt: skip
FADING = {"first_weights": 0.3}
OF_PICTURES = {
    "view": PICTURES,
    "network": "auto-nature",
    "width": 0.25,
}  # convolutions, as at `laptop`
SCALED = {"bonus_scale": "standardise", "beta": PPOConfig().beta}  # as around the hosts
ROWS = (
    Row(ALONE["PPO"], "ppo"),
    Row("PPO with entropy", "ppo", parameters={"entropy": ENTROPY}),
    Row("PPO with counts", "ppo", "counts"),
    Row("PPO with sr-norm", "ppo", "sr-norm"),
    Row("PPO with rnd", "ppo", "rnd"),
    Row("PPO with cts", "ppo", "cts", (PICTURES,)),
    Row(ALONE["SB3's DQN"], "sb3-dqn", views=(SYMBOLS,)),
    Row("SB3's DQN with counts", "sb3-dqn", "counts", (SYMBOLS,)),
    Row("SB3's DQN with sr-norm", "sb3-dqn", "sr-norm", (SYMBOLS,)),
    Row(ALONE["our DQN"], "dqn-mmc", parameters=OWN_DQN | FADING),
    Row("DQN_e^MMC with counts", "dqn-counts", "counts", parameters=OWN_DQN | FADING | SCALED),
    Row("DQN_e^MMC with sr-norm", "dqn-mmc", "sr-norm", parameters=OWN_DQN | FADING | SCALED),
    Row("DQN_e^MMC with rnd", "dqn-rnd", "rnd", parameters=OWN_DQN | FADING | SCALED),
    Row("DQN_e^MMC with cts", "dqn-cts", "cts", (PICTURES,), OWN_DQN | FADING | SCALED),
    Row("DQN_e^MMC+SR", "dqn-mmc-sr", parameters=OWN_DQN | SCALED),
    Row("DQN_e^MMC+SR, raw", "dqn-mmc-sr", parameters=OWN_DQN),
)  # fmt: skip


def cell_job(row: Row, env: str, view: str, seed: int, plan: Plan) -> Job:
    """One seed of one agent in one task."""
    extent = EXTENTS[plan.scale]
    if row.host in HOSTS:
        config = HOSTS[row.host](bonus=row.bonus, view=view, **row.parameters)
        ppo = extent.ppo_pictures if view == PICTURES else extent.ppo
        return HostJob(env, seed, ppo if row.host == "ppo" else extent.dqn, config)
    from countless.runs.dqn import make_job

    pictures = view == PICTURES
    parameters = dict(row.parameters) | extent.parameters | (OF_PICTURES if pictures else {})
    if row.bonus != "none":
        # Codes are no picture; counts see any array as it is.
        sees = "frames" if pictures or row.bonus == "counts" else "vector"
        parameters |= {"bonus": row.bonus, "bonus_sees": sees}
    return make_job(
        row.host,
        env,
        seed=seed,
        frames=extent.own_pictures if pictures else extent.own_dqn,
        scale="small",
        device="cpu",
        parameters=parameters,
    )


def cells(plan: Plan) -> list[tuple[str, str]]:
    """Each task, and how it is seen."""
    seen = [(env, SYMBOLS) for env in plan.games]
    pictures = EXTENTS[plan.scale].pictures
    return seen + [(env, PICTURES) for env in plan.games if task_of(env) in pictures]


def rows_of(view: str, plan: Plan) -> list[Row]:
    """The agents that see a task so."""
    all_see = view == SYMBOLS or EXTENTS[plan.scale].own_pictures > 0
    return [row for row in ROWS if view in row.views and (all_see or row.host in HOSTS)]


def seeds_of(row: Row, view: str, plan: Plan) -> tuple[int, ...]:
    """The seeds that an agent is run with: fewer than the plan's where a run is slow."""
    extent = EXTENTS[plan.scale]
    if view == PICTURES:
        return plan.seeds[: extent.picture_seeds]
    return plan.seeds if row.host == "ppo" else plan.seeds[: extent.dqn_seeds]


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Seed by seed, each agent in turn: an interrupted study has compared them all."""
    yield [
        cell_job(row, env, view, seed, plan)
        for seed in plan.seeds
        for env, view in cells(plan)
        for row in rows_of(view, plan)
        if seed in seeds_of(row, view, plan)
    ]


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
        for row in rows_of(view, plan)
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
    figures: list[Figure] = []
    shown: list[Panels] = []
    if drawn := {title: panel for title, panel in panels.items() if panel}:
        draw_curves(folder / "curves", drawn)
        figures.append(
            Figure(
                folder / "curves",
                "Return of the task alone, without the bonus, against frames, each of which is a step: "
                "mean over the seeds with its 95% band, or the range of fewer than five seeds. A "
                "return above 0 is a success; the quicker, the closer to 1.",
                interactive=True,
            )
        )
        charts = tuple(curve_chart(title, panel) for title, panel in drawn.items())
        shown.append(Panels("minigrid-curves", figures[-1].caption, charts))
    if whole:
        draw_profiles(folder / "profiles", whole)
        figures.append(
            Figure(
                folder / "profiles",
                "Performance profiles over all tasks seen as symbols: the share of runs with at least "
                "that success in their last 100 episodes.",
                interactive=True,
            )
        )
        profiles = profile_chart(
            "All tasks as symbols", whole, "success in the last 100 episodes (%)"
        )
        caption = f"{figures[-1].caption} The band is the 95% interval, from five seeds on."
        shown.append(Panels("minigrid-profiles", caption, (profiles,)))
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
        "P is how often a run of the agent has a larger one than a run of the same agent alone.",
        formats=formats,
    )


def _interval(bounds: tuple[float, float]) -> str | None:
    return None if np.isnan(bounds[0]) else f"{bounds[0]:.2f} to {bounds[1]:.2f}"


def _own_pictures(extent: Extent) -> str:
    return f"{extent.own_pictures:,} with pictures, " if extent.own_pictures else "symbols only, "


def _words(extent: Extent) -> tuple[str, ...]:
    return (
        f"Stable-Baselines3's PPO has 8 environments and {extent.ppo:,} steps "
        f"({extent.ppo_pictures:,} with pictures), its DQN (SB3's) {extent.dqn:,}, our DQN "
        f"{extent.own_dqn:,} ({_own_pictures(extent)}`--scale small`, learning as often as SB3's). The "
        "agents see the 7 x 7 cells before them: as symbols the codes of the cells, as pictures 56 x "
        "56 pixels in colour, which our DQN turns grey. The bonuses are standardised "
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
