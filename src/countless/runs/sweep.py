"""Every combination of a grid of parameters: what `countless sweep` and `countless.sweep` do."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import product
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from countless.agents.catalogue import agent_entry, make_agent
from countless.agents.tabular.agent import PAPER_SWEEP
from countless.core.errors import BadInput, named, naming_options, unknown_parameter
from countless.core.progress import Reporter
from countless.envs.catalog import as_mdp
from countless.runs.engines import Where
from countless.runs.job import Job
from countless.runs.result import Result
from countless.runs.run import Budget, check_names, deep_jobs, execute, tabular_job

if TYPE_CHECKING:
    from countless.envs.mdp import MDP

Value = float | str | bool
Grid = Mapping[str, Sequence[Value]]

MOST_SETTINGS = 1_000_000


def sweep(
    agent: str,
    env: str | MDP | Any,
    *,
    grid: Grid | Path | str = "default",
    out: Path | str | None = None,
    progress: bool | Reporter = True,
    **options: Any,
) -> Result:
    """Run every setting of a grid of parameters; `result.ranking` has the best first.

    Parameters
    ----------
    agent, env, out, progress
        As in `countless.run`.
    grid
        A mapping from parameters to lists of values, a TOML file with the same, "paper" for the
        grid that the paper swept, or "default": the paper's where it has one, else ours.
    **options
        How much to run, as in `countless.run` (`runs`, `steps`, `seed`, `rng`; for deep agents
        `seeds`, `frames`, `scale`, `device`, `precision`, `compile`; `threads`) and where (`engine`,
        `address`, `cpus_per_job`, ...), and parameters of the agent that are the same in every
        setting: they override the grid.

    >>> result = sweep(
    ...     "sarsa", "riverswim", grid={"alpha": [0.1, 0.2]}, runs=2, steps=50, progress=False
    ... )
    >>> len(result.groups)
    2
    """
    where = Where(**_taken_from(options, Where))
    budget = Budget(**_taken_from(options, Budget), elsewhere=where.device)
    jobs = sweep_jobs(agent, env, grid, budget, options)
    command = f"countless.sweep({agent!r}, {jobs[0].env!r}, ...)"
    return execute(
        jobs, out, command=command, where=where, threads=budget.threads, progress=progress
    )


def _taken_from(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """The options that are fields of a class, which are then gone from the others."""
    return {item.name: options.pop(item.name) for item in fields(kind) if item.name in options}


def sweep_jobs(
    agent: str,
    env: str | MDP | Any,
    grid: Grid | Path | str,
    budget: Budget,
    fixed: Mapping[str, Any],
) -> list[Job]:
    """The jobs of a sweep: one for a tabular agent, one per setting and seed for a deep agent."""
    if not isinstance(agent, str):
        raise BadInput(f"sweep takes an agent by its name, not {type(agent).__name__}")
    entry = agent_entry(agent)
    budget.check(agent, entry.engine)
    check_names(agent, fixed, "grid")
    origin = str(grid) if isinstance(grid, str | Path) else "grid"
    settings = expand(agent, find_grid(agent, grid), fixed, origin)

    def jobs(settings: Sequence[Mapping[str, Any]]) -> list[Job]:
        if entry.engine == "dqn":
            return deep_jobs(agent, env, budget, settings)
        mdp = as_mdp(env)
        agents = tuple(make_agent(agent, mdp, setting) for setting in settings)
        return [tabular_job(agents, mdp, budget)]

    try:
        return jobs(settings)
    except BadInput:
        jobs([fixed])  # what is wrong without the grid too is not the grid's fault
        with _found_in(origin):
            return jobs(settings)


@contextmanager
def _found_in(origin: str) -> Iterator[None]:
    """What goes wrong within is the grid's fault; a grid holds parameters, not options."""
    try:
        with naming_options(False):
            yield
    except BadInput as error:
        raise BadInput(f"{origin}: {error}") from None


def find_grid(agent: str, grid: Grid | Path | str) -> Grid:
    """A grid as it was given, by its name, or from a file."""
    if isinstance(grid, Mapping):
        return _checked(grid, "grid")
    if not isinstance(grid, str | Path):
        raise BadInput(
            f"{named('grid')} must be a mapping from parameters to lists of values, a TOML file, "
            f'"paper" or "default", not {grid!r}'
        )
    own = agent_entry(agent).grid
    if str(grid) not in ("paper", "default"):
        return read_grid(Path(grid))
    if own is None:
        raise BadInput(f"{agent} has no grid: give one with {named('grid')}")
    if str(grid) == "paper" and own.source != PAPER_SWEEP:
        raise BadInput(
            f"the paper has no grid for {agent}: leave {named('grid')} out for ours, or name a file"
        )
    return own.values


def read_grid(path: Path) -> Grid:
    """A grid file: `name = [values]` sweeps a parameter, `name = value` fixes it.

    alpha = [0.1, 0.25, 0.5]
    beta = [10, 100]
    norm = 2
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not a TOML file: {error}") from None
    return parse_grid(path, text)


def parse_grid(path: Path, text: str) -> Grid:
    """The grid in the text of a grid file; `path` is what errors name."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, too
        raise BadInput(f"{path}: is not a TOML file: {error}") from None
    if not content:
        raise BadInput(f"{path}: is empty; write one line per parameter: `alpha = [0.1, 0.25]`")
    return _checked(content, str(path))


def _checked(content: Mapping[str, Any], origin: str) -> Grid:
    """A grid in which every parameter has a list of values, each once."""
    grid: dict[str, list[Value]] = {}
    for name, value in content.items():
        single = isinstance(value, str) or not isinstance(value, Iterable)
        values = [value] if single else list(value)
        if not values or not all(isinstance(v, Real | str) for v in values):
            raise BadInput(f"{origin}: {name}: must be a value or a list of values, not {value!r}")
        if len(set(values)) < len(values):
            raise BadInput(f"{origin}: {name}: has a value twice")
        grid[name] = values
    return grid


def expand(
    agent: str, grid: Grid, fixed: Mapping[str, Any], origin: str = "grid"
) -> list[dict[str, Any]]:
    """Every setting of a grid, the last parameter varying fastest; `fixed` overrides the grid."""
    names = list(agent_entry(agent).parameters)
    for name in grid:
        if name not in names:
            with _found_in(origin):
                raise unknown_parameter(agent, name, names)
    axes = {name: grid[name] for name in names if name in grid and name not in fixed}
    size = int(np.prod([len(values) for values in axes.values()], dtype=float))
    if size > MOST_SETTINGS:
        raise BadInput(f"{origin}: has {size:,} settings; the most is {MOST_SETTINGS:,}")
    return [
        dict(fixed) | dict(zip(axes, values, strict=True)) for values in product(*axes.values())
    ]
