"""One agent in one environment: what `countless run` and `countless.run` do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countless.agents.catalogue import agent_entry, make_agent
from countless.agents.dqn.agents import SCALES, require_deep
from countless.agents.tabular.agent import TabularAgent
from countless.core.bars import reporter_for
from countless.core.errors import BadInput, named, unknown_parameter
from countless.core.parameters import check_choice, check_count
from countless.core.progress import Reporter
from countless.core.seeding import check_seed, check_seeds
from countless.envs.catalog import as_mdp
from countless.runs.engines import Where, make_engine
from countless.runs.job import Job
from countless.runs.result import Result
from countless.runs.store import Store

if TYPE_CHECKING:
    from countless.agents.dqn.device import Device
    from countless.envs.mdp import MDP

RUNS = 100
RESULTS = "results"
TABULAR_OPTIONS = ("runs", "steps", "rng")
DEEP_OPTIONS = ("seeds", "frames", "scale", "device", "precision", "compile")
COMMON_OPTIONS = ("seed", "threads", "out", "progress", *(item.name for item in fields(Where)))


@dataclass(frozen=True)
class Budget:
    """How much to run, and how; None stands for what the agent's kind takes by default."""

    runs: int | None = None
    steps: int | None = None
    seed: int | None = None
    rng: str | None = None
    seeds: Sequence[int] | None = None
    frames: int | None = None
    scale: str | None = None
    device: str | None = None
    precision: str | None = None
    compile: bool | None = None
    threads: int | None = None
    elsewhere: str | None = (
        None  # the device of jobs that run on other machines, unless one is named
    )

    def __post_init__(self) -> None:
        if self.threads is not None:
            check_count("threads", self.threads, 4096)

    def check(self, agent: str, engine: str) -> None:
        """Refuse what the other kind of agent takes: it would change nothing."""
        deep = engine == "dqn"
        kind = "a deep agent" if deep else "a tabular agent"
        for name in TABULAR_OPTIONS if deep else DEEP_OPTIONS:
            if getattr(self, name) not in (None, False):
                own = (*(DEEP_OPTIONS if deep else TABULAR_OPTIONS), "seed")
                takes = ", ".join(map(named, own))
                raise BadInput(f"{agent} is {kind}: it takes {takes}, not {named(name)}")

    def all_seeds(self) -> list[int]:
        """The seeds of a deep agent's runs."""
        if self.seeds is not None and self.seed is not None:
            raise BadInput(f"give {named('seed')} or {named('seeds')}, not both")
        if not isinstance(self.seeds, Iterable | None) or isinstance(self.seeds, str):
            raise BadInput(f"{named('seeds')} must be a list of seeds, not {self.seeds!r}")
        if self.seeds is None:
            return [check_seed(self.seed or 0)]
        seeds = list(self.seeds)
        if not seeds:
            raise BadInput(f"{named('seeds')} names no seed")
        return list(check_seeds(seeds))


def run(
    agent: str | Any,
    env: str | MDP | Any,
    *,
    runs: int | None = None,
    steps: int | None = None,
    seed: int | None = None,
    rng: str | None = None,
    seeds: Sequence[int] | None = None,
    frames: int | None = None,
    scale: str | None = None,
    device: str | None = None,
    precision: str | None = None,
    compile: bool | None = None,
    threads: int | None = None,
    engine: str | None = None,
    address: str | None = None,
    cpus_per_job: float | None = None,
    gpus_per_job: float | None = None,
    memory_per_job: float | None = None,
    out: Path | str | None = None,
    progress: bool | Reporter = True,
    **parameters: Any,
) -> Result:
    """Run an agent in an environment, and return what came out.

    Parameters
    ----------
    agent
        A name of `countless list agents`, or a tabular agent from `countless.make_agent`.
    env
        A built-in domain ("riverswim", "deepsea-10"), a path to an .mdp file, a Gymnasium id or
        environment with a model, an `MDP`; for deep agents also an Atari game ("MontezumaRevenge")
        or any Gymnasium id with discrete actions.
    runs, steps, rng
        Tabular agents: independent runs (100), steps of a run (the environment's limit, or 5,000),
        and "authors" to replay the random draws of the paper's released code.
    seed
        The seed of all random numbers (0).
    seeds, frames, scale, device, precision, compile
        Deep agents: one run per seed, the frames of a run, and the sizes and rates that go with
        them: "smoke" (a minute), "laptop", "small" (small images and vectors) or "paper"
        (the default); where and how the network computes.
    threads
        Tabular agents: default one per core, and no number depends on it. Deep agents: default 1;
        another number may round otherwise.
    engine, address, cpus_per_job, gpus_per_job, memory_per_job
        "ray" executes the same jobs on a Ray cluster (docs/cluster.md): the one at `address`
        (HOST:PORT or "auto"), or Ray on this machine; and what each job may take there (memory in
        GB). No number depends on it.
    out
        The folder to keep records in; the same call goes on from them. Without it tabular runs are
        kept in memory only, and deep runs, which write checkpoints, and all runs on Ray in "results".
    progress
        Whether to show progress bars.
    **parameters
        The agent's own (`countless run AGENT --help` lists them). Those not given are published
        values where there are some for the environment, else defaults.

    >>> result = run("sarsa-sr", "riverswim", runs=10, seed=1, progress=False)
    >>> len(result.returns)
    10
    """
    where = Where(engine, address, cpus_per_job, gpus_per_job, memory_per_job)
    budget = Budget(
        runs,
        steps,
        seed,
        rng,
        seeds,
        frames,
        scale,
        device,
        precision,
        compile,
        threads,
        where.device,
    )
    jobs = jobs_of(agent, env, budget, parameters)
    command = f"countless.run({jobs[0].agent!r}, {jobs[0].env!r}, ...)"
    return execute(jobs, out, command=command, where=where, threads=threads, progress=progress)


def execute(
    jobs: Sequence[Job],
    out: Path | str | None,
    *,
    command: str,
    where: Where,
    threads: int | None = None,
    progress: bool | Reporter = True,
) -> Result:
    """Execute jobs in the engine that was asked for."""
    if out is None and (where.on_ray or any(job.engine == "dqn" for job in jobs)):
        out = RESULTS
    engine = make_engine(where, threads, reporter_for(progress))
    return Result(engine.run(jobs, Store(out, command)))


def jobs_of(
    agent: str | Any, env: str | MDP | Any, budget: Budget, parameters: Mapping[str, Any]
) -> list[Job]:
    """The jobs of a run: one for a tabular agent, one per seed for a deep agent."""
    if not isinstance(agent, str):
        if parameters:
            raise BadInput("give parameters with an agent's name, or an agent object, not both")
        if not isinstance(agent, TabularAgent):
            raise BadInput(
                "an agent is a name of `countless list agents` or an agent from "
                f"countless.make_agent, not {agent!r}"
            )
        budget.check(agent.name, "tabular")
        return [tabular_job((agent,), as_mdp(env), budget)]
    entry = agent_entry(agent)
    budget.check(agent, entry.engine)
    check_names(agent, parameters)
    if entry.engine == "dqn":
        return deep_jobs(agent, env, budget, [parameters])
    mdp = as_mdp(env)
    return [tabular_job((make_agent(agent, mdp, parameters),), mdp, budget)]


def check_names(agent: str, parameters: Mapping[str, Any], *others: str) -> None:
    """Refuse a keyword that is neither a parameter of the agent nor an argument of the function."""
    known = agent_entry(agent).parameters
    arguments = (*TABULAR_OPTIONS, *DEEP_OPTIONS, *COMMON_OPTIONS, *others)
    for name in parameters:
        if name not in known:
            raise unknown_parameter(agent, name, known, arguments)


def tabular_job(settings: tuple[Any, ...], mdp: MDP, budget: Budget) -> Job:
    """A job of one or more settings."""
    from countless.runs.tabular import TabularJob, default_steps

    rng = "countless" if budget.rng is None else budget.rng
    return TabularJob(
        settings,
        mdp,
        RUNS if budget.runs is None else budget.runs,
        default_steps(mdp, rng) if budget.steps is None else budget.steps,
        0 if budget.seed is None else budget.seed,
        rng,
    )


def deep_jobs(
    agent: str, env: object, budget: Budget, settings: Sequence[Mapping[str, Any]]
) -> list[Job]:
    """One job for each setting and each seed."""
    require_deep()
    from countless.runs.dqn import make_job

    if not isinstance(env, str):
        raise BadInput(f"{agent} takes an environment by its name, not {type(env).__name__}")
    scale = check_choice("scale", "paper" if budget.scale is None else budget.scale, tuple(SCALES))
    device = _device(budget)
    return [
        make_job(
            agent,
            env,
            seed=seed,
            frames=budget.frames,
            scale=scale,
            device=device,
            threads=1 if budget.threads is None else budget.threads,
            parameters=parameters,
        )
        for parameters in settings
        for seed in budget.all_seeds()
    ]


def _device(budget: Budget) -> Device:
    """The device of deep jobs; one of other machines is looked for where a job is executed."""
    from countless.agents.dqn.device import PRECISIONS, Device, make_device

    name = "auto" if budget.device is None else budget.device
    precision = "float32" if budget.precision is None else budget.precision
    if budget.elsewhere is None:
        return make_device(name, precision, bool(budget.compile))
    check_choice("precision", precision, PRECISIONS)
    return Device(budget.elsewhere if name == "auto" else name, precision, bool(budget.compile))
