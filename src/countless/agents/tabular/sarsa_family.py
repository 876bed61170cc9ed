"""The kernel call that Sarsa and its variants with a bonus share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from countless.agents.tabular.agent import TabularAgent
from countless.agents.tabular.kernels import sarsa
from countless.agents.tabular.kernels.model import Model
from countless.agents.tabular.task import (
    BoundKernel,
    Returns,
    Task,
    Trace,
    check_matrix_fits,
    columns,
)

MOST_LANES = 32
LANE_BUDGET = 256 * 1024  # bytes of tables that a block of lanes may take: inside L2
COLUMNS = ("alpha", "epsilon", "gamma", "eta", "gamma_sr", "beta")


@dataclass(frozen=True)
class Bonus:
    """Which bonus the kernel computes."""

    case: tuple[int, ...]  # one of the cases that the kernel is compiled for
    keeps_matrix: bool = False  # the full successor representation, not one number per state
    norm: float = 1.0  # p of the p-norm


def sarsa_kernel(
    agents: Sequence[TabularAgent], task: Task, bonus: Bonus, *, update: str, time_limit: str
) -> BoundKernel:
    """Sarsa with this bonus, many runs in lockstep."""
    model = task.model
    if bonus.keeps_matrix:
        check_matrix_fits(agents[0], task.mdp)
    executed = update == "executed"
    truncate = time_limit == "truncation"
    general = model.episodic or model.ragged or executed
    settings = columns(agents, *COLUMNS)
    words, lanes = task.seed_words, _lane_count(model, bonus.keeps_matrix)

    def call(chosen: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        sarsa.sarsa(
            model,
            bonus.case,
            sarsa.GENERAL if general or len(trace) > 0 else sarsa.PLAIN,
            bonus.norm,
            settings[chosen],
            executed,
            truncate,
            task.steps,
            words,
            task.keys[chosen],
            first_run,
            lanes,
            returns,
            trace,
        )

    return BoundKernel(call)


def _lane_count(model: Model, keeps_matrix: bool) -> int:
    states = len(model.n_slots)
    table = states * (8 * len(model.slots) + 16)
    if keeps_matrix:
        table += 8 * states * (states + 3)
    return max(1, min(MOST_LANES, LANE_BUDGET // table))
