"""The kernel call that Sarsa and its variants with a bonus share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from countless.agents.tabular.agent import TabularAgent
from countless.agents.tabular.kernels import sarsa
from countless.agents.tabular.kernels.mdp_arrays import MDPArrays
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
COLUMNS = ("alpha", "epsilon", "gamma", "eta", "gamma_sr", "beta", "initial_value", "lambda_dr")


def sarsa_kernel(
    agents: Sequence[TabularAgent],
    task: Task,
    bonus: Any,
    *,
    update: str,
    time_limit: str,
    rows: int = 0,
    identity: bool = False,
) -> BoundKernel:
    """Sarsa with `bonus`, one of the kernel's classes: many runs in lockstep.

    The matrix that the bonus keeps has `rows` rows and starts at zero or as the identity.
    """
    arrays = task.arrays
    check_matrix_fits(agents[0], task.mdp, rows)
    options = sarsa.Options(
        executed=update == "executed",
        truncate=time_limit == "truncation",
        matrix=rows,
        identity=identity,
        lanes=_lane_count(arrays, rows),
    )
    general = arrays.episodic or arrays.ragged or options.executed
    settings = columns(agents, *COLUMNS)

    def call(chosen: slice, returns: Returns, first_run: int, trace: Trace) -> None:
        case = sarsa.GENERAL if general or len(trace) > 0 else sarsa.PLAIN
        runs = task.runs(settings, chosen, first_run)
        sarsa.sarsa(arrays, bonus, case, options, runs, returns, trace)

    return BoundKernel(call)


def _lane_count(arrays: MDPArrays, rows: int) -> int:
    states = len(arrays.n_slots)
    table = states * (8 * len(arrays.slots) + 16) + 8 * rows * (rows + 3)
    return max(1, min(MOST_LANES, LANE_BUDGET // table))
