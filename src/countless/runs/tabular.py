"""Jobs of tabular agents: one or more settings of an agent in an MDP, many runs each.

A job is executed in parts, each written whole or not at all, so that it can go on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from countless.agents.catalogue import agent_entry
from countless.agents.tabular.agent import (
    RNGS,
    TabularAgent,
    describe,
    identity_of,
    kernel_case,
    resolve,
)
from countless.agents.tabular.simulate import Curves, compile_kernels, prepare_kernel, simulate
from countless.core.errors import BadInput, CountlessError, named
from countless.core.parameters import check_choice, check_count
from countless.core.records import ensure_folder, read_json, read_table, write_table
from countless.core.seeding import check_seed
from countless.envs import domains
from countless.envs.mdp import MDP, describe_mdp, read_mdp
from countless.runs.job import Execution, Outcome, Stopped, as_columns
from countless.runs.stopwatch import Stopwatch
from countless.runs.store import about_records
from countless.runs.tabular_tables import (
    EVEN,
    OCTAVES,
    Part,
    Returns,
    curve_marks,
    curve_table,
    record_table,
)

if TYPE_CHECKING:
    import pyarrow

PART_STEPS = 20_000_000
MOST_STEPS = 10**8
MOST_RETURNS = 10**8
CURVE_STEPS = 10_000_000  # a job of more steps, or a longer run, keeps its returns only
CURVE_RUN = 1_000_000


@dataclass(frozen=True)
class TabularJob:
    """Settings of one agent in one MDP, `runs` runs of `steps` steps each.

    `marks` says at which steps the return collected so far is kept. At fifty even ones it is kept
    where a job is short enough for that; at octaves, four to each doubling, always.
    """

    engine: ClassVar[str] = "tabular"
    settings: tuple[TabularAgent, ...]
    mdp: MDP
    runs: int
    steps: int
    seed: int
    rng: str = "countless"
    marks: str = EVEN

    def __post_init__(self) -> None:
        check_count("runs", self.runs, max(1, MOST_RETURNS // len(self.settings)))
        check_count("steps", self.steps, MOST_STEPS if self.marks == EVEN else CURVE_RUN)
        check_seed(self.seed)
        check_choice("rng", self.rng, RNGS)
        settled = tuple(resolve(agent, self.mdp) for agent in self.settings)
        object.__setattr__(self, "settings", settled)  # parameters in units of rewards, as numbers

    @property
    def agent(self) -> str:
        return self.settings[0].name

    @property
    def env(self) -> str:
        return self.mdp.name

    @property
    def label(self) -> str:
        settings = f", {len(self.settings):,} settings" if len(self.settings) > 1 else ""
        return f"{self.agent} in {self.env}{settings}"

    @property
    def units(self) -> int:
        return len(self.settings) * self.runs * self.steps

    @property
    def has_curves(self) -> bool:
        """Whether the return collected so far is kept too; not for sweeps and very long jobs."""
        short = self.steps <= CURVE_RUN and self.units <= CURVE_STEPS
        return len(self.settings) == 1 and (short or self.marks == OCTAVES)

    def identity(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "bits": self.settings[0].bits,
            "agent": self.agent,
            "mdp": self.mdp.fingerprint,
            "seed": self.seed,
            "rng": self.rng,
            "runs": self.runs,
            "steps": self.steps,
            "settings": [identity_of(agent) for agent in self.settings],
            **({} if self.marks == EVEN else {"marks": self.marks}),
        }

    @cached_property
    def configs(self) -> list[dict[str, Any]]:
        """The parameters of every setting, as plain data."""
        return [describe(agent) for agent in self.settings]

    def budget(self) -> dict[str, Any]:
        return {"runs": self.runs, "steps": self.steps}

    def is_met_by(self, finished: Mapping[str, Any]) -> bool:
        return True

    def is_whole(self, records: pyarrow.Table, curves: pyarrow.Table | None) -> bool:
        """Every run of every setting once, and its curve where the job keeps them."""
        places = records["setting"].to_numpy() * self.runs + records["run"].to_numpy()
        points = 0 if curves is None else len(curves)
        return np.array_equal(np.sort(places), np.arange(len(self.settings) * self.runs)) and (
            points
            == (self.runs * len(curve_marks(self.steps, self.marks)) if self.has_curves else 0)
        )

    def select(self, records: pyarrow.Table) -> pyarrow.Table:
        return records

    def check(self, folder: Path | None) -> None:
        for agent in self.shapes():
            prepare_kernel([agent], self.mdp, self.steps, self.seed, self.rng)

    def shapes(self) -> list[TabularAgent]:
        """One setting of each kind that needs a kernel of its own."""
        return list({kernel_case(agent): agent for agent in self.settings}.values())

    def parts(self) -> list[Part]:
        """About `PART_STEPS` steps each: several whole settings, or some runs of one."""
        whole = self.rng == "authors"  # runs share their streams
        runs = self.runs if whole else max(1, min(self.runs, PART_STEPS // self.steps))
        settings = max(1, PART_STEPS // (self.runs * self.steps))
        corners = [
            (range(i, min(i + settings, len(self.settings))), range(j, min(j + runs, self.runs)))
            for i in range(0, len(self.settings), settings)
            for j in range(0, self.runs, runs)
        ]
        return [Part(index, *corner) for index, corner in enumerate(corners)]

    def execute(self, folder: Path | None, execution: Execution) -> Outcome:
        """Run what is missing, and keep each part as it ends."""
        work = _Work(self, folder, execution)
        return work.finish()

    def execute_parts(self, folder: Path, numbers: Sequence[int], execution: Execution) -> None:
        """Run some parts for whoever executes the job and holds its folder."""
        work = _Work(self, folder, execution)
        parts = self.parts()
        for _ in work.run([parts[number] for number in numbers]):
            pass

    def to_message(self) -> dict[str, Any]:
        """As plain data, to be executed elsewhere."""
        return {
            "agent": self.agent,
            "settings": self.configs,
            "mdp": describe_mdp(self.mdp),
            "runs": self.runs,
            "steps": self.steps,
            "seed": self.seed,
            "rng": self.rng,
            "marks": self.marks,
        }


def read_job(message: Mapping[str, Any]) -> TabularJob:
    """A job from `to_message`."""
    kind = agent_entry(message["agent"]).kind
    assert kind is not None, "a tabular agent"
    return TabularJob(
        tuple(kind(**as_columns(setting)) for setting in message["settings"]),
        read_mdp(message["mdp"]),
        message["runs"],
        message["steps"],
        message["seed"],
        message["rng"],
        message["marks"],
    )


class _Work:
    """The execution of a tabular job."""

    def __init__(self, job: TabularJob, folder: Path | None, execution: Execution) -> None:
        self.job, self.folder, self.execution = job, folder, execution
        self.returns = np.full((len(job.settings), job.runs), np.nan)
        self.marks = curve_marks(job.steps, job.marks)
        shape = (job.runs, len(self.marks))
        self.curves: Returns | None = np.full(shape, np.nan) if job.has_curves else None
        self.watch = Stopwatch(folder)
        self.about = None
        if folder is not None:
            self.about = about_records(read_json(folder / "job.json") or {})
            for kind in ("records", "curves") if job.has_curves else ("records",):
                ensure_folder(folder / kind)

    def finish(self) -> Outcome:
        job = self.job
        parts = job.parts()
        missing = [part for part in parts if not self._load(part)]
        simulated = sum(part.units(job.steps) for part in missing)
        self.execution.task.advance(job.units - simulated)
        if missing and len(parts) > 1 and self.execution.scatter is not None:
            self.execution.scatter(job, [part.index for part in missing])
            absent = [part.index for part in missing if not self._load(part)]
            if absent:
                raise CountlessError(
                    f"{job.label}: part {absent[0]} was not written to {self.folder}"
                )
        else:
            for _ in self.run(missing):
                self.watch.save()
        finished = {
            "runs": job.runs,
            "steps": job.steps,
            "seconds": self.watch.total,
            "simulated_steps": simulated,
            "simulated_seconds": round(self.watch.now, 6) if missing else 0.0,
            # A replayed run may end with its first episode: how many steps it took is not known.
            "counts_steps": not (job.rng == "authors" and bool(job.mdp.terminated.any())),
        }
        whole = Part(0, range(len(job.settings)), range(job.runs))
        curves = None
        if self.curves is not None:
            curves = curve_table(job, whole.runs, self.marks, self.curves)
        return Outcome(record_table(job, whole, self.returns), curves, finished)

    def run(self, parts: Sequence[Part]) -> Iterator[None]:
        """Simulate parts, and keep each as it ends."""
        for agent in self.job.shapes() if parts else ():
            compile_kernels([agent], self.job.mdp, self.job.rng, self.job.has_curves)
        self.watch = Stopwatch(self.folder)  # compiling is not counted
        for part in parts:
            self._simulate(part)
            self._save(part)
            yield

    def _advance(self, amount: int) -> None:
        self.execution.task.advance(amount)
        if self.execution.stop():
            raise Stopped

    def _simulate(self, part: Part) -> None:
        by_shape: dict[Any, list[int]] = {}
        for i in part.settings:
            by_shape.setdefault(kernel_case(self.job.settings[i]), []).append(i)
        kept = None
        if self.curves is not None:
            kept = Curves(self.marks, self.curves[None, part.runs.start : part.runs.stop])
        for indices in by_shape.values():
            self.returns[indices, part.runs.start : part.runs.stop] = simulate(
                [self.job.settings[i] for i in indices],
                self.job.mdp,
                runs=len(part.runs),
                steps=self.job.steps,
                seed=self.job.seed,
                rng=self.job.rng,
                first_run=part.runs.start,
                threads=self.execution.threads,
                progress=self._advance,
                curves=kept,
            )

    def _save(self, part: Part) -> None:
        """Curves first: a part whose records are there is whole."""
        if self.folder is None:
            return
        if self.curves is not None:
            curves = curve_table(self.job, part.runs, self.marks, self.curves)
            write_table(self.folder / "curves" / part.file, curves, self.about)
        table = record_table(self.job, part, self.returns)
        write_table(self.folder / "records" / part.file, table, self.about)

    def _load(self, part: Part) -> bool:
        """Whether a part is there whole; its numbers are taken from it then."""
        if self.folder is None:
            return False
        table = read_table(self.folder / "records" / part.file)
        settings, runs = np.meshgrid(part.settings, part.runs, indexing="ij")
        places = {"setting": settings.ravel(), "run": runs.ravel()}
        if table is None or not all(
            name in table.column_names and np.array_equal(table[name].to_numpy(), expected)
            for name, expected in places.items()
        ):
            return False
        if self.curves is not None:
            curves = read_table(self.folder / "curves" / part.file)
            if curves is None or len(curves) != len(part.runs) * len(self.marks):
                return False
            rows = curves["return"].to_numpy().reshape(len(part.runs), len(self.marks))
            self.curves[part.runs.start : part.runs.stop] = rows
        rows = table["return"].to_numpy().reshape(settings.shape)
        self.returns[part.settings.start : part.settings.stop, part.runs.start : part.runs.stop] = (
            rows
        )
        return True


def default_steps(mdp: MDP, rng: str = "countless") -> int:
    """The run length that the MDP's author meant, or the paper's 5,000."""
    if mdp.time_limit is None and rng == "authors":
        raise BadInput(
            f"{mdp.name} has no time_limit, so the released scripts would run on until a terminal "
            f"state: say how many steps at most with {named('steps')}"
        )
    return mdp.time_limit or domains.STUDY_STEPS
