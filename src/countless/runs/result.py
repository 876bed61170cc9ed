"""What a run, a sweep or a folder of jobs gave: one type for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countless.analysis.statistics import Summary
from countless.analysis.tables import Cell, Table, counted, interval, number
from countless.core.errors import BadInput
from countless.runs.groups import (
    LAST,
    Group,
    best_first,
    groups_of,
    label_groups,
    performance,
    speed,
)
from countless.runs.store import StoredJob, stored_jobs

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from matplotlib.axes import Axes


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
    Result(sarsa-sr in riverswim: 10 runs of 5,000 steps, mean return 1,187,134)
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
            groups = counted(len(self.groups), "group")
            raise BadInput(
                f"this result holds {groups} of runs, not one: use .groups, .ranking or .to_pandas()"
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
            groups = counted(len(self.groups), "group")
            return f"Result({counted(len(self.jobs), 'job')}, {groups} of runs)"
        group = self.group
        runs = counted(len(group.returns), "run")
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


def _setting_json(group: Group) -> dict[str, Any]:
    summary = group.summary.to_json() if group.summary is not None else {}
    statistics = {name: summary.get(name) for name in ("mean", "sd", "median")}
    if group.engine == "tabular":
        return {"config": group.config, **statistics}
    return {"config": group.config, **statistics, "runs": _deep_json(group)["runs"]}


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
    jobs = stored_jobs(Path(folder))
    if not jobs:
        raise BadInput(
            f"{folder} holds no jobs; `countless.run(..., out={str(folder)!r})` makes one"
        )
    return Result(jobs)
