"""One agent in one environment: what `countless run` and `countless.run` do."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countless.agents.catalogue import describe, make_agent
from countless.agents.dqn.agents import AGENTS as DEEP_AGENTS
from countless.agents.tabular.agent import TabularAgent
from countless.analysis.statistics import Summary, summarise
from countless.core.errors import BadInput
from countless.core.progress import SILENT, Reporter
from countless.envs.catalog import make_mdp
from countless.envs.mdp import MDP
from countless.runs.study import Study, complete, default_steps


@dataclass(frozen=True)
class RunResult:
    """The returns of independent runs, one each, in run order, and what made them."""

    study: Study
    env: str
    returns: NDArray[np.float64] = field(repr=False)
    seconds: float
    steps_per_second: float | None

    @property
    def agent(self) -> TabularAgent:
        return self.study.settings[0]

    @cached_property
    def summary(self) -> Summary:
        return summarise(self.returns)

    def to_json(self) -> dict[str, Any]:
        """The document that `countless run --json` prints."""
        return {
            "agent": self.agent.name,
            "env": self.env,
            "runs": self.study.runs,
            "steps": self.study.steps,
            "seed": self.study.seed,
            "config": describe(self.agent) | {"rng": self.study.rng},
            "returns": self.summary.to_json(),
            "seconds": self.seconds,
            "steps_per_second": self.steps_per_second,
            "per_run": self.returns.tolist(),
        }


def run(
    agent: str | TabularAgent,
    env: str | MDP,
    *,
    runs: int = 100,
    steps: int | None = None,
    seed: int = 0,
    rng: str = "countless",
    out: Path | str | None = None,
    threads: int | None = None,
    reporter: Reporter = SILENT,
    **parameters: float | str,
) -> RunResult:
    """Run an agent; parameters not given are the paper's where it has some for `env`.

    With `out`, finished parts are kept in a folder there, and the same call goes on from them.

    >>> result = run("sarsa-sr", "riverswim", runs=10, seed=1)
    >>> len(result.returns)
    10
    """
    if agent in DEEP_AGENTS:
        raise BadInput(f"{agent} is a deep agent: countless.train runs it")
    mdp = make_mdp(env) if isinstance(env, str) else env
    name = env if isinstance(env, str) else env.name
    if isinstance(agent, str):
        agent = make_agent(agent, mdp, parameters)
    elif parameters:
        raise BadInput("give parameters with an agent's name, or an agent object, not both")
    study = Study(
        (agent,), mdp, runs, default_steps(mdp, rng) if steps is None else steps, seed, rng
    )
    folder = None if out is None else Path(out) / study.name
    finished = complete(
        study, folder, threads=threads, reporter=reporter, description=f"{agent.name} in {name}"
    )
    # Replayed runs may end with their first episode: how many steps they took is not known.
    counted = finished.seconds > 0 and not (rng == "authors" and mdp.terminated.any())
    speed = finished.simulated_steps / finished.seconds if counted else None
    return RunResult(study, name, finished.returns[0], finished.seconds, speed)
