"""ESSR: plan for r + beta r_int with r_int = -||Psi~(s)||_1, Psi~ the substochastic SR.

Every difference between the paper's text and the released code is a setting or an option: `pseudo`
samples added to every (s, a, s') (0 or 1), whether the bonus belongs to the state left or to the
state entered, and where epsilon explores. This kernel plans exactly; `essr_released_planner.py` as
the released code.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from countless.agents.tabular.kernels.environment import advance, reset, sample_outcome, uniform
from countless.agents.tabular.kernels.essr_model import (
    BETA,
    EPSILON,
    GAMMA,
    PSEUDO,
    Options,
    expected_value,
    explored,
    set_payoffs,
    value_tolerance,
)
from countless.agents.tabular.kernels.planning import (
    MOST_PASSES,
    evaluate,
    new_plan,
    pick_best,
    set_row,
)
from countless.agents.tabular.kernels.run_loop import record, runs_with
from countless.agents.tabular.kernels.ssr_bonus import new_ssr_bonus, observe


class ExactPlanning(NamedTuple):
    """ESSR that plans exactly."""

    shared: Options


@njit(error_model="numpy", cache=True)
def _follow(mdp, plan, gamma, s, slot, count, samples, pseudo, payoff):
    """Let the plan's policy take `slot` in s."""
    states, depth = len(plan.value), len(mdp.outcomes)
    i = s * len(mdp.slots) + slot
    mass = samples[i] + pseudo * states
    row = plan.row
    if mass == 0.0:
        row[:] = 1.0 / states
    else:
        row[:] = pseudo / mass
        for cell in range(i * depth, (i + 1) * depth):
            if not mdp.ends[cell]:
                row[np.int64(mdp.next_state[cell])] += count[cell] / mass
    set_row(plan, gamma, s, slot, payoff[i])


@njit(error_model="numpy", cache=True)
def _improve(mdp, plan, gamma, count, samples, pseudo, payoff, tolerance):
    """Policy iteration from where the plan stands; False if it does not converge."""
    width, depth, states = len(mdp.slots), len(mdp.outcomes), len(plan.value)
    value, q = plan.value, plan.q
    n_slots, next_state, ends = mdp.n_slots, mdp.next_state, mdp.ends
    for _ in range(MOST_PASSES):
        converged = True
        value_sum = value.sum()
        for s in range(states):
            high, choice = -math.inf, 0
            for slot in range(int(n_slots[s])):
                i = s * width + slot
                first, last = i * depth, (i + 1) * depth
                mass = samples[i] + pseudo * states
                worth = payoff[i] + gamma * expected_value(
                    next_state, ends, count, first, last, mass, pseudo, value, value_sum
                )
                q[s, slot] = worth
                if worth > high:
                    high, choice = worth, slot
            if high > value[s] + tolerance:
                converged = False
                _follow(mdp, plan, gamma, s, choice, count, samples, pseudo, payoff)
                value_sum = value.sum()
        if converged:
            return True
    return False


@runs_with(ExactPlanning)
def _run(mdp, options, setting, steps, stream, trace):
    source, on_entered, ends_only, _ = options.shared
    states, width, depth = len(mdp.n_slots), len(mdp.slots), len(mdp.outcomes)
    gamma, beta, epsilon, pseudo = setting[GAMMA], setting[BETA], setting[EPSILON], setting[PSEUDO]
    tolerance = value_tolerance(options.shared, setting)
    plan = new_plan(states, width, 0.0)
    pairs = states * width
    count, samples, payoff = np.zeros(pairs * depth), np.zeros(pairs), np.zeros(pairs)
    for s in range(states):
        _follow(mdp, plan, gamma, s, 0, count, samples, pseudo, payoff)
    bonus = new_ssr_bonus(states)
    s = reset(mdp, stream)
    age = 0
    result = 0.0
    for t in range(steps):
        n = int(mdp.n_slots[s])
        u = uniform(stream)
        if u < epsilon:
            slot = explored(n, u / epsilon, ends_only)
        else:
            slot = pick_best(plan.q[s], n, tolerance, (u - epsilon) / (1.0 - epsilon))
        cell = sample_outcome(mdp, s, slot, stream)
        s_next, reward = np.int64(mdp.next_state[cell]), mdp.reward[cell]
        result += reward
        samples[s * width + slot] += 1.0
        count[cell] += 1.0
        observe(bonus, source, gamma, beta, s, s_next)
        record(trace, t, s, slot, reward, bonus.norm[s], plan.q[s, slot])
        set_payoffs(mdp, bonus, on_entered, count, samples, pseudo, payoff)
        for j in range(states):
            plan.reward[j] = payoff[j * width + plan.policy[j]]
        if plan.policy[s] == slot:
            _follow(mdp, plan, gamma, s, slot, count, samples, pseudo, payoff)
        evaluate(plan, gamma)
        if not _improve(mdp, plan, gamma, count, samples, pseudo, payoff, tolerance):
            return result, False
        s, age = advance(mdp, cell, age, stream)
    return result, True
