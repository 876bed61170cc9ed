"""Runs that belong together: one agent with one configuration in one environment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.analysis.statistics import Summary, summarise
from countless.runs.store import StoredJob

LAST = 100  # a deep run's return is the mean over its last 100 episodes
CURVE_POINTS = 50
MANY_PARAMETERS = 3  # in which groups differ: a label that has them all is too long


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
        elif job.about.get("engine") in ("dqn", "host") and job.records is not None:
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
    return Group(
        about["engine"], about["agent"], about["env"], config, budget, returns, tuple(jobs)
    )


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
    """The mean return of the episodes that ended in each fiftieth of the budget.

    It begins when every environment has ended an episode: the first ones to end are the short ones,
    and where a short episode is a success they would be a peak that no agent had learned.
    """
    edges = np.linspace(0, frames, CURVE_POINTS + 1)
    y = np.full((len(jobs), CURVE_POINTS), np.nan)
    for row, job in zip(y, jobs, strict=True):
        if job.records is None:
            continue
        when, scores = job.records["frames"].to_numpy(), job.records["return"].to_numpy()
        bins = np.clip(np.searchsorted(edges, when, side="left") - 1, 0, CURVE_POINTS - 1)
        lanes, first_ends = np.unique(job.records["lane"].to_numpy(), return_index=True)
        if len(lanes) < job.about["identity"]["config"]["envs"]:
            continue
        # A partial run ends where its last episode did.
        reached = min((job.finished or {}).get("frames", when.max()), frames)
        for k in range(bins[first_ends].max(), np.searchsorted(edges, reached, side="left")):
            ended = scores[bins == k]
            # Without one the run is where it was: a mean over runs must not leave it out.
            row[k] = ended.mean() if len(ended) else row[k - 1]
    return Curve(edges[1:], y, "frames")


def speed(group: Group) -> float | None:
    """Steps per second when the job was last executed; None where that is not known."""
    finished = group.jobs[0].finished or {}
    if group.engine != "tabular":
        return finished.get("steps_per_second")
    if not finished.get("simulated_seconds") or not finished.get("counts_steps", True):
        return None
    return float(finished["simulated_steps"] / finished["simulated_seconds"])


def varying_parameters(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The parameters in which configurations differ, in their order."""
    names = dict.fromkeys(name for config in configs for name in config)
    return [name for name in names if len({str(config.get(name)) for config in configs}) > 1]


def differences(configs: Sequence[Mapping[str, Any]], kinds: Sequence[Hashable]) -> list[list[str]]:
    """For each configuration, what tells it from others of its kind.

    Where they differ in many parameters, those in which it is like most of them are left out.

    >>> differences([{"norm": 1.0, "beta": 0.5}, {"norm": 2.0, "beta": 0.5}, {"beta": 3.0}], "aab")
    [['norm 1'], ['norm 2'], []]
    """
    told: list[list[str]] = [[] for _ in configs]
    members: dict[Hashable, list[int]] = {}
    for i, kind in enumerate(kinds):
        members.setdefault(kind, []).append(i)
    for at in members.values():
        alike = [configs[i] for i in at]
        varying = varying_parameters(alike)
        usual = _usual(varying, alike) if len(varying) > MANY_PARAMETERS else {}
        for i, own in zip(at, alike, strict=True):
            told[i] = [
                f"{name} {short_value(own.get(name))}"
                for name in varying
                if usual.get(name) != str(own.get(name))
            ]
    return told


def _usual(names: Sequence[str], configs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The values of parameters that more than half of the configurations have."""
    counted = {name: Counter(str(one.get(name)) for one in configs) for name in names}
    most = {name: counts.most_common(1)[0] for name, counts in counted.items()}
    return {name: value for name, (value, n) in most.items() if 2 * n > len(configs)}


def best_first(groups: Sequence[Group]) -> list[Group]:
    """Groups by mean return; those without a return last."""
    means = [-np.inf if group.summary is None else group.summary.mean for group in groups]
    return [groups[i] for i in np.argsort(-np.array(means), kind="stable")]


def label_groups(groups: Sequence[Group]) -> list[str]:
    """For each group, the name that tells it from the others."""
    envs = {group.env for group in groups}
    labels = []
    told_of = differences([group.config for group in groups], [group.agent for group in groups])
    for group, parts in zip(groups, told_of, strict=True):
        alike = [other for other in groups if other.agent == group.agent]
        if len({other.length for other in alike}) > 1:
            parts.append(group.length)
        label = group.agent + (f" ({', '.join(parts)})" if parts else "")
        labels.append(label + (f" in {group.env}" if len(envs) > 1 else ""))
    told = list(labels)
    for label in {label for label in labels if labels.count(label) > 1}:
        at = [i for i, one in enumerate(labels) if one == label]
        for i, more in zip(at, _told_apart([groups[i] for i in at]), strict=True):
            told[i] = f"{label}, {more}"
    return told


def _told_apart(groups: Sequence[Group]) -> list[str]:
    """What tells groups of one agent and one configuration apart: how many runs, the seed, or
    another part of what was asked for; only where that is all the same, the job."""
    asked = [_asked_for(group) for group in groups]
    names = dict.fromkeys(name for one in asked for name in one)
    varying = [name for name in names if len({one.get(name, "") for one in asked}) > 1]
    told = [", ".join(one[name] for name in varying if name in one) for one in asked]
    return [
        text if text and told.count(text) == 1
        else ", ".join([*([text] if text else []), f"job {group.jobs[0].about['id'][:4]}"])
        for text, group in zip(told, groups, strict=True)
    ]  # fmt: skip


def _asked_for(group: Group) -> dict[str, str]:
    """What a group was asked for beside its configuration, in words."""
    about, budget = group.jobs[0].about, group.jobs[0].about["budget"]
    words = {}
    if "runs" in budget:
        words["runs"] = f"{budget['runs']:,} run{'s' * (budget['runs'] != 1)}"
    if group.engine == "tabular":
        words["seed"] = f"seed {about['seed']}"
    else:
        words["until"] = "until solved" if budget.get("until") else "to the end"
    plain = {
        name: value
        for name, value in about["identity"].items()
        if isinstance(value, str | int | float) and name not in ("engine", "agent", "env")
    }
    return words | {
        name: f"{name} {short_value(value)}"
        for name, value in plain.items()
        if name not in ("runs", "seed", "steps", "frames", "bits")
    }


def partial_words(group: Group) -> str:
    """How much of a group that is not finished is there; nothing where all is."""
    open_jobs = [job for job in group.jobs if job.finished is None and job.outcome is None]
    if not open_jobs:
        return ""
    if group.engine == "tabular":
        planned = int(group.jobs[0].about["budget"]["runs"])
        return f"partial: {len(group.returns):,} of {planned:,} runs"
    if len(group.jobs) > 1:
        return f"partial: {len(open_jobs)} of {len(group.jobs)} runs are not finished"
    records = open_jobs[0].records
    frames = records["frames"].to_numpy() if records is not None else np.empty(0)
    done = int(frames.max()) if len(frames) else 0
    return f"partial: {done:,} of {int(group.budget['frames']):,} frames"


def short_value(value: Any) -> str:
    """A parameter as a label says it; a job's identity leaves newer ones out at their defaults."""
    if value is None:
        return "default"
    return f"{value:g}" if isinstance(value, float) else str(value)
