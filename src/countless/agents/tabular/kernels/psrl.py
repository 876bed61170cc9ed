"""PSRL (Strens 2000; Osband, Russo & Van Roy 2013): plan in a model drawn from the posterior.

Transitions: Dirichlet with 1/|S| prior samples a state. Reward of a pair: normal around
(prior + sum of rewards) / (n + 1) with SD a * scale / sqrt(n + 1), the prior being one sample of the
largest reward. A new model is drawn when the samples of some pair have doubled.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

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
from countless.core.substochastic import invert

# Columns of the table of settings.
GAMMA, A = 0, 1


@njit(error_model="numpy", cache=True)
def normal(stream):
    """A standard normal variate (Box & Muller 1958): two draws."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(stream)))
    return radius * math.cos(2.0 * math.pi * uniform(stream))


@njit(error_model="numpy", cache=True)
def log_gamma_variate(shape, stream):
    """The logarithm of a gamma variate (Marsaglia & Tsang 2000), fit for tiny shapes."""
    boost = 0.0
    if shape < 1.0:
        boost = math.log(1.0 - uniform(stream)) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = 1.0 - uniform(stream)
            if math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
                return boost + math.log(d * v)


@njit(error_model="numpy", cache=True)
def _draw_model(model, setting, scale, most, count, visits, total, stream, rows, payoff):
    """A transition row and a reward for every pair."""
    states, width, depth = len(model.n_slots), len(model.slots), len(model.outcomes)
    weight, ended = np.empty(states), np.empty(depth)
    for s in range(states):
        for slot in range(int(model.n_slots[s])):
            i = s * width + slot
            weight[:] = 1.0 / states
            high = -math.inf
            for cell in range(i * depth, (i + 1) * depth):
                if not model.ends[cell]:
                    weight[np.int64(model.next_state[cell])] += count[cell]
            for j in range(states):
                weight[j] = log_gamma_variate(weight[j], stream)
                high = max(high, weight[j])
            for k in range(depth):
                # Outcomes that end an episode are worth 0: they only take their share.
                ended[k] = -math.inf
                if model.ends[i * depth + k] and count[i * depth + k] > 0.0:
                    ended[k] = log_gamma_variate(count[i * depth + k], stream)
                    high = max(high, ended[k])
            mass = 0.0
            for j in range(states):
                rows[i, j] = math.exp(weight[j] - high)
                mass += rows[i, j]
            for k in range(depth):
                mass += math.exp(ended[k] - high)
            for j in range(states):
                rows[i, j] /= mass
            n = visits[i] + 1.0
            payoff[i] = (most + total[i]) / n + setting[A] * scale / math.sqrt(n) * normal(stream)


@njit(error_model="numpy", cache=True)
def _solve(model, plan, gamma, rows, payoff, tolerance):
    """Policy iteration in the drawn model, from the last policy; False if it does not settle."""
    states, width = len(plan.value), len(model.slots)
    for s in range(states):
        plan.rows[s, :] = rows[s * width + plan.policy[s]]
        plan.reward[s] = payoff[s * width + plan.policy[s]]
    invert(plan.rows, gamma, plan.inverse)
    plan.updates[0] = 0
    evaluate(plan, gamma)
    for _ in range(MOST_PASSES):
        settled = True
        for s in range(states):
            high, choice = -math.inf, 0
            for slot in range(int(model.n_slots[s])):
                i = s * width + slot
                worth = 0.0
                for j in range(states):
                    worth += rows[i, j] * plan.value[j]
                worth = payoff[i] + gamma * worth
                plan.q[s, slot] = worth
                if worth > high:
                    high, choice = worth, slot
            if high > plan.value[s] + tolerance:
                settled = False
                plan.row[:] = rows[s * width + choice]
                set_row(plan, gamma, s, choice, payoff[s * width + choice])
        if settled:
            return True
    return False


@njit(error_model="numpy", cache=True)
def _run(model, setting, scale, most, steps, stream, trace):
    """One run: its return, and whether planning always settled."""
    states, width, depth = len(model.n_slots), len(model.slots), len(model.outcomes)
    gamma = setting[GAMMA]
    tolerance = 1e-9 * scale / (1.0 - gamma)
    plan = new_plan(states, width, 0.0)
    pairs = states * width
    count, visits, total = np.zeros(pairs * depth), np.zeros(pairs), np.zeros(pairs)
    fresh, rows, payoff = np.zeros(pairs), np.zeros((pairs, states)), np.zeros(pairs)
    s = begin(model, stream)
    age = 0
    result = 0.0
    redraw = True
    for t in range(steps):
        if redraw:
            _draw_model(model, setting, scale, most, count, visits, total, stream, rows, payoff)
            if not _solve(model, plan, gamma, rows, payoff, tolerance):
                return result, False
            fresh[:] = 0.0
            redraw = False
        slot = pick_best(plan.q[s], int(model.n_slots[s]), tolerance, uniform(stream))
        cell = sample_outcome(model, s, slot, stream)
        reward = model.reward[cell]
        result += reward
        if len(trace) > 0:
            trace[t, 0], trace[t, 1], trace[t, 2], trace[t, 4] = s, slot, reward, plan.q[s, slot]
        i = s * width + slot
        visits[i] += 1.0
        count[cell] += 1.0
        total[i] += reward
        fresh[i] += 1.0
        redraw = 2.0 * fresh[i] >= visits[i]
        s, age = move_on(model, cell, age, stream)
    return result, True


@njit(error_model="numpy", nogil=True, cache=True)
def psrl(model, settings, scale, steps, seed, keys, first_run, returns, trace):
    """returns[i, j]: run first_run + j of setting i. False where planning did not settle."""
    for i in range(returns.shape[0]):
        for j in range(returns.shape[1]):
            stream = open_stream(seed, keys[i], first_run + j)
            part = trace[j] if trace.shape[0] > 0 else np.empty((0, 5))
            returns[i, j], settled = _run(
                model, settings[i], scale[0], scale[1], steps, stream, part
            )
            if not settled:
                return False
    return True
