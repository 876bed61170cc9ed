"""A table of deep agents over games: run what is missing, show the paper's scores beside ours."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countless.agents.dqn.agents import FRAMES, make_config
from countless.analysis.tables import Table
from countless.core.errors import CountlessError
from countless.core.progress import Reporter
from countless.core.records import ensure_folder, read_json, versions, write_json
from countless.experiments.deep_published import GAMES, Column, Score
from countless.experiments.section import Section
from countless.runs.deep_folder import performance, read_episodes

DAY = 86_400.0
PAPER_STEPS = FRAMES["paper"] // 5


@dataclass(frozen=True)
class Plan:
    """How much of a table to run."""

    scale: str
    games: tuple[str, ...]
    seeds: tuple[int, ...]

    @property
    def frames(self) -> int:
        return FRAMES[self.scale]


@dataclass(frozen=True)
class DeepTable:
    """A table of the paper: its columns, and the games it has."""

    name: str
    summary: str
    title: str
    columns: tuple[Column, ...]
    games: tuple[str, ...] = GAMES
    words: tuple[str, ...] = ()

    def run(self, results: Path, plan: Plan, reporter: Reporter, stop: Callable[[], bool]) -> None:
        """Run every cell of the plan that is not finished; a cell is kept as it ends."""
        from countless.runs.deep import Status, make_job
        from countless.runs.jobs import run_jobs

        began = time.perf_counter()
        folder = ensure_folder(results / self.name)
        jobs = [
            make_job(
                column.agent, game, seed=seed, scale=plan.scale,
                parameters=column.parameters, label=column.folder,
            )
            for column in self.columns
            for game in plan.games
            for seed in plan.seeds
        ]  # fmt: skip
        total = len(jobs) * (plan.frames + jobs[0].config.warmup)
        with reporter.task(f"{self.name} at scale {plan.scale}", total) as advance:
            done: dict[Path, int] = {}

            def report(status: Status) -> None:
                key = status.job.folder(results)
                now = status.frames + status.warm
                advance(max(0, now - done.get(key, 0)))
                done[key] = max(now, done.get(key, 0))

            run_jobs(jobs, runs_folder(results, plan.scale), report=report, stop=stop)
        made = {
            "command": f"countless reproduce {self.name} --scale {plan.scale} --games "
            f"{' '.join(plan.games)} --seeds {' '.join(map(str, plan.seeds))}",
            "scale": plan.scale,
            "games": plan.games,
            "seed": " ".join(map(str, plan.seeds)),
            "seeds": plan.seeds,
            "versions": versions(),
            "seconds": round(time.perf_counter() - began, 1),
            "costs": _costs(self.columns, reporter, stop),
        }
        write_json(folder / "made.json", made)

    def show(self, results: Path) -> Section:
        """The paper's table with our numbers beside it."""
        made = read_json(results / self.name / "made.json")
        if made is None or "costs" not in made:
            raise CountlessError(
                f"{results / self.name} holds no finished results; make them with `countless "
                f"reproduce {self.name}`"
            )
        runs = runs_folder(results, made["scale"])
        frames = FRAMES[made["scale"]]
        tables = [self._table(game, runs, frames) for game in self.games]
        frames_told = f"{frames:,} frames (scale {made['scale']})"
        words = (
            f"Ours: mean of the last 100 episodes after {frames_told}, averaged over seeds; SD over "
            "seeds. The paper's: 10 seeds (4 where a part was removed), 100,000,000 frames. A score "
            "after fewer frames says nothing about the paper's.",
            *self.words,
            _cost_words(made["costs"]),
        )
        return Section(self.name, self.title, tuple(tables), (), words, made)

    def _table(self, game: str, runs: Path, frames: int) -> Table:
        """All seeds that were run, now or before."""
        rows = []
        for column in self.columns:
            folders = sorted((runs / column.folder / game).glob("seed-*"))
            scores = [_score(folder, frames) for folder in folders if _reached(folder, frames)]
            rows.append((column.label, _paper(column.paper.get(game)), *_ours(scores)))
        columns = ("agent", "paper (SD)", "ours", "SD", "seeds")
        return Table(game, columns, tuple(rows))


def runs_folder(results: Path, scale: str) -> Path:
    """Where the runs of all tables lie: they share those that they have in common."""
    return results / "deep" / scale


def _reached(folder: Path, frames: int) -> bool:
    finished = read_json(folder / "finished.json")
    return finished is not None and finished["frames"] >= frames


def _score(folder: Path, frames: int) -> float | None:
    return performance(read_episodes(folder, frames))


def _paper(score: Score | None) -> str:
    if score is None:
        return "-"
    mean, sd = score
    return f"{mean:,.1f}" if sd is None else f"{mean:,.1f} ({sd:,.1f})"


def _ours(found: list[float | None]) -> tuple[str, str, str]:
    if not found:
        return "not run", "-", "0"
    scores = [score for score in found if score is not None]
    if not scores:
        return "no episode ended", "-", str(len(found))
    sd = f"{statistics.stdev(scores):,.1f}" if len(scores) > 1 else "-"
    return f"{statistics.fmean(scores):,.1f}", sd, str(len(scores))


def _costs(
    columns: tuple[Column, ...], reporter: Reporter, stop: Callable[[], bool]
) -> dict[str, dict[str, float]]:
    """Seconds of a step of each agent at the paper's scale: measured here, and on an accelerator."""
    from countless.agents.dqn.cost import measure_cost
    from countless.agents.dqn.device import make_device, torch_threads
    from countless.envs.games import make_game
    from countless.runs.deep import Stopped

    costs = {}
    task = reporter.task("measuring the cost of the paper's scale", len(columns))
    with torch_threads(1), task as advance:
        for column in columns:
            if stop():
                raise Stopped
            config = make_config(column.agent, parameters=column.parameters)
            cost = measure_cost(make_game(GAMES[2], 0), config, make_device("cpu"))
            costs[column.label] = {"here": cost.step, "accelerator": cost.assumed_step}
            advance(1)
    return costs


def _cost_words(costs: dict[str, dict[str, Any]]) -> str:
    told = [
        f"{label} {PAPER_STEPS * cost['here'] / DAY:.1f} days here, about "
        f"{PAPER_STEPS * cost['accelerator'] / 3600:.0f} hours on a GPU"
        for label, cost in costs.items()
    ]
    return (
        "One seed of one game at the paper's scale would take: " + "; ".join(told) + ". Here: one "
        "core, measured part by part when this was made. GPU: an estimate, 5 TFLOP/s of float32 "
        "and 1.5 ms of overhead a step assumed."
    )
