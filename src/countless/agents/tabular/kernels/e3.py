"""E3 as Strehl & Littman (2008, section 6) ran it: explore while an unknown pair is within reach.

Two plans over the pairs tried at least m times: *exploit* (their rewards as seen, unknown pairs
worth nothing) and *explore* (no reward but 1 for reaching an unknown pair). The probability of
escape to an unknown pair, which they leave open, is here either the chance to get there within
`horizon` steps of the explore policy, or the discounted value of the explore plan.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from countless.agents.tabular.kernels.planning import MOST_PASSES, new_plan, pick_best, set_row
from countless.agents.tabular.kernels.world import (
    begin,
    move_on,
    open_stream,
    sample_outcome,
    uniform,
)

# Columns of the table of settings.
GAMMA, M, THRESHOLD, HORIZON = 0, 1, 2, 3


@njit(error_model="numpy", cache=True)
def _take(model, plan, gamma, s, slot, count, visits, known, payoff, unknown):
    """Let the plan's policy take `slot` in s."""
    i = s * len(model.slots) + slot
    plan.row[:] = 0.0
    if not known[i]:
        set_row(plan, gamma, s, slot, unknown)
        return
    for cell in range(i * len(model.outcomes), (i + 1) * len(model.outcomes)):
        if not model.ends[cell]:
            plan.row[np.int64(model.next_state[cell])] += count[cell] / visits[i]
    set_row(plan, gamma, s, slot, payoff[i])


@njit(error_model="numpy", cache=True)
def _improve(model, plan, gamma, count, visits, known, payoff, unknown, tolerance):
    """Policy iteration from where the plan stands; False if it does not settle."""
    width, depth = len(model.slots), len(model.outcomes)
    value, q = plan.value, plan.q
    for _ in range(MOST_PASSES):
        settled = True
        for s in range(len(value)):
            high, choice = -math.inf, 0
            for slot in range(int(model.n_slots[s])):
                i = s * width + slot
                worth = unknown
                if known[i]:
                    worth = 0.0
                    for cell in range(i * depth, (i + 1) * depth):
                        if not model.ends[cell]:
                            worth += count[cell] * value[model.next_state[cell]]
                    worth = payoff[i] + gamma * worth / visits[i]
                q[s, slot] = worth
                if worth > high:
                    high, choice = worth, slot
            if high > value[s] + tolerance:
                settled = False
                _take(model, plan, gamma, s, choice, count, visits, known, payoff, unknown)
        if settled:
            return True
    return False


@njit(error_model="numpy", cache=True)
def _escape(model, plan, count, visits, known, horizon, reach, before):
    """reach(s): the chance that the explore policy tries an unknown pair within `horizon` steps."""
    width, depth = len(model.slots), len(model.outcomes)
    reach[:] = 0.0
    for _ in range(horizon):
        before[:] = reach
        for s in range(len(reach)):
            i = s * width + plan.policy[s]
            if not known[i]:
                reach[s] = 1.0
                continue
            total = 0.0
            for cell in range(i * depth, (i + 1) * depth):
                if not model.ends[cell]:
                    total += count[cell] * before[model.next_state[cell]]
            reach[s] = total / visits[i]


@njit(error_model="numpy", cache=True)
def _run(model, setting, scale, steps, stream, trace):
    """One run: its return, and whether planning always settled."""
    states, width, depth = len(model.n_slots), len(model.slots), len(model.outcomes)
    gamma, m, threshold, horizon = (
        setting[GAMMA],
        setting[M],
        setting[THRESHOLD],
        int(setting[HORIZON]),
    )
    exploit, explore = new_plan(states, width, 0.0), new_plan(states, width, 1.0)
    coarse, fine = 1e-9 * scale / (1.0 - gamma), 1e-9
    pairs = states * width
    count, visits, total = np.zeros(pairs * depth), np.zeros(pairs), np.zeros(pairs)
    payoff, nothing = np.zeros(pairs), np.zeros(pairs)
    known = np.zeros(pairs, dtype=np.bool_)
    reach, before = np.ones(states), np.zeros(states)
    s = begin(model, stream)
    age = 0
    result = 0.0
    for t in range(steps):
        n = int(model.n_slots[s])
        escape = reach[s] if horizon > 0 else explore.value[s]
        u = uniform(stream)
        if escape > threshold + fine:
            slot = pick_best(explore.q[s], n, fine, u)
        else:
            slot = pick_best(exploit.q[s], n, coarse, u)
        cell = sample_outcome(model, s, slot, stream)
        reward = model.reward[cell]
        result += reward
        if len(trace) > 0:
            trace[t, 0], trace[t, 1], trace[t, 2], trace[t, 3] = s, slot, reward, escape
        i = s * width + slot
        if not known[i]:
            visits[i] += 1.0
            count[cell] += 1.0
            total[i] += reward
            if visits[i] >= m:
                known[i] = True
                payoff[i] = total[i] / visits[i]
                if exploit.policy[s] == slot:
                    _take(model, exploit, gamma, s, slot, count, visits, known, payoff, 0.0)
                if explore.policy[s] == slot:
                    _take(model, explore, gamma, s, slot, count, visits, known, nothing, 1.0)
                if not (
                    _improve(model, exploit, gamma, count, visits, known, payoff, 0.0, coarse)
                    and _improve(model, explore, gamma, count, visits, known, nothing, 1.0, fine)
                ):
                    return result, False
                _escape(model, explore, count, visits, known, horizon, reach, before)
        s, age = move_on(model, cell, age, stream)
    return result, True


@njit(error_model="numpy", nogil=True, cache=True)
def e3(model, settings, scale, steps, seed, keys, first_run, returns, trace):
    """returns[i, j]: run first_run + j of setting i. False where planning did not settle."""
    for i in range(returns.shape[0]):
        for j in range(returns.shape[1]):
            stream = open_stream(seed, keys[i], first_run + j)
            part = trace[j] if trace.shape[0] > 0 else np.empty((0, 5))
            returns[i, j], settled = _run(model, settings[i], scale, steps, stream, part)
            if not settled:
                return False
    return True
