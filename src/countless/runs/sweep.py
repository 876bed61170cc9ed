"""Sweeps: every combination of a grid, from a TOML file or from the paper."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from countless.agents.catalogue import AGENTS, agent_entry, describe, make_agent, parameter_names
from countless.agents.tabular.agent import PAPER_RANGES, PAPER_SWEEP, TabularAgent
from countless.core.errors import BadInput
from countless.core.progress import SILENT, Reporter
from countless.envs.catalog import make_mdp
from countless.envs.mdp import MDP
from countless.runs.study import Finished, Study, best_first, complete, default_steps

Grid = Mapping[str, Sequence[float | str]]
PAPER_SOURCES = (PAPER_SWEEP, PAPER_RANGES)
MOST_SETTINGS = 1_000_000


def paper_grid(agent: str) -> Grid:
    """The paper's grid for an agent."""
    grid = agent_entry(agent).grid
    if grid is None or grid.source not in PAPER_SOURCES:
        has = [e.name for e in AGENTS.values() if e.grid and e.grid.source in PAPER_SOURCES]
        raise BadInput(
            f"the paper has no grid for {agent}; it has for {', '.join(has)}: "
            "give one with --grid FILE.toml"
        )
    return grid.values


def default_grid(agent: str) -> Grid:
    """The paper's grid where there is one, else ours."""
    grid = agent_entry(agent).grid
    return paper_grid(agent) if grid is None else grid.values


def read_grid(path: Path) -> Grid:
    """A grid file: `name = [values]` sweeps a parameter, `name = value` fixes it.

    alpha = [0.1, 0.25, 0.5]
    beta = [10, 100]
    norm = 2
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: is not a TOML file: {error}") from None
    if not content:
        raise BadInput(f"{path}: is empty; write `alpha = [0.1, 0.25]`, a line a parameter")
    grid: dict[str, list[float | str]] = {}
    for name, value in content.items():
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(v, int | float | str) for v in values):
            raise BadInput(f"{path}: {name}: must be a value or a list of values, not {value!r}")
        if len(set(values)) < len(values):
            raise BadInput(f"{path}: {name}: has a value twice")
        grid[name] = values
    return grid


def expand(
    agent: str, env: str | MDP, grid: Grid, fixed: Mapping[str, Any], origin: str = "grid"
) -> tuple[TabularAgent, ...]:
    """Every setting of a grid, the last parameter varying fastest; `fixed` overrides the grid."""
    names = parameter_names(agent)
    for name in grid:
        if name not in names:
            raise BadInput(
                f"{origin}: {agent} has no parameter {name!r}; it takes {', '.join(names)}"
            )
    axes = {name: grid[name] for name in names if name in grid and name not in fixed}
    size = int(np.prod([len(values) for values in axes.values()], dtype=float))
    if size > MOST_SETTINGS:
        raise BadInput(f"{origin}: has {size:,} settings; the most is {MOST_SETTINGS:,}")
    settings = []
    for values in product(*axes.values()):
        try:
            settings.append(
                make_agent(agent, env, dict(fixed) | dict(zip(axes, values, strict=True)))
            )
        except BadInput as error:
            raise BadInput(f"{origin}: {error}") from None
    return tuple(settings)


@dataclass(frozen=True)
class SweepResult:
    """A finished sweep."""

    study: Study
    finished: Finished
    folder: Path | None

    @property
    def ranking(self) -> Sequence[int]:
        return best_first(self.finished.returns)

    def to_json(self) -> dict[str, Any]:
        """The document that `countless sweep --json` prints: all settings, best first."""
        study, returns = self.study, self.finished.returns
        means = returns.mean(axis=1)
        sds = returns.std(axis=1, ddof=1) if study.runs > 1 else None
        medians = np.median(returns, axis=1)
        return {
            "agent": study.settings[0].name,
            "env": study.mdp.name,
            "runs": study.runs,
            "steps": study.steps,
            "seed": study.seed,
            "rng": study.rng,
            "folder": None if self.folder is None else str(self.folder),
            "seconds": self.finished.seconds,
            "settings": [
                {
                    "config": describe(study.settings[i]),
                    "mean": float(means[i]),
                    "sd": None if sds is None else float(sds[i]),
                    "median": float(medians[i]),
                }
                for i in self.ranking
            ],
        }


def sweep(
    agent: str,
    env: str,
    *,
    grid: Grid | Path | str = "default",
    runs: int = 100,
    steps: int | None = None,
    seed: int = 0,
    rng: str = "countless",
    out: Path | str | None = None,
    threads: int | None = None,
    reporter: Reporter = SILENT,
    **fixed: float | str,
) -> SweepResult:
    """Run every setting of a grid: a mapping, a TOML file, "paper" or "default".

    With `out`, each finished part is kept in a folder there, and the same call goes on from it.

    >>> result = sweep("sarsa", "riverswim", grid={"alpha": [0.1, 0.2]}, runs=2, steps=50)
    >>> len(result.study.settings)
    2
    """
    mdp = make_mdp(env)
    origin = "grid"
    if isinstance(grid, str | Path):
        origin = str(grid)
        named = {"paper": paper_grid, "default": default_grid}.get(str(grid))
        grid = read_grid(Path(grid)) if named is None else named(agent)
    settings = expand(agent, mdp, grid, fixed, origin)
    study = Study(
        settings, mdp, runs, default_steps(mdp, rng) if steps is None else steps, seed, rng
    )
    folder = None if out is None else Path(out) / study.name
    finished = complete(
        study, folder, threads=threads, reporter=reporter, description=f"sweep {agent} in {env}"
    )
    return SweepResult(study, finished, folder)
