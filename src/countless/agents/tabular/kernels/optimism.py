"""R-Max, MBIE, MBIE-EB and UCRL2: act greedily in an optimistic model.

Q(s, a) = R + bonus(n) + gamma max over T' with |T' - T|_1 <= radius(n) of sum T' V, where R and T are
the empirical model and n = n(s, a); a pair with too few samples is worth the most there can be.
(Strehl & Littman 2008, Eq. 6 and 8; for UCRL2, Jaksch, Ortner & Auer 2010, with a discount.)
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

# Which rule gives bonus and radius: known to the compiler by its length.
RMAX, MBIE, UCRL2 = (), (0,), (0, 0)
# Columns of the table of settings.
GAMMA, M, A, B, DELTA = 0, 1, 2, 3, 4


@njit(error_model="numpy", cache=True)
def optimistic(next_state, ends, count, cell, n, radius, value, best, mass):
    """Fill `mass` with T' over the outcomes of a pair; returns what T' gives to state `best` anew.

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
def _fill_row(model, count, cell, n, radius, value, best, mass, row):
    """T' of a pair as a row over the states."""
    gain = optimistic(model.next_state, model.ends, count, cell, n, radius, value, best, mass)
    row[:] = 0.0
    for k in range(len(model.outcomes)):
        if not model.ends[cell + k]:
            row[np.int64(model.next_state[cell + k])] += mass[k]
    row[best] += gain


@njit(error_model="numpy", cache=True)
def _improve(model, plan, gamma, count, visits, payoff, radius, known, top, tolerance, mass):
    """Policy iteration from where the plan stands; False if it does not settle."""
    width, depth = len(model.slots), len(model.outcomes)
    value, q = plan.value, plan.q
    n_slots, next_state, ends = model.n_slots, model.next_state, model.ends
    for _ in range(MOST_PASSES):
        best = value.argmax()
        settled = True
        for s in range(len(value)):
            high, choice = -math.inf, 0
            for slot in range(int(n_slots[s])):
                i = s * width + slot
                worth = top
                if known[i]:
                    future = 0.0
                    if radius[i] > 0.0:
                        future = _widened(
                            next_state,
                            ends,
                            count,
                            i * depth,
                            visits[i],
                            radius[i],
                            value,
                            best,
                            mass,
                        )
                    else:
                        for cell in range(i * depth, (i + 1) * depth):
                            if not ends[cell]:
                                future += count[cell] * value[next_state[cell]]
                        future /= visits[i]
                    worth = payoff[i] + gamma * future
                q[s, slot] = worth
                if worth > high:
                    high, choice = worth, slot
            if high > value[s] + tolerance:
                settled = False
                _take(
                    model, plan, gamma, s, choice, count, visits, payoff, radius, known, top, mass
                )
        if settled:
            return True
    return False


@njit(error_model="numpy", cache=True)
def _take(model, plan, gamma, s, slot, count, visits, payoff, radius, known, top, mass):
    """Let the plan's policy take `slot` in s."""
    i = s * len(model.slots) + slot
    if known[i]:
        best = plan.value.argmax()
        cell = i * len(model.outcomes)
        _fill_row(model, count, cell, visits[i], radius[i], plan.value, best, mass, plan.row)
        set_row(plan, gamma, s, slot, payoff[i])
    else:
        plan.row[:] = 0.0
        set_row(plan, gamma, s, slot, top)


@njit(error_model="numpy", cache=True)
def _widths(rule, setting, scale, states, actions, n, t):
    """Bonus and radius of a pair with n samples at time t."""
    if len(rule) == len(MBIE):
        return setting[A] * scale / math.sqrt(n), setting[B] / math.sqrt(n)
    if len(rule) == len(UCRL2):
        pairs = states * actions
        reward = math.sqrt(7.0 * math.log(2.0 * pairs * t / setting[DELTA]) / (2.0 * n))
        spread = math.sqrt(14.0 * states * math.log(2.0 * actions * t / setting[DELTA]) / n)
        return setting[A] * scale * reward, setting[B] * spread
    return 0.0, 0.0


@njit(error_model="numpy", cache=True)
def _run(model, rule, setting, scale, top, steps, stream, trace):
    """One run: its return, and whether planning always settled."""
    states, width, depth = len(model.n_slots), len(model.slots), len(model.outcomes)
    gamma = setting[GAMMA]
    least = setting[M] if len(rule) == len(RMAX) else 1.0
    tolerance = 1e-9 * max(top, scale)
    plan = new_plan(states, width, top)
    pairs = states * width
    count, mass = np.zeros(pairs * depth), np.zeros(depth)
    visits, total, payoff, radius = (
        np.zeros(pairs),
        np.zeros(pairs),
        np.zeros(pairs),
        np.zeros(pairs),
    )
    known = np.zeros(pairs, dtype=np.bool_)
    fresh = np.zeros(pairs)  # UCRL2: samples of the current epoch
    s = begin(model, stream)
    age = 0
    result = 0.0
    for t in range(steps):
        slot = pick_best(plan.q[s], int(model.n_slots[s]), tolerance, uniform(stream))
        cell = sample_outcome(model, s, slot, stream)
        reward = model.reward[cell]
        result += reward
        i = s * width + slot
        if len(trace) > 0:
            trace[t, 0], trace[t, 1], trace[t, 2], trace[t, 4] = s, slot, reward, plan.q[s, slot]
        replan = False
        if len(rule) == len(UCRL2):
            # Counts move at once, the model only when a pair's samples have doubled.
            fresh[i] += 1.0
            count[cell] += 1.0
            total[i] += reward
            if fresh[i] >= max(1.0, visits[i]):
                replan = True
                for j in range(pairs):
                    visits[j] += fresh[j]
                    fresh[j] = 0.0
                    if visits[j] > 0.0:
                        known[j] = True
                        extra, radius[j] = _widths(
                            rule, setting, scale, states, width, visits[j], t + 1.0
                        )
                        payoff[j] = total[j] / visits[j] + extra
                for j in range(states):
                    _take(
                        model, plan, gamma, j, plan.policy[j], count, visits, payoff, radius,
                        known, top, mass,
                    )  # fmt: skip
        elif visits[i] < least or len(rule) == len(MBIE):
            visits[i] += 1.0
            count[cell] += 1.0
            total[i] += reward
            if visits[i] >= least:
                replan = True
                known[i] = True
                extra, radius[i] = _widths(rule, setting, scale, states, width, visits[i], t + 1.0)
                payoff[i] = total[i] / visits[i] + extra
                if plan.policy[s] == slot:
                    _take(
                        model, plan, gamma, s, slot, count, visits, payoff, radius, known, top, mass
                    )
        if replan and not _improve(
            model, plan, gamma, count, visits, payoff, radius, known, top, tolerance, mass
        ):
            return result, False
        s, age = move_on(model, cell, age, stream)
    return result, True


@njit(error_model="numpy", nogil=True, cache=True)
def optimism(model, rule, settings, scale, steps, seed, keys, first_run, returns, trace):
    """returns[i, j]: run first_run + j of setting i. False where planning did not settle."""
    for i in range(returns.shape[0]):
        top = max(scale[1], 0.0) / (1.0 - settings[i, GAMMA])
        for j in range(returns.shape[1]):
            stream = open_stream(seed, keys[i], first_run + j)
            part = trace[j] if trace.shape[0] > 0 else np.empty((0, 5))
            returns[i, j], settled = _run(
                model, rule, settings[i], scale[0], top, steps, stream, part
            )
            if not settled:
                return False
    return True
