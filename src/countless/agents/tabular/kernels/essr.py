"""ESSR: plan for r + beta r_int with r_int = -||Psi~(s)||_1, Psi~ the substochastic SR.

Every difference between the paper's text and the released code is a setting or an option: `pseudo`
samples added to every (s, a, s') (0 or 1), whether the bonus belongs to the state left or to the
state entered, and where epsilon explores. This kernel plans exactly; `essr_released_planner.py` as
the released code.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import njit

from countless.agents.tabular.kernels.environment import advance, reset, uniform
from countless.agents.tabular.kernels.essr_model import (
    EPSILON,
    Options,
    act_and_learn,
    backup,
    explored,
    fill_row,
    new_model,
    value_tolerance,
)
from countless.agents.tabular.kernels.planning import (
    evaluate,
    new_plan,
    pick_best,
    policy_improvement,
    set_row,
)
from countless.agents.tabular.kernels.run_loop import record, runs_with


class ExactPlanning(NamedTuple):
    """ESSR that plans exactly."""

    shared: Options


@njit(forceinline=True)
def _value_sum(plan):
    return plan.value.sum()


@njit(error_model="numpy", cache=True)
def _follow(mdp, plan, model, s, slot, value_sum):
    """Let the plan's policy take `slot` in s; returns the new sum of the values."""
    i = s * len(mdp.slots) + slot
    fill_row(mdp, model, i, 1.0, plan.row)
    set_row(plan, model.gamma, s, slot, model.payoff[i])
    return plan.value.sum()


_improve = policy_improvement(_value_sum, backup, _follow)


@runs_with(ExactPlanning)
def _run(mdp, options, setting, steps, stream, trace):
    shared = options.shared
    states, width = len(mdp.n_slots), len(mdp.slots)
    epsilon, tolerance = setting[EPSILON], value_tolerance(shared, setting)
    plan, model = new_plan(states, width, 0.0), new_model(mdp, setting)
    for s in range(states):
        _follow(mdp, plan, model, s, 0, 0.0)
    s = reset(mdp, stream)
    age = 0
    result = 0.0
    for t in range(steps):
        n = int(mdp.n_slots[s])
        u = uniform(stream)
        if u < epsilon:
            slot = explored(n, u / epsilon, shared.ends_only)
        else:
            slot = pick_best(plan.q[s], n, tolerance, (u - epsilon) / (1.0 - epsilon))
        cell = act_and_learn(mdp, model, shared, s, slot, stream)
        reward = mdp.reward[cell]
        result += reward
        record(trace, t, s, slot, reward, model.bonus.norm[s], plan.q[s, slot])
        for j in range(states):
            plan.reward[j] = model.payoff[j * width + plan.policy[j]]
        if plan.policy[s] == slot:
            _follow(mdp, plan, model, s, slot, 0.0)
        evaluate(plan, model.gamma)
        if not _improve(mdp, plan, model, tolerance):
            return result, False
        s, age = advance(mdp, cell, age, stream)
    return result, True
