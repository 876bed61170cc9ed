"""PSRL (Strens 2000; Osband, Russo & Van Roy 2013): plan in a model drawn from the posterior.

Transitions: Dirichlet with 1/|S| prior samples per state. Reward of a pair: normal around
(prior + sum of rewards) / (n + 1) with SD a * spread / sqrt(n + 1), the prior being one sample of the
largest reward. A new model is drawn when the samples of some pair have doubled.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from countless.agents.tabular.kernels.environment import advance, reset, sample_outcome, uniform
from countless.agents.tabular.kernels.planning import (
    count_sample,
    evaluate,
    new_counts,
    new_plan,
    pick_best,
    policy_improvement,
    set_row,
)
from countless.agents.tabular.kernels.run_loop import record, runs_with
from countless.core.substochastic import invert

# Columns of the table of settings.
GAMMA, A = 0, 1


class Options(NamedTuple):
    """What the settings of one kernel call share."""

    spread: float  # of the rewards
    largest: float  # reward


class DrawnModel(NamedTuple):
    """A transition row and a reward for every pair."""

    rows: NDArray[np.float64]  # (S * A, S)
    payoff: NDArray[np.float64]  # (S * A,)
    gamma: float


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
def _draw_model(mdp, setting, options, counts, stream, model):
    """Draw `model` from the posterior that `counts` give."""
    states, width, depth = len(mdp.n_slots), len(mdp.slots), len(mdp.outcomes)
    count, rows = counts.outcome, model.rows
    weight, ended = np.empty(states), np.empty(depth)
    for s in range(states):
        for slot in range(int(mdp.n_slots[s])):
            i = s * width + slot
            weight[:] = 1.0 / states
            high = -math.inf
            for cell in range(i * depth, (i + 1) * depth):
                if not mdp.ends[cell]:
                    weight[np.int64(mdp.next_state[cell])] += count[cell]
            for j in range(states):
                weight[j] = log_gamma_variate(weight[j], stream)
                high = max(high, weight[j])
            for k in range(depth):
                # Outcomes that end an episode are worth 0: they only take their share.
                ended[k] = -math.inf
                if mdp.ends[i * depth + k] and count[i * depth + k] > 0.0:
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
            n = counts.pair[i] + 1.0
            mean, sd = (
                (options.largest + counts.reward[i]) / n,
                setting[A] * options.spread / math.sqrt(n),
            )
            model.payoff[i] = mean + sd * normal(stream)


@njit(forceinline=True, error_model="numpy")
def _backup(mdp, model, value, i):
    """Q of a pair."""
    future = 0.0
    for j in range(len(value)):
        future += model.rows[i, j] * value[j]
    return model.payoff[i] + model.gamma * future


@njit(error_model="numpy", cache=True)
def _follow(mdp, plan, model, s, slot):
    """Let the plan's policy take `slot` in s."""
    i = s * len(mdp.slots) + slot
    plan.row[:] = model.rows[i]
    set_row(plan, model.gamma, s, slot, model.payoff[i])


_improve = policy_improvement(_backup, _follow)


@njit(error_model="numpy", cache=True)
def _solve(mdp, plan, model, tolerance):
    """Policy iteration in the drawn model, from the last policy; False if it does not converge."""
    width = len(mdp.slots)
    for s in range(len(plan.value)):
        plan.rows[s, :] = model.rows[s * width + plan.policy[s]]
        plan.reward[s] = model.payoff[s * width + plan.policy[s]]
    invert(plan.rows, model.gamma, plan.inverse)
    plan.updates[0] = 0
    evaluate(plan, model.gamma)
    return _improve(mdp, plan, model, tolerance)


@runs_with(Options)
def _run(mdp, options, setting, steps, stream, trace):
    states, width = len(mdp.n_slots), len(mdp.slots)
    tolerance = 1e-9 * options.spread / (1.0 - setting[GAMMA])
    plan, counts = new_plan(states, width, 0.0), new_counts(mdp)
    pairs = states * width
    model = DrawnModel(np.zeros((pairs, states)), np.zeros(pairs), setting[GAMMA])
    new_samples = np.zeros(pairs)  # since the model was drawn
    s = reset(mdp, stream)
    age = 0
    result = 0.0
    redraw = True
    for t in range(steps):
        if redraw:
            _draw_model(mdp, setting, options, counts, stream, model)
            if not _solve(mdp, plan, model, tolerance):
                return result, False
            new_samples[:] = 0.0
        slot = pick_best(plan.q[s], int(mdp.n_slots[s]), tolerance, uniform(stream))
        cell = sample_outcome(mdp, s, slot, stream)
        reward = mdp.reward[cell]
        result += reward
        record(trace, t, s, slot, reward, math.nan, plan.q[s, slot])
        i = s * width + slot
        count_sample(counts, i, cell, reward)
        new_samples[i] += 1.0
        redraw = 2.0 * new_samples[i] >= counts.pair[i]
        s, age = advance(mdp, cell, age, stream)
    return result, True
