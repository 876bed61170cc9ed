"""What a run, a sweep or a folder of jobs gave: one type for all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countless.analysis.statistics import Summary, summarise
from countless.analysis.tables import Cell, Table, interval, number
from countless.core.errors import BadInput
from countless.runs.store import StoredJob, stored_jobs

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from matplotlib.axes import Axes

LAST = 100  # a deep run's return is the mean over its last 100 episodes
CURVE_POINTS = 50


@dataclass(frozen=True)
class Curve:
    """Return against steps or frames: one row per run, one column per point; NaN where unknown."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    unit: str  # "steps" or "frames"


@dataclass(frozen=True)
class Group:
    """All runs of one agent with one configuration in one environment."""

    engine: str
    agent: str
    env: str
    config: dict[str, Any] = field(repr=False)
    budget: dict[str, Any]
    returns: NDArray[np.float64] = field(repr=False)  # one per run, NaN where no episode ended
    jobs: tuple[StoredJob, ...] = field(repr=False)

    @cached_property
    def summary(self) -> Summary | None:
        """Of the returns that are known; None where there is none."""
        known = self.returns[np.isfinite(self.returns)]
        return summarise(known) if len(known) else None

    @property
    def length(self) -> str:
        """How long a run is: "5,000 steps", "1,000,000 frames"."""
        unit = "steps" if self.engine == "tabular" else "frames"
        return f"{self.budget.get(unit, 0):,} {unit}"

    @cached_property
    def curve(self) -> Curve | None:
        """The learning curves of its runs, if they were kept."""
        if self.engine == "tabular":
            return _tabular_curve(self.jobs[0])
        return _episode_curve(self.jobs, int(self.budget["frames"]))


def groups_of(jobs: Sequence[StoredJob]) -> list[Group]:
    """Jobs by what they ran: the seeds of a deep agent together, the settings of a sweep apart."""
    groups = []
    seeds: dict[str, list[StoredJob]] = {}
    for job in jobs:
        if job.about.get("engine") == "tabular" and job.records is not None:
            groups += _tabular_groups(job)
        elif job.about.get("engine") == "dqn" and job.records is not None:
            identity = dict(job.about["identity"]) | {"frames": _frames(job)}
            identity.pop("seed")
            seeds.setdefault(json.dumps(identity, sort_keys=True), []).append(job)
    return groups + [_deep_group(jobs) for jobs in seeds.values()]


def _frames(job: StoredJob) -> int:
    """What the job was asked for; a partial one may have less."""
    return int(job.about["budget"]["frames"])


def _tabular_groups(job: StoredJob) -> list[Group]:
    records, about = job.records, job.about
    assert records is not None
    settings = records["setting"].to_numpy()
    returns = records["return"].to_numpy()
    order = np.argsort(settings, kind="stable")
    cuts = np.searchsorted(settings[order], np.arange(len(about["identity"]["settings"]) + 1))
    budget = dict(about["budget"]) | {"rng": about["identity"]["rng"]}
    return [
        Group("tabular", about["agent"], about["env"], config, budget, returns[order[low:high]], (job,))
        for config, low, high in zip(
            about["identity"]["settings"], cuts[:-1], cuts[1:], strict=True
        )
    ]  # fmt: skip


def _deep_group(jobs: list[StoredJob]) -> Group:
    about = jobs[0].about
    returns = np.array([performance(job) for job in jobs])
    config = dict(about["identity"]["config"])
    budget = {"frames": _frames(jobs[0])}
    return Group("dqn", about["agent"], about["env"], config, budget, returns, tuple(jobs))


def performance(job: StoredJob) -> float:
    """The mean return of the last 100 episodes; NaN before the first one ends."""
    scores = job.records["return"].to_numpy() if job.records is not None else np.empty(0)
    return float(scores[-LAST:].mean()) if len(scores) else float("nan")


def _tabular_curve(job: StoredJob) -> Curve | None:
    if job.curves is None:
        return None
    steps, values = job.curves["step"].to_numpy(), job.curves["return"].to_numpy()
    x = np.unique(steps)
    return Curve(x.astype(np.float64), values.reshape(-1, len(x)), "steps")


def _episode_curve(jobs: Sequence[StoredJob], frames: int) -> Curve:
    """The mean return of the episodes that ended in each fiftieth of the budget."""
    edges = np.linspace(0, frames, CURVE_POINTS + 1)
    y = np.full((len(jobs), CURVE_POINTS), np.nan)
    for row, job in zip(y, jobs, strict=True):
        if job.records is None:
            continue
        when, scores = job.records["frames"].to_numpy(), job.records["return"].to_numpy()
        bins = np.clip(np.searchsorted(edges, when, side="left") - 1, 0, CURVE_POINTS - 1)
        for k in np.unique(bins):
            row[k] = scores[bins == k].mean()
    return Curve(edges[1:], y, "frames")


class Result:
    """The records of one or more jobs, and views of them.

    Attributes
    ----------
    jobs
        The jobs, as the store describes them.
    groups
        All runs of one agent with one configuration in one environment, for each such.
    summary, returns
        Of the only group; one return per run (tabular agents) or per seed (deep agents: the mean
        over the last 100 episodes).

    >>> import countless
    >>> result = countless.run("sarsa-sr", "riverswim", runs=10, progress=False)
    >>> result.summary.runs
    10
    >>> result
    Result(sarsa-sr in riverswim: 10 runs of 5,000 steps, mean return 877,366)
    """

    def __init__(self, jobs: Sequence[StoredJob]) -> None:
        self.jobs = tuple(jobs)

    @cached_property
    def groups(self) -> list[Group]:
        return groups_of(self.jobs)

    @property
    def group(self) -> Group:
        """The only group."""
        if len(self.groups) != 1:
            raise BadInput(
                f"this result holds {len(self.groups)} groups of runs, not one: use .groups, "
                ".ranking or .to_pandas()"
            )
        return self.groups[0]

    @property
    def summary(self) -> Summary:
        if self.group.summary is None:
            raise BadInput("no episode ended within the budget: give more frames")
        return self.group.summary

    @property
    def returns(self) -> NDArray[np.float64]:
        return self.group.returns

    @property
    def config(self) -> dict[str, Any]:
        """The parameters of the only group."""
        return self.group.config

    @property
    def ranking(self) -> list[Group]:
        """The groups by mean return, best first."""
        return best_first(self.groups)

    @property
    def folders(self) -> list[Path]:
        """Where the jobs are kept."""
        return [job.folder for job in self.jobs if job.folder is not None]

    @property
    def seconds(self) -> float:
        """Of work on all jobs, whenever it was done."""
        return sum(job.seconds for job in self.jobs)

    def to_arrow(self) -> pyarrow.Table:
        """All records as one table: one row per run (tabular agents) or per episode (deep agents)."""
        import pyarrow

        tables = [job.records for job in self.jobs if job.records is not None]
        if not tables:
            return pyarrow.table({})
        return pyarrow.concat_tables(tables, promote_options="permissive")

    def to_pandas(self) -> pandas.DataFrame:
        """All records as one DataFrame; needs pandas."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise BadInput("to_pandas needs pandas: pip install pandas") from None
        return self.to_arrow().to_pandas()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Learning curves with their 95% bands; where none were kept, the distribution of returns."""
        from countless.analysis.curves import plot_curves, plot_distribution

        labelled = dict(zip(label_groups(self.groups), self.groups, strict=True))
        curves = {
            label: (group.agent, group.curve)
            for label, group in labelled.items()
            if group.curve is not None
        }
        if curves:
            return plot_curves(curves, ax)
        return plot_distribution({label: g.returns for label, g in labelled.items()}, ax)

    def table(self) -> Table:
        """One row per group."""
        rows = []
        for label, group in zip(label_groups(self.groups), self.groups, strict=True):
            statistics: tuple[Cell, ...] = (None, None, None, None)
            if (s := group.summary) is not None:
                statistics = (s.mean, interval(s.ci95), s.sd, s.median)
            rows.append((label, group.env, len(group.returns), group.length, *statistics))
        columns = ("agent", "env", "runs", "length", "mean return", "95% CI", "SD", "median")
        return Table("Runs", columns, tuple(rows), labels=2)

    def __repr__(self) -> str:
        if len(self.groups) != 1:
            return f"Result({len(self.jobs)} jobs, {len(self.groups)} groups of runs)"
        group = self.group
        runs = f"{len(group.returns):,} {'run' if len(group.returns) == 1 else 'runs'}"
        mean = "no episode ended" if group.summary is None else (
            f"mean return {number(group.summary.mean)}"
        )  # fmt: skip
        return f"Result({group.agent} in {group.env}: {runs} of {group.length}, {mean})"

    def _repr_html_(self) -> str:
        from countless.analysis.html import table_html

        return table_html(self.table())

    def to_json(self) -> dict[str, Any]:
        """The document that `countless run --json` prints."""
        group = self.group
        return _tabular_json(group) if group.engine == "tabular" else _deep_json(group)

    def sweep_json(self) -> dict[str, Any]:
        """The document that `countless sweep --json` prints: all settings, best first."""
        first = self.groups[0]
        return {
            "agent": first.agent,
            "env": first.env,
            "engine": first.engine,
            **first.budget,
            "seeds": list(dict.fromkeys(job.about["seed"] for job in self.jobs)),
            "folder": str(self.folders[0].parent) if self.folders else None,
            "seconds": self.seconds,
            "settings": [_setting_json(group) for group in self.ranking],
        }


def varying_parameters(groups: Sequence[Group]) -> list[str]:
    """The parameters in which groups differ, in their order."""
    configs = [group.config for group in groups]
    names = dict.fromkeys(name for config in configs for name in config)
    return [name for name in names if len({str(config.get(name)) for config in configs}) > 1]


def _setting_json(group: Group) -> dict[str, Any]:
    summary = group.summary.to_json() if group.summary is not None else {}
    statistics = {name: summary.get(name) for name in ("mean", "sd", "median")}
    if group.engine == "tabular":
        return {"config": group.config, **statistics}
    return {"config": group.config, **statistics, "runs": _deep_json(group)["runs"]}


def best_first(groups: Sequence[Group]) -> list[Group]:
    """Groups by mean return; those without a return last."""
    means = [-np.inf if group.summary is None else group.summary.mean for group in groups]
    return [groups[i] for i in np.argsort(-np.array(means), kind="stable")]


def label_groups(groups: Sequence[Group]) -> list[str]:
    """For each group, the name that tells it from the others."""
    envs = {group.env for group in groups}
    labels = []
    for group in groups:
        alike = [other for other in groups if other.agent == group.agent]
        varying = varying_parameters(alike)
        told = [f"{name} {short_value(group.config.get(name))}" for name in varying]
        if len({other.length for other in alike}) > 1:
            told.append(group.length)
        label = group.agent + (f" ({', '.join(told)})" if told else "")
        labels.append(label + (f" in {group.env}" if len(envs) > 1 else ""))
    return [
        label
        if labels.count(label) == 1
        else f"{label}, seed {group.jobs[0].about['seed']}, job {group.jobs[0].about['id'][:4]}"
        for label, group in zip(labels, groups, strict=True)
    ]


def short_value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _tabular_json(group: Group) -> dict[str, Any]:
    about, finished = group.jobs[0].about, group.jobs[0].finished or {}
    assert group.summary is not None
    return {
        "agent": group.agent,
        "env": group.env,
        "runs": about["budget"]["runs"],
        "steps": about["budget"]["steps"],
        "seed": about["seed"],
        "config": group.config | {"rng": about["identity"]["rng"]},
        "returns": group.summary.to_json(),
        "seconds": finished.get("seconds", 0.0),
        "steps_per_second": speed(group),
        "per_run": group.returns.tolist(),
        "folder": None if group.jobs[0].folder is None else str(group.jobs[0].folder),
    }


def speed(group: Group) -> float | None:
    """Steps per second when the job was last executed; None where that is not known."""
    finished = group.jobs[0].finished or {}
    if group.engine == "dqn":
        return finished.get("steps_per_second")
    if not finished.get("simulated_seconds") or not finished.get("counts_steps", True):
        return None
    return float(finished["simulated_steps"] / finished["simulated_seconds"])


def _deep_json(group: Group) -> dict[str, Any]:
    runs = []
    for job in group.jobs:
        scores = [] if job.records is None else job.records["return"].to_pylist()
        finished = job.finished or {}
        runs.append(
            {
                "seed": job.about["seed"],
                "episodes": len(scores),
                "performance": None if not scores else performance(job),
                "last_scores": scores[-LAST:],
                "seconds": finished.get("seconds"),
                "steps_per_second": finished.get("steps_per_second"),
                "features": finished.get("features"),
                "folder": None if job.folder is None else str(job.folder),
            }
        )
    return {
        "agent": group.agent,
        "env": group.env,
        "frames": group.budget["frames"],
        "config": group.config,
        "returns": None if group.summary is None else group.summary.to_json(),
        "runs": runs,
    }


def load(folder: Path | str) -> Result:
    """Everything below a folder of results, as one `Result`.

    Parameters
    ----------
    folder
        A store, or any folder above one: what `out` of `countless.run` and `countless.sweep` named,
        or the results folder of the command line.

    >>> import countless, tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     _ = countless.run("sarsa", "riverswim", runs=5, out=out, progress=False)
    ...     countless.load(out).to_arrow().num_rows
    5
    """
    return Result(stored_jobs(Path(folder)))
