"""A study: settings of one agent in one MDP, many runs each; kept in parts, so that it can go on.

On disk a study is a folder: `study.json` says what it is, and each `part-*.parquet` holds the
returns of some settings or some runs. A part is there whole or not at all. The folder's name
carries a digest of the study, so that the same command finds what it has finished.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from numbers import Integral
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from countless.agents.catalogue import describe, resolve
from countless.agents.tabular.agent import RNGS, TabularAgent, kernel_case
from countless.agents.tabular.simulate import compile_kernels, prepare_kernel, simulate
from countless.core.errors import BadInput
from countless.core.parameters import check_choice
from countless.core.progress import SILENT, Reporter
from countless.core.records import (
    SCHEMA,
    ensure_folder,
    read_table,
    versions,
    write_json,
    write_table,
)
from countless.core.seeding import check_seed, digest
from countless.envs import domains
from countless.envs.mdp import MDP

PART_STEPS = 50_000_000
MOST_STEPS = 10**8
MOST_RETURNS = 10**8
Returns = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """A rectangle of a study: some settings, some runs."""

    index: int
    settings: range
    runs: range


@dataclass(frozen=True)
class Study:
    """Settings of one agent in one MDP, `runs` runs of `steps` steps each."""

    settings: tuple[TabularAgent, ...]
    mdp: MDP
    runs: int
    steps: int
    seed: int
    rng: str = "countless"

    def __post_init__(self) -> None:
        check_whole("runs", self.runs, max(1, MOST_RETURNS // len(self.settings)))
        check_whole("steps", self.steps, MOST_STEPS)
        check_seed(self.seed)
        check_choice("rng", self.rng, RNGS)
        settings = tuple(resolve(agent, self.mdp) for agent in self.settings)
        object.__setattr__(self, "settings", settings)

    @property
    def total_steps(self) -> int:
        return len(self.settings) * self.runs * self.steps

    @cached_property
    def name(self) -> str:
        """`<agent>-<env>-<digest>`: the same for the same study, whoever asks."""
        content = self.content()
        env = "".join(c if c.isalnum() or c in "-." else "-" for c in self.mdp.name)
        return f"{self.settings[0].name}-{env}-{digest(content)[:10]}"

    def shapes(self) -> list[TabularAgent]:
        """One setting of each kind that needs a kernel of its own."""
        return list({kernel_case(agent): agent for agent in self.settings}.values())

    def content(self) -> dict[str, Any]:
        """What the study is, as plain data; equal content gives equal returns."""
        return {
            "schema": SCHEMA,
            "version": version("countless"),
            "agent": self.settings[0].name,
            "env": self.mdp.name,
            "mdp": self.mdp.fingerprint,
            "runs": self.runs,
            "steps": self.steps,
            "seed": self.seed,
            "rng": self.rng,
            "settings": [describe(agent) for agent in self.settings],
        }

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


def check_whole(name: str, value: object, most: int = 10**12, least: int = 1) -> int:
    """`value` as a whole number from `least` to `most`."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= int(cast(int, value)) <= most:
        raise BadInput(f"{name} must be a whole number from {least} to {most:,}, not {value!r}")
    return int(cast(int, value))


def default_steps(mdp: MDP, rng: str = "countless") -> int:
    """The run length that the MDP's author meant, or the paper's 5,000."""
    if mdp.time_limit is None and rng == "authors":
        raise BadInput(
            f"{mdp.name} has no time_limit, so the released scripts would run on until a terminal "
            "state: say how many steps at most with --steps"
        )
    return mdp.time_limit or domains.STUDY_STEPS


@dataclass(frozen=True)
class Finished:
    """A study's returns (settings, runs), and the seconds that this call spent simulating."""

    returns: Returns
    seconds: float
    simulated_steps: int


def complete(
    study: Study,
    folder: Path | None = None,
    *,
    threads: int | None = None,
    reporter: Reporter = SILENT,
    description: str = "",
) -> Finished:
    """Run what is missing of a study, keeping each part in `folder` as it ends, and return it all."""
    if threads is not None:
        check_whole("threads", threads, 4096)
    returns = np.full((len(study.settings), study.runs), np.nan)
    missing = study.parts()
    for agent in study.shapes():
        # Refuses what cannot run.
        prepare_kernel([agent], study.mdp, study.steps, study.seed, study.rng)
    if folder is not None:
        ensure_folder(folder)
        if not (folder / "study.json").is_file():
            write_json(folder / "study.json", study.content() | {"versions": versions()})
        missing = [part for part in missing if not _load(folder, part, returns)]
    seconds = 0.0
    missing_steps = sum(len(part.settings) * len(part.runs) for part in missing) * study.steps
    with reporter.task(description or study.name, study.total_steps) as advance:
        advance(study.total_steps - missing_steps)
        for agent in study.shapes() if missing else ():
            compile_kernels([agent], study.mdp, study.rng)
        for part in missing:
            began = time.perf_counter()
            _simulate_part(study, part, returns, threads, advance)
            seconds += time.perf_counter() - began
            if folder is not None:
                _save(folder, part, returns)
    return Finished(returns, seconds, missing_steps)


def load(study: Study, folder: Path) -> Returns | None:
    """The returns of a finished study, or None while a part is missing."""
    returns = np.full((len(study.settings), study.runs), np.nan)
    return returns if all(_load(folder, part, returns) for part in study.parts()) else None


def _simulate_part(
    study: Study, part: Part, returns: Returns, threads: int | None, advance: Any
) -> None:
    by_shape: dict[Any, list[int]] = {}
    for i in part.settings:
        by_shape.setdefault(kernel_case(study.settings[i]), []).append(i)
    for indices in by_shape.values():
        returns[indices, part.runs.start : part.runs.stop] = simulate(
            [study.settings[i] for i in indices],
            study.mdp,
            runs=len(part.runs),
            steps=study.steps,
            seed=study.seed,
            rng=study.rng,
            first_run=part.runs.start,
            threads=threads,
            progress=advance,
        )


def _part_path(folder: Path, part: Part) -> Path:
    return folder / f"part-{part.index:05d}.parquet"


def _places(part: Part) -> dict[str, Any]:
    """Which setting and which run each row of a part belongs to."""
    return {
        "setting": np.repeat(np.array(part.settings, dtype=np.int64), len(part.runs)),
        "run": np.tile(np.array(part.runs, dtype=np.int64), len(part.settings)),
    }


def _save(folder: Path, part: Part, returns: Returns) -> None:
    rows = returns[part.settings.start : part.settings.stop, part.runs.start : part.runs.stop]
    write_table(
        _part_path(folder, part),
        _places(part) | {"return": rows.ravel()},
    )


def _load(folder: Path, part: Part, returns: Returns) -> bool:
    table = read_table(_part_path(folder, part))
    if (
        table is None
        or table.column_names != ["setting", "run", "return"]
        or not all(
            np.array_equal(table[name].to_numpy(), column) for name, column in _places(part).items()
        )
    ):
        return False
    rows = table["return"].to_numpy().reshape(len(part.settings), len(part.runs))
    returns[part.settings.start : part.settings.stop, part.runs.start : part.runs.stop] = rows
    return True


def best_first(returns: Returns) -> Sequence[int]:
    """Indices of settings by mean return, best first."""
    return [int(i) for i in np.argsort(-returns.mean(axis=1), kind="stable")]
