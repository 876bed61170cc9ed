"""DeepSea by bsuite's protocol: who finds the treasure, and how the cost grows with the size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.dqn.agents import OF_BONUS
from countless.analysis.charts import Chart, Intervals, Panels
from countless.analysis.tables import Cell, Table
from countless.experiments.bsuite_score import (
    EPISODES,
    SIZES,
    beats_dithering,
    solution_of_wins,
)
from countless.experiments.experiment import (
    DIFFERS,
    OPEN,
    REPRODUCED,
    Claim,
    Experiment,
    Figure,
    Plan,
    Records,
    Returns,
    Section,
    unfinished,
)
from countless.runs.job import Job
from countless.runs.solved import Solved, first

if TYPE_CHECKING:
    from countless.runs.dqn import DqnJob

STABLE = Solved(least=0.5, share=0.9, window=100, overall=0.1)
SCALE = "small"  # the agents' own
CURVE_POINTS = 61


def env_of(size: int) -> str:
    return f"bsuite-deepsea-{size}"


def size_of(env: str) -> int:
    return int(env.rpartition("-")[2])


@dataclass(frozen=True)
class Extent:
    """How much a scale of this study runs."""

    episodes: int
    sizes: tuple[int, ...]
    parameters: dict[str, Any] = field(default_factory=dict)


EXTENTS = {
    "smoke": Extent(40, (10,), {"warmup": 100, "epsilon_steps": 200}),
    "laptop": Extent(3_000, (10, 14, 20)),
    "paper": Extent(EPISODES, SIZES),
}


@dataclass(frozen=True)
class Row:
    """An agent of the study."""

    label: str
    agent: str
    parameters: dict[str, Any] = field(default_factory=dict)


# The network that `small` gives to dqn-mmc-sr, for its ablation without SR and bonus.
NETWORK = {
    name: OF_BONUS[SCALE]["sr"][name] for name in ("normalise", "encoder_bias", "first_weights")
}
ROWS = (
    Row("DQN", "dqn"),
    Row("DQN_e^MMC", "dqn-mmc"),
    Row("DQN_e^MMC+SR ℓ1", "dqn-mmc-sr", {"norm": 1.0}),
    Row("DQN_e^MMC+SR ℓ2", "dqn-mmc-sr"),
    Row("ℓ2, centred bonus", "dqn-mmc-sr", {"bonus_centre": "mean"}),
    Row("ℓ2 without reconstruction", "dqn-mmc-sr", {"reconstruction": False}),
    Row("ℓ2 without SR and bonus", "dqn-mmc-sr", {"bonus": "off"} | NETWORK),
    Row("DQN_e^MMC with RND", "dqn-rnd"),
    Row("DQN_e^MMC with CTS", "dqn-cts"),
    Row("SR on fixed features", "dqn-mmc", {"bonus": "sr-norm", "bonus_sees": "vector"}),
    Row("SR of a table", "dqn-mmc", {"bonus": "sr-norm"}),
    Row("DQN_e^MMC with counts", "dqn-counts"),
)
PLAIN = "DQN_e^MMC"
LEARNED = (  # the bonus is that of an SR that a network learns
    "DQN_e^MMC+SR ℓ1", "DQN_e^MMC+SR ℓ2", "ℓ2, centred bonus", "ℓ2 without reconstruction"
)  # fmt: skip
SETTLED = 0.05  # of a claim: the most that chance may account for, over all settings compared
# What curves show at first: without a bonus, with that of the learned SR, and with true counts.
STORY = (PLAIN, "DQN_e^MMC+SR ℓ2", "ℓ2 without SR and bonus", "DQN_e^MMC with counts")
# The largest N that each is reported to solve reliably.
PUBLISHED = (
    ("bootstrapped DQN (Osband et al. 2018)", 20),
    ("with prior functions (Osband et al. 2018)", 30),
)


def cell_job(row: Row, env: str, seed: int, plan: Plan) -> DqnJob:
    """One seed of one agent: until it is stably solved, or the episodes are over."""
    from countless.runs.dqn import make_job

    extent = EXTENTS[plan.scale]
    return make_job(
        row.agent,
        env,
        seed=seed,
        frames=(extent.episodes + 1) * size_of(env),  # the first belongs to the warm-up in part
        scale=SCALE,
        device="cpu",
        parameters=row.parameters | extent.parameters,
        until=STABLE,
    )


@dataclass(frozen=True)
class Outcome:
    """What one seed came to; episodes are counted from 1, None where it never happened."""

    first_win: int | None
    stable: int | None
    bsuite: int | None
    beats_dithering: bool
    wins: int
    episodes: int


def outcome(returns: Returns, size: int, most: int) -> Outcome:
    """From the returns of the episodes of one seed."""
    returns = returns[:most]
    wins = returns >= STABLE.least
    stable = first(STABLE.stable(returns))
    ended = STABLE.episode(returns) is not None
    at = solution_of_wins(wins, most, ended)
    beats = beats_dithering(size, at)
    return Outcome(first(wins), stable, at, beats, int(wins.sum()), len(returns))


Found = dict[tuple[str, str], list[Outcome]]


def success(returns: Returns, episodes: NDArray[np.int64]) -> Returns:
    """The share of the last 100 episodes that find the treasure, after so many episodes.

    A run that has ended goes on as it ended: it ends once it is stable.

    >>> success(np.array([0.0, 1.0, 1.0, 1.0]), np.array([2, 4, 8])).tolist()
    [0.5, 0.75, 0.75]
    """
    wins = np.concatenate([[0.0], np.cumsum(returns >= STABLE.least)])
    at = np.minimum(episodes, len(returns))
    before = np.maximum(at - STABLE.window, 0)
    share: Returns = (wins[at] - wins[before]) / np.maximum(at - before, 1)
    return share


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """The small sizes first, and each agent in turn: an interrupted study has compared them all."""
    yield [
        cell_job(row, env, seed, plan) for env in plan.games for seed in plan.seeds for row in ROWS
    ]


def render(plan: Plan, records: Records, folder: Path) -> Section:
    """A table per size, one over all sizes, and episodes against size."""
    from countless.analysis.plots_deepsea import (
        draw_episodes,
        draw_solved,
        episode_charts,
        solved_chart,
        success_chart,
    )

    most = EXTENTS[plan.scale].episodes
    returns = {
        (row.label, env): [
            done.records["return"].to_numpy()[:most]
            for seed in plan.seeds
            if (done := records.find(cell_job(row, env, seed, plan))) is not None
            and done.records is not None
        ]
        for row in ROWS
        for env in plan.games
    }
    found = {
        (label, env): [outcome(one, size_of(env), most) for one in seeds]
        for (label, env), seeds in returns.items()
    }
    stable = "stable: 90 of 100 episodes"
    kinds = {"first treasure": "first_win", stable: "stable"}
    panels = {
        title: {
            row.label: {
                size_of(env): (
                    [at for one in found[row.label, env] if (at := getattr(one, kind)) is not None],
                    len(found[row.label, env]),
                )
                for env in plan.games
            }
            for row in ROWS
        }
        for title, kind in kinds.items()
    }
    sizes = [size_of(env) for env in plan.games]
    begun = {
        label: points
        for label, points in panels[stable].items()
        if any(n for _, n in points.values())
    }
    shown: tuple[Panels, ...] = ()
    if begun:
        until = "episodes until 90 of 100 find the treasure"
        draw_solved(folder / "solved", begun, sizes, until)
        draw_episodes(folder / "episodes", panels, sizes, most)
        at = np.unique(np.linspace(1, most, CURVE_POINTS).astype(np.int64))
        curves = {
            env: {
                row.label: np.array([success(one, at) for one in seeds])
                for row in ROWS
                if (seeds := returns[row.label, env])
            }
            for env in plan.games
        }
        shown = _panels(
            most,
            solved_chart("Episodes until it is solved", begun, until),
            episode_charts(panels, sizes, most),
            tuple(
                told(success_chart(f"N = {size_of(env)}", at, lines))
                for env, lines in curves.items()
                if lines
            ),
        )
    solved = (
        f"Seeds that find the treasure of DeepSea in 90 of 100 episodes in a row, of at most {most:,} "
        "episodes, and when. Random acting finds it once in 2^N episodes."
    )
    caption = (
        "Episodes until an agent first finds the treasure of DeepSea, and until it finds it in 90 of "
        "100, against the size N: medians of the seeds that did, dots for each; hollow where not all "
        "did. Random acting needs about 2^N episodes."
    )
    return Section(
        (*(_size_table(env, found, plan) for env in plan.games), _summary(found, plan)),
        (
            Figure(folder / "solved", solved, interactive=True),
            Figure(folder / "episodes", caption, interactive=True),
        )
        if begun
        else (),
        (*unfinished(sum(map(len, found.values())), len(found) * len(plan.seeds)), *_words(most)),
        " ".join(map(str, plan.seeds)),
        claims=claims(found, plan),
        panels=shown,
    )


def told(chart: Chart) -> Chart:
    """The chart with the few lines that tell the story; the others wait to be asked for."""
    if not any(line.label in STORY for line in chart.series):
        return chart
    lines = (replace(line, hidden=line.label not in STORY) for line in chart.series)
    return replace(chart, series=tuple(lines))


def claims(found: Found, plan: Plan) -> tuple[Claim, ...]:
    """The bonus of the learned SR against none, at the largest size at which both were run."""
    for env in reversed(plan.games):
        plain = _solved(found[PLAIN, env])
        learned = {label: _solved(found[label, env]) for label in LEARNED if found[label, env]}
        if plain[1] and learned:
            break
    else:
        return ()
    best = max(learned, key=lambda label: learned[label][0] / learned[label][1])
    (with_bonus, seeds), (without, others) = learned[best], plain
    by_chance = min(1.0, len(learned) * chance(with_bonus, seeds, without, others))
    if without and with_bonus / seeds <= without / others:
        verdict = DIFFERS
    else:
        verdict = REPRODUCED if by_chance < SETTLED else OPEN
    of = f", the best of {len(learned)} settings" if len(learned) > 1 else ""
    return (
        Claim(
            "The bonus of the learned SR explores where ε-greedy does not",
            "Montezuma's Revenge: a score of 1,778.6 with the bonus (ℓ2), 0.0 without it; "
            "DeepSea is not in the paper",
            f"DeepSea, N = {size_of(env)}: {with_bonus} of {seeds} seeds solve it with the bonus "
            f"({best}{of}), {without} of {others} without ({PLAIN}); by chance alone with "
            f"probability {by_chance:.2g}",
            verdict,
        ),
    )


def _solved(seeds: Sequence[Outcome]) -> tuple[int, int]:
    return sum(one.stable is not None for one in seeds), len(seeds)


def chance(wins: int, seeds: int, other_wins: int, others: int) -> float:
    """Fisher's exact test, one-sided: how probable so many wins or more are among the first seeds,
    were the wins of all seeds dealt out at random.

    >>> round(chance(4, 5, 0, 5), 4), chance(0, 5, 0, 5)
    (0.0238, 1.0)
    """
    total = wins + other_wins
    ways = [
        math.comb(seeds, k) * math.comb(others, total - k)
        for k in range(wins, min(seeds, total) + 1)
    ]
    return sum(ways) / math.comb(seeds + others, total)


def _panels(
    most: int, solved: Intervals, episodes: tuple[Chart, ...], curves: tuple[Chart, ...]
) -> tuple[Panels, ...]:
    """What each shows, in words."""
    panels = (
        Panels(
            "deepsea-solved",
            "Episodes until an agent finds the treasure in 90 of 100 episodes in a row, of at most "
            f"{most:,}: the median of the seeds that got there, a bar from the first of them to the "
            "last, and how many of the seeds they are.",
            (solved,),
        ),
        Panels(
            "deepsea-episodes",
            "Episodes until an agent first finds the treasure, and until it finds it in 90 of 100, "
            "against the size N: the median of the seeds that got there. Random acting needs about "
            "2^N episodes.",
            episodes,
        ),
        Panels(
            "deepsea-curves",
            "Learning curves: the share of the last 100 episodes that found the treasure, mean over "
            "the seeds. A run ends once it is solved, and counts as it ended from there on. Four "
            "agents are drawn at first: without a bonus, with that of the learned SR, the same "
            "network without it, and with true counts. Press a name below a chart to draw another.",
            curves,
        ),
    )
    return tuple(one for one in panels if one.charts)


def _median(values: Sequence[int | None]) -> float | None:
    """Of the seeds that got there."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _size_table(env: str, found: Found, plan: Plan) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for row in ROWS:
        seeds = found[row.label, env]
        stable = [one.stable for one in seeds]
        solved = sum(value is not None for value in stable)
        if not seeds:
            rows.append((row.label, *[None] * 5))
            continue
        rows.append(
            (
                row.label,
                f"{solved} of {len(seeds)}",
                _median([one.first_win for one in seeds]),
                _median(stable),
                _median([one.bsuite for one in seeds]),
                float(np.mean([one.beats_dithering for one in seeds])),
            )
        )
    columns = (
        "agent", "seeds stable", "first treasure", "90 of 100", "bsuite: solved", "bsuite score"
    )  # fmt: skip
    formats = dict.fromkeys(columns[2:5], ",.0f") | {"bsuite score": ".2f"}
    return Table(
        f"N = {size_of(env)}: episodes, medians of the seeds that got there",
        columns,
        tuple(rows),
        formats=formats,
    )


def _summary(found: Found, plan: Plan) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for row in ROWS:
        done = {env: found[row.label, env] for env in plan.games if found[row.label, env]}
        shares = {
            size_of(env): float(np.mean([one.stable is not None for one in seeds]))
            for env, seeds in done.items()
        }
        beats = [one.beats_dithering for seeds in done.values() for one in seeds]
        score = float(np.mean(beats)) if len(done) == len(plan.games) else None
        whole = max((size for size, share in shares.items() if share == 1.0), default=None)
        some = max((size for size, share in shares.items() if share > 0.0), default=None)
        rows.append((row.label, whole, some, score))
    rows += [(f"published: {label}", size, None, None) for label, size in PUBLISHED]
    columns = ("agent", "largest N, all seeds", "largest N, any seed", "bsuite score")
    sizes = ", ".join(str(size_of(env)) for env in plan.games)
    return Table(f"All sizes (N = {sizes})", columns, tuple(rows), formats={"bsuite score": ".2f"})


def _words(most: int) -> tuple[str, ...]:
    return (
        f"bsuite's DeepSea: N x N one-hot image, which action goes right drawn for each state (seed "
        f"42), {most:,} episodes at most. A run ends once the treasure was found in 90 of 100 episodes "
        "and in more than a tenth of all. bsuite calls a run solved when fewer than 0.9 of all "
        "episodes so far were bad, looked at a dozen times per power of ten; its score is the share of "
        f"runs solved before 2^N + 100 episodes, here within {most:,}.",
        "One setting for all sizes (`--scale small`). The first steps of a run, 100, are random and "
        "count neither as episodes nor for the score.",
        "The claim compares the seeds that are stable at the largest N by Fisher's exact test, "
        f"one-sided and corrected for the settings compared: it is settled below {SETTLED:g}.",
        "ℓ1 and ℓ2 are the norms of the bonus and of the features; ℓ2 is the scale's own.",
    )


EXPERIMENT = Experiment(
    "deepsea",
    "deep agents in bsuite's DeepSea: who finds the treasure, and after how many episodes",
    "DeepSea: deep exploration by bsuite's protocol",
    "dqn",
    jobs,
    render,
    partial=True,
    games=tuple(map(env_of, SIZES)),
    scale_games={scale: tuple(map(env_of, extent.sizes)) for scale, extent in EXTENTS.items()},
)
