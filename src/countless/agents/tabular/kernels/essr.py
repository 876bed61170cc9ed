"""ESSR: plan for r + beta r_int with r_int = -||Psi~(s)||_1, Psi~ the substochastic SR.

Every difference between the paper's text and the released code is an argument: `pseudo` samples
added to every (s, a, s') (0 or 1), whether the bonus belongs to the state left or to the state
entered, and where epsilon explores. This kernel plans exactly; `released.py` as the released code.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from countless.agents.tabular.kernels.novelty import future, new_novelty, see, set_payoffs
from countless.agents.tabular.kernels.planning import (
    MOST_PASSES,
    evaluate,
    new_plan,
    pick_best,
    set_row,
)
from countless.agents.tabular.kernels.world import (
    begin,
    move_on,
    open_stream,
    sample_outcome,
    uniform,
)

# Columns of the table of settings.
GAMMA, BETA, EPSILON, PSEUDO = 0, 1, 2, 3


@njit(cache=True)
def explored(n, part, ends_only):
    """The slot that `part` in [0, 1) picks: any of n, or the first or the last."""
    if ends_only:
        return 0 if part < 0.5 else n - 1
    return min(int(part * n), n - 1)


@njit(error_model="numpy", cache=True)
def _take(model, plan, gamma, s, slot, count, visits, pseudo, payoff):
    """Let the plan's policy take `slot` in s."""
    states, depth = len(plan.value), len(model.outcomes)
    i = s * len(model.slots) + slot
    mass = visits[i] + pseudo * states
    row = plan.row
    if mass == 0.0:
        row[:] = 1.0 / states
    else:
        row[:] = pseudo / mass
        for cell in range(i * depth, (i + 1) * depth):
            if not model.ends[cell]:
                row[np.int64(model.next_state[cell])] += count[cell] / mass
    set_row(plan, gamma, s, slot, payoff[i])


@njit(error_model="numpy", cache=True)
def _improve(model, plan, gamma, count, visits, pseudo, payoff, tolerance):
    """Policy iteration from where the plan stands; False if it does not settle."""
    width, depth, states = len(model.slots), len(model.outcomes), len(plan.value)
    value, q = plan.value, plan.q
    n_slots, next_state, ends = model.n_slots, model.next_state, model.ends
    for _ in range(MOST_PASSES):
        settled = True
        value_sum = value.sum()
        for s in range(states):
            high, choice = -math.inf, 0
            for slot in range(int(n_slots[s])):
                i = s * width + slot
                first, last = i * depth, (i + 1) * depth
                mass = visits[i] + pseudo * states
                worth = payoff[i] + gamma * future(
                    next_state, ends, count, first, last, mass, pseudo, value, value_sum
                )
                q[s, slot] = worth
                if worth > high:
                    high, choice = worth, slot
            if high > value[s] + tolerance:
                settled = False
                _take(model, plan, gamma, s, choice, count, visits, pseudo, payoff)
                value_sum = value.sum()
        if settled:
            return True
    return False


@njit(error_model="numpy", cache=True)
def _run(model, source, on_next, ends_only, setting, scale, steps, stream, trace):
    """One run: its return, and whether planning always settled."""
    states, width, depth = len(model.n_slots), len(model.slots), len(model.outcomes)
    gamma, beta, epsilon, pseudo = setting[GAMMA], setting[BETA], setting[EPSILON], setting[PSEUDO]
    tolerance = 1e-9 * (scale + beta / (1.0 - gamma)) / (1.0 - gamma)
    plan = new_plan(states, width, 0.0)
    pairs = states * width
    count, visits, payoff = np.zeros(pairs * depth), np.zeros(pairs), np.zeros(pairs)
    for s in range(states):
        _take(model, plan, gamma, s, 0, count, visits, pseudo, payoff)
    novelty = new_novelty(states)
    s = begin(model, stream)
    age = 0
    result = 0.0
    for t in range(steps):
        n = int(model.n_slots[s])
        u = uniform(stream)
        if u < epsilon:
            slot = explored(n, u / epsilon, ends_only)
        else:
            slot = pick_best(plan.q[s], n, tolerance, (u - epsilon) / (1.0 - epsilon))
        cell = sample_outcome(model, s, slot, stream)
        s_next, reward = np.int64(model.next_state[cell]), model.reward[cell]
        result += reward
        visits[s * width + slot] += 1.0
        count[cell] += 1.0
        see(novelty, source, gamma, beta, s, s_next)
        if len(trace) > 0:
            trace[t, 0], trace[t, 1], trace[t, 2] = s, slot, reward
            trace[t, 3], trace[t, 4] = novelty.norm[s], plan.q[s, slot]
        set_payoffs(model, novelty, on_next, count, visits, pseudo, payoff)
        for j in range(states):
            plan.reward[j] = payoff[j * width + plan.policy[j]]
        if plan.policy[s] == slot:
            _take(model, plan, gamma, s, slot, count, visits, pseudo, payoff)
        evaluate(plan, gamma)
        if not _improve(model, plan, gamma, count, visits, pseudo, payoff, tolerance):
            return result, False
        s, age = move_on(model, cell, age, stream)
    return result, True


@njit(error_model="numpy", nogil=True, cache=True)
def essr(
    model, source, on_next, ends_only, settings, scale, steps, seed, keys, first_run, returns, trace
):
    """returns[i, j]: run first_run + j of setting i. False where planning did not settle."""
    for i in range(returns.shape[0]):
        for j in range(returns.shape[1]):
            stream = open_stream(seed, keys[i], first_run + j)
            part = trace[j] if trace.shape[0] > 0 else np.empty((0, 5))
            returns[i, j], settled = _run(
                model, source, on_next, ends_only, settings[i], scale, steps, stream, part
            )
            if not settled:
                return False
    return True
