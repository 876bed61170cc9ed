"""What the study of regret runs: its families of growing problems, its agents, and their jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countless.agents.catalogue import (
    AGENTS,
    TABULAR,
    agent_entry,
    make_agent,
    published_preset,
    resolve,
)
from countless.agents.tabular.agent import TabularAgent
from countless.agents.tabular.simulate import plans
from countless.envs.catalog import make_mdp
from countless.experiments.experiment import Plan, Records
from countless.runs.job import Job
from countless.runs.tabular import TabularJob
from countless.runs.tabular_tables import OCTAVES

STEPS = 1_000_000
GAMMA = 0.99  # of every agent: at 0.95 the best plan in a river of 50 states is to stay on the left
RIVER = "riverswim"  # whose presets are tried in longer ones
FAMILIES: Mapping[str, tuple[int, ...]] = {
    "riverswim": (6, 12, 25, 50),
    "deepsea": (5, 8, 10, 14, 20),
}

# Runs are plan.runs over these: 20, 5 and 2 with the default plan.
FEWER, PLANNING, LARGE = 500, 2000, 5000
LARGE_STATES = 110
# Where a run of a million steps takes minutes: the states above which an agent is not run.
MOST_STATES = {"essr": 200, "psrl": 200}
DEFAULT, PRESET, NO_BONUS = "default", "preset", "no bonus"
PAPERS = "sarsa-sr"


@dataclass(frozen=True)
class Row:
    """An agent with its default parameters, with its preset of RiverSwim, or without its bonus."""

    agent: str
    kind: str = DEFAULT

    @property
    def label(self) -> str:
        return self.agent if self.kind == DEFAULT else f"{self.agent}, {self.kind}"

    @property
    def preset(self) -> bool:
        return self.kind == PRESET

    def make(self) -> TabularAgent:
        known = agent_entry(self.agent).parameters
        given: dict[str, Any] = {"gamma": GAMMA} if "gamma" in known else {}
        if self.preset and "planner" in known:
            given["planner"] = "exact"  # the released one is made for a handful of states
        if self.kind == NO_BONUS:
            given["beta"] = 0.0
        return make_agent(self.agent, RIVER if self.preset else "", given)


def rows(family: str) -> list[Row]:
    """Every tabular agent; in RiverSwim with its preset too, where that is another setting.

    The paper's agent is there without its bonus too: what is left are its optimistic values.
    """
    river = make_mdp(RIVER)
    every = []
    for name, entry in AGENTS.items():
        if entry.engine != TABULAR:
            continue
        every.append(Row(name))
        if name == PAPERS:
            every.append(Row(name, NO_BONUS))
        preset = Row(name, PRESET)
        if (
            family == RIVER
            and published_preset(name, RIVER) is not None
            and preset.make() != resolve(Row(name).make(), river)
        ):
            every.append(preset)
    return every


def row_job(row: Row, family: str, size: int, plan: Plan) -> TabularJob | None:
    """An agent at one size; None where it would take too long."""
    mdp = make_mdp(f"{family}-{size}")
    if mdp.n_states > MOST_STATES.get(row.agent, mdp.n_states):
        return None
    agent = row.make()
    share = FEWER
    if plans(agent, mdp):
        share = LARGE if mdp.n_states > LARGE_STATES else PLANNING
    runs = max(2, plan.runs // share)
    return TabularJob((agent,), mdp, runs, STEPS, plan.seed, marks=OCTAVES)


def jobs(plan: Plan, records: Records) -> Iterator[Sequence[Job]]:
    """Every agent at every size."""
    yield [
        job
        for family, sizes in FAMILIES.items()
        for row in rows(family)
        for size in sizes
        if (job := row_job(row, family, size, plan)) is not None
    ]
