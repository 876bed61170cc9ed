"""What an experiment is: jobs, published numbers, and how their records are shown.

An experiment only lists jobs and renders records. The engine runs the jobs, the store keeps them, and
two experiments that list the same job share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.analysis.charts import Panels
from countless.analysis.tables import Table
from countless.core.errors import CountlessError
from countless.core.records import ensure_folder, read_json, write_json
from countless.runs.described import read_about, read_reached
from countless.runs.engines import Engine
from countless.runs.groups import Curve
from countless.runs.job import Job, job_id
from countless.runs.result import Result
from countless.runs.store import Store, StoredJob

Returns = NDArray[np.float64]
FOLDER = "experiments"  # of a store: the plan and the figures of each
PLAN = "plan.json"


@dataclass(frozen=True)
class Plan:
    """How much of an experiment to run: tabular ones have runs and a seed, deep ones the rest."""

    runs: int = 10_000
    seed: int = 0
    scale: str = "paper"
    games: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    device: str = "cpu"  # Atari games may be played elsewhere; what rounds otherwise is another job


class IncompleteError(CountlessError):
    """A record that an experiment shows is not there, or is damaged."""


class Records:
    """The records of the jobs of an experiment, by job."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found: dict[str, StoredJob] = {}

    def find(self, job: Job) -> StoredJob | None:
        """A finished job, or None."""
        key = job_id(job)
        if key not in self._found:
            found = self._store.find(job)
            if found is None:
                return None
            self._found[key] = found
        return self._found[key]

    def __getitem__(self, job: Job) -> StoredJob:
        found = self.find(job)
        if found is None:
            raise IncompleteError(
                f"{self._store.folder} lacks {job.label}; run the experiment again to complete it"
            )
        return found

    def returns(self, job: Job) -> Returns:
        """(settings, runs) of a tabular job."""
        return np.array([group.returns for group in Result([self[job]]).groups])

    def curve(self, job: Job) -> Curve | None:
        """The learning curves of the runs of a job."""
        return Result([self[job]]).group.curve


@dataclass(frozen=True)
class Figure:
    """A drawing on disk, as PNG and SVG with the same stem."""

    stem: Path
    caption: str
    interactive: bool = False  # the section's panels show the same, and a page shows those


REPRODUCED, DIFFERS, OPEN = "reproduced", "differs", "not settled here"


@dataclass(frozen=True)
class Claim:
    """What the paper says, what came out here, and what to make of it."""

    claim: str
    paper: str
    ours: str
    verdict: str  # one of the three above


@dataclass(frozen=True)
class Section:
    """A finished experiment, ready to be printed or put into the report."""

    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    words: tuple[str, ...] = ()
    seeds: str = ""
    claims: tuple[Claim, ...] = ()
    panels: tuple[Panels, ...] = ()  # for pages; a figure that shows the same is not drawn there


def unfinished(done: int, planned: int) -> tuple[str, ...]:
    """What a partial experiment says of the runs that are missing."""
    if done == planned:
        return ()
    return (f"{done} of {planned} runs are finished; each number is made of those that are.",)


@dataclass(frozen=True)
class Experiment:
    """A table or figure.

    `jobs` yields lists of jobs; a later list may depend on the records of those before. `render`
    shows the records; it may draw figures into the folder that it is given. A long one that can
    show the jobs that are done so far is `partial`.
    """

    name: str
    summary: str
    title: str
    engine: str  # "tabular" or "dqn": which part of a plan it heeds
    jobs: Callable[[Plan, Records], Iterator[Sequence[Job]]]
    render: Callable[[Plan, Records, Path], Section]
    minutes: float = 0.0  # about, with the default plan, on two cores; of tabular ones
    partial: bool = False
    devices: bool = False  # whether it heeds the plan's device
    games: tuple[str, ...] = field(default=())
    scale_games: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # where not all of them

    def games_at(self, scale: str) -> tuple[str, ...]:
        """The games that are played at a scale unless others are asked for."""
        return self.scale_games.get(scale, self.games)


@dataclass(frozen=True)
class Finished:
    """An experiment with what it shows, and what made it."""

    experiment: Experiment
    section: Section
    made: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        section = self.section
        return {
            "name": self.experiment.name,
            "title": self.experiment.title,
            "tables": [table.to_json() for table in section.tables],
            "figures": [
                {"png": f"{f.stem}.png", "svg": f"{f.stem}.svg", "caption": f.caption}
                for f in section.figures
            ],
            "words": section.words,
            "claims": [asdict(claim) for claim in section.claims],
            "made": self.made,
        }


def seed_ranges(seeds: Sequence[int]) -> list[str]:
    """Seeds as the command line takes them: three or more in a row as a range.

    >>> seed_ranges([0, 1, 4, 5, 6, 7, 9])
    ['0', '1', '4-7', '9']
    """
    rows: list[list[int]] = []
    for seed in seeds:
        if rows and seed == rows[-1][-1] + 1:
            rows[-1].append(seed)
        else:
            rows.append([seed])
    return [
        word
        for row in rows
        for word in ([f"{row[0]}-{row[-1]}"] if len(row) > 2 else map(str, row))
    ]


def command_of(experiment: Experiment, plan: Plan) -> str:
    """The command that runs the experiment by this plan."""
    words = ["countless", "reproduce", experiment.name]
    if experiment.engine == "tabular":
        words += ["--runs", str(plan.runs), "--seed", str(plan.seed)]
    else:
        words += ["--scale", plan.scale, "--games", *plan.games]
        words += ["--seeds", *seed_ranges(plan.seeds)]
        words += [] if plan.device == "cpu" else ["--device", plan.device]
    return " ".join(words)


def run(experiment: Experiment, plan: Plan, results: Path, engine: Engine) -> Finished:
    """Run what is missing, and show it."""
    execute(experiment, plan, results, engine)
    return show(experiment, results)


def execute(experiment: Experiment, plan: Plan, results: Path, engine: Engine) -> None:
    """Run what is missing, and write down the plan.

    A first plan is written before anything runs, so that a report tells of an experiment that was
    interrupted; one that can be shown so far takes the place of an earlier one, too.
    """
    store = Store(results, command_of(experiment, plan))
    records = Records(store)
    place = ensure_folder(results / FOLDER / experiment.name)
    if experiment.partial or not (place / PLAN).exists():
        _write_plan(place, plan, [])
    folders: list[str] = []
    for jobs in experiment.jobs(plan, records):
        engine.run(jobs, store)
        folders += [str(kept.name) for job in jobs if (kept := store.place(job)) is not None]
    _write_plan(place, plan, folders)


def _write_plan(place: Path, plan: Plan, folders: Sequence[str]) -> None:
    kept = read_json(place / PLAN) or {}
    settings = asdict(plan) | {"games": list(plan.games), "seeds": list(plan.seeds)}
    if plan.device == "cpu":
        settings.pop("device")  # as in plans from before there was a choice
    content = {"plan": settings, "jobs": list(dict.fromkeys(folders))}
    if {name: kept.get(name) for name in content} != content:
        write_json(place / PLAN, content)


def _read_plan(place: Path) -> tuple[Plan, list[str]] | None:
    """The plan of an experiment and the folders of its jobs; None where there is none.

    A folder is a name in the store: it cannot lead out of it.
    """
    path = place / PLAN
    if not path.is_file():
        return None
    try:
        kept = read_json(path) or {}
        settings, folders = dict(kept["plan"]), [str(name) for name in kept["jobs"]]
        plan = Plan(
            **settings
            | {"games": tuple(map(str, settings["games"])), "seeds": tuple(settings["seeds"])}
        )
        whole = (plan.runs, plan.seed, *plan.seeds)
        if not all(isinstance(one, int) for one in whole) or any(
            Path(name).name != name or name == ".." for name in folders
        ):
            raise ValueError
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CountlessError(
            f"{path} is damaged; remove it, and `countless reproduce {place.name}` makes it again"
        ) from None
    return plan, folders


def is_planned(experiment: Experiment, results: Path) -> bool:
    """Whether the experiment can be shown from a folder of results: it ran to its end, or can do so
    with the jobs that are done."""
    return (results / FOLDER / experiment.name / PLAN).is_file()


def planned_jobs(experiment: Experiment, results: Path) -> list[str]:
    """The folders of the jobs behind an experiment."""
    kept = _read_plan(results / FOLDER / experiment.name)
    if kept is None:
        return []
    plan, folders = kept
    if not experiment.partial:
        return folders
    store = Store(results, command_of(experiment, plan))
    done = (store.find(job) for jobs in experiment.jobs(plan, Records(store)) for job in jobs)
    return [one.folder.name for one in done if one is not None and one.folder is not None]


def show(experiment: Experiment, results: Path, *, whole: bool = True) -> Finished:
    """Render what was run to its end; unless it must be `whole`, say so where a record is missing."""
    place = results / FOLDER / experiment.name
    kept = _read_plan(place)
    if kept is None:
        raise CountlessError(
            f"{place} holds no finished results; make them with "
            f"`countless reproduce {experiment.name}`"
        )
    plan, _ = kept
    command = command_of(experiment, plan)
    try:
        section = experiment.render(plan, Records(Store(results, command)), place)
    except IncompleteError as error:
        if whole:
            raise
        section = Section(words=(f"Not shown here: {error}.",))
    folders = planned_jobs(experiment, results)
    return Finished(experiment, section, _made(command, results, folders, section, plan))


def _made(
    command: str, results: Path, folders: Sequence[str], section: Section, plan: Plan
) -> dict[str, Any]:
    """What made the records: from the records themselves, so that showing them changes nothing."""
    abouts = [read_about(results / folder / "job.json") for folder in folders]
    ends = [read_reached(results / folder / "finished.json") or {} for folder in folders]
    dates = sorted(about["date"] for about in abouts if "date" in about)
    latest = max(abouts, key=lambda about: about.get("date", ""), default={})
    return {
        "command": command,
        "jobs": len(folders),
        "seconds": round(sum(float(end.get("seconds", 0.0)) for end in ends), 3),
        "seeds": section.seeds or str(plan.seed),
        "first": dates[0] if dates else None,
        "last": dates[-1] if dates else None,
        "versions": latest.get("versions", {}),
        "commit": latest.get("commit"),
        "machine": latest.get("machine"),
    }
