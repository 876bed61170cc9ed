"""R-Max, MBIE, MBIE-EB and UCRL2: act greedily in an optimistic model.

Q(s, a) = R + bonus(n) + gamma max over T' with |T' - T|_1 <= radius(n) of sum T' V, where R and T are
the empirical model and n = n(s, a); a pair with too few samples is worth the most there can be.
(Strehl & Littman 2008, Eq. 6 and 8; for UCRL2, Jaksch, Ortner & Auer 2010, with a discount.)
Only UCRL2 bounds R + bonus by the largest reward: its plausible MDPs have rewards in that range;
MBIE's and MBIE-EB's equations have no such bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from countless.agents.tabular.kernels.environment import advance, reset, sample_outcome, uniform
from countless.agents.tabular.kernels.planning import (
    Counts,
    count_sample,
    new_counts,
    new_plan,
    pick_best,
    policy_improvement,
    set_row,
)
from countless.agents.tabular.kernels.run_loop import record, runs_with

# Columns of the table of settings.
GAMMA, M, A, B, DELTA = 0, 1, 2, 3, 4


class RMax(NamedTuple):
    """What the settings of one kernel call share; its class says which agent it is."""

    spread: float  # of the rewards: Rmax where none is negative
    largest: float  # reward


class Mbie(NamedTuple):
    """The same, for MBIE and, with B = 0, MBIE-EB."""

    spread: float
    largest: float


class Ucrl2(NamedTuple):
    """The same, for UCRL2."""

    spread: float
    largest: float


class OptimisticModel(NamedTuple):
    """What the agent plans in. UCRL2 plans with the samples that it had when the epoch began."""

    counts: Counts
    samples: NDArray[np.float64]  # (S * A,) that the plan knows of
    known: NDArray[np.bool_]  # (S * A,)
    payoff: NDArray[np.float64]  # (S * A,) R + bonus
    radius: NDArray[np.float64]  # (S * A,)
    mass: NDArray[np.float64]  # (K,) room to work in
    unknown: float  # the value of a pair with too few samples
    gamma: float


@njit(cache=True)
def _new_model(mdp, gamma, largest):
    pairs = len(mdp.n_slots) * len(mdp.slots)
    return OptimisticModel(
        new_counts(mdp),
        np.zeros(pairs),
        np.zeros(pairs, dtype=np.bool_),
        np.zeros(pairs),
        np.zeros(pairs),
        np.zeros(len(mdp.outcomes)),
        max(largest, 0.0) / (1.0 - gamma),
        gamma,
    )


@njit(error_model="numpy", cache=True)
def optimistic(next_state, ends, count, cell, n, radius, value, best, mass):
    """Fill `mass` with T' over the outcomes of a pair; returns what T' adds to state `best`.

    Half the radius goes to the best state, taken from the worst outcomes first (section 3.1.5).
    """
    depth = len(mass)
    on_best = 0.0
    for k in range(depth):
        mass[k] = count[cell + k] / n
        if np.int64(next_state[cell + k]) == best and not ends[cell + k]:
            on_best += mass[k]
    gain = min(radius / 2.0, 1.0 - on_best)
    left = gain
    while left > 1e-15:
        worst, lowest = -1, math.inf
        for k in range(depth):
            if mass[k] > 0.0:
                future = 0.0 if ends[cell + k] else value[next_state[cell + k]]
                if future < lowest:
                    worst, lowest = k, future
        if worst < 0:
            break
        taken = min(mass[worst], left)
        mass[worst] -= taken
        left -= taken
    return gain - left


@njit(error_model="numpy", cache=True)
def _widened(next_state, ends, count, cell, n, radius, value, best, mass):
    """sum T' V of a pair whose transitions are uncertain.

    Most often the worst outcome alone has the mass that goes to the best state; else `optimistic`.
    """
    total, on_best, in_worst, lowest = 0.0, 0.0, 0.0, math.inf
    for k in range(cell, cell + len(mass)):
        if count[k] > 0.0:
            worth = 0.0 if ends[k] else value[next_state[k]]
            total += count[k] * worth
            if np.int64(next_state[k]) == best and not ends[k]:
                on_best += count[k]
            if worth < lowest:
                in_worst, lowest = count[k], worth
    share = 1.0 / n
    gain = min(radius / 2.0, 1.0 - on_best * share)
    if in_worst * share >= gain:
        return total * share + gain * (value[best] - lowest)
    gain = optimistic(next_state, ends, count, cell, n, radius, value, best, mass)
    total = gain * value[best]
    for k in range(len(mass)):
        if not ends[cell + k]:
            total += mass[k] * value[next_state[cell + k]]
    return total


@njit(error_model="numpy", cache=True)
def _fill_row(mdp, count, cell, n, radius, value, best, mass, row):
    """T' of a pair as a row over the states."""
    gain = optimistic(mdp.next_state, mdp.ends, count, cell, n, radius, value, best, mass)
    row[:] = 0.0
    for k in range(len(mdp.outcomes)):
        if not mdp.ends[cell + k]:
            row[np.int64(mdp.next_state[cell + k])] += mass[k]
    row[best] += gain


@njit(forceinline=True)
def _best_state(plan):
    return plan.value.argmax()


@njit(forceinline=True, error_model="numpy")
def _backup(mdp, model, value, best, i):
    """Q of a pair; `best` is the state of the largest value."""
    if not model.known[i]:
        return model.unknown
    next_state, ends, count = mdp.next_state, mdp.ends, model.counts.outcome
    depth, n, radius = len(mdp.outcomes), model.samples[i], model.radius[i]
    future = 0.0
    if radius > 0.0:
        future = _widened(next_state, ends, count, i * depth, n, radius, value, best, model.mass)
    else:
        for cell in range(i * depth, (i + 1) * depth):
            if not ends[cell]:
                future += count[cell] * value[next_state[cell]]
        future /= n
    return model.payoff[i] + model.gamma * future


@njit(error_model="numpy", cache=True)
def _follow(mdp, plan, model, s, slot, best):
    """Let the plan's policy take `slot` in s. The pass goes on with the best state it began with."""
    i = s * len(mdp.slots) + slot
    if model.known[i]:
        cell, count, value = i * len(mdp.outcomes), model.counts.outcome, plan.value
        n, radius, now_best = model.samples[i], model.radius[i], value.argmax()
        _fill_row(mdp, count, cell, n, radius, value, now_best, model.mass, plan.row)
        set_row(plan, model.gamma, s, slot, model.payoff[i])
    else:
        plan.row[:] = 0.0
        set_row(plan, model.gamma, s, slot, model.unknown)
    return best


def _learn_rmax(options, mdp, plan, model, setting, s, slot, cell, t):
    """Freeze a pair's model at its m-th sample; says whether the model has changed."""
    i = s * len(mdp.slots) + slot
    if model.known[i]:
        return False
    count_sample(model.counts, i, cell, mdp.reward[cell])
    model.samples[i] += 1.0
    if model.samples[i] < setting[M]:
        return False
    model.known[i] = True
    model.payoff[i] = model.counts.reward[i] / model.samples[i]
    if plan.policy[s] == slot:
        _follow(mdp, plan, model, s, slot, 0)
    return True


def _learn_mbie(options, mdp, plan, model, setting, s, slot, cell, t):
    """Bonus A Rmax / sqrt(n) and radius B / sqrt(n) (Strehl & Littman's Eq. 27 and 28)."""
    i = s * len(mdp.slots) + slot
    count_sample(model.counts, i, cell, mdp.reward[cell])
    model.samples[i] += 1.0
    n = model.samples[i]
    model.known[i] = True
    model.radius[i] = setting[B] / math.sqrt(n)
    model.payoff[i] = model.counts.reward[i] / n + setting[A] * options.spread / math.sqrt(n)
    if plan.policy[s] == slot:
        _follow(mdp, plan, model, s, slot, 0)
    return True


def _learn_ucrl2(options, mdp, plan, model, setting, s, slot, cell, t):
    """A new epoch when a pair's samples have doubled, with all widths (Jaksch et al., Eq. 3 and 4)."""
    states, actions = len(mdp.n_slots), len(mdp.slots)
    i = s * actions + slot
    count_sample(model.counts, i, cell, mdp.reward[cell])
    if model.counts.pair[i] - model.samples[i] < max(1.0, model.samples[i]):
        return False
    epoch_start = t + 2.0
    log_reward = math.log(2.0 * (states * actions) * epoch_start / setting[DELTA])
    log_transition = math.log(2.0 * actions * epoch_start / setting[DELTA])
    for j in range(len(model.samples)):
        n = model.counts.pair[j]
        model.samples[j] = n
        if n > 0.0:
            model.known[j] = True
            width = setting[A] * options.spread * math.sqrt(7.0 * log_reward / (2.0 * n))
            model.radius[j] = setting[B] * math.sqrt(14.0 * states * log_transition / n)
            model.payoff[j] = min(model.counts.reward[j] / n + width, options.largest)
    for j in range(states):
        _follow(mdp, plan, model, j, plan.policy[j], 0)
    return True


_improve = policy_improvement(_best_state, _backup, _follow)


def _learn(options, mdp, plan, model, setting, s, slot, cell, t):
    """Learn from an outcome; says whether the model has changed. The class of `options` says how."""
    return LEARNING[type(options)](options, mdp, plan, model, setting, s, slot, cell, t)


LEARNING = {RMax: _learn_rmax, Mbie: _learn_mbie, Ucrl2: _learn_ucrl2}


@overload(_learn, jit_options={"error_model": "numpy"})
def _choose_learning(options, mdp, plan, model, setting, s, slot, cell, t):
    return LEARNING[options.instance_class]


@runs_with(RMax)
@runs_with(Mbie)
@runs_with(Ucrl2)
def _run(mdp, options, setting, steps, stream, trace):
    model = _new_model(mdp, setting[GAMMA], options.largest)
    plan = new_plan(len(mdp.n_slots), len(mdp.slots), model.unknown)
    tolerance = 1e-9 * max(model.unknown, options.spread)
    s = reset(mdp, stream)
    age = 0
    result = 0.0
    for t in range(steps):
        slot = pick_best(plan.q[s], int(mdp.n_slots[s]), tolerance, uniform(stream))
        cell = sample_outcome(mdp, s, slot, stream)
        reward = mdp.reward[cell]
        result += reward
        record(trace, t, s, slot, reward, math.nan, plan.q[s, slot])
        changed = _learn(options, mdp, plan, model, setting, s, slot, cell, t)
        if changed and not _improve(mdp, plan, model, tolerance):
            return result, False
        s, age = advance(mdp, cell, age, stream)
    return result, True
