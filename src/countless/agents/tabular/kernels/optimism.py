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

from countless.agents.tabular.kernels.environment import advance, reset, sample_outcome, uniform
from countless.agents.tabular.kernels.planning import (
    MOST_PASSES,
    evaluate,
    new_plan,
    pick_best,
    set_row,
)
from countless.agents.tabular.kernels.run_loop import record, runs_with
from countless.agents.tabular.kernels.ssr_counts import (
    ROUNDING,
    TRUE,
    count_outcome,
    new_ssr_counts,
    reading_of,
)

# Columns of the table of settings.
GAMMA, M, A, B, DELTA, GAMMA_SSR = 0, 1, 2, 3, 4, 5
# Which rule gives bonus and radius.
RMAX, MBIE, UCRL2 = 0, 1, 2


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


class RMaxBySSR(NamedTuple):
    """R-Max whose counts are read off the norms of the SSR."""

    spread: float
    largest: float
    reading: int


class MbieEbBySSR(NamedTuple):
    """The same of MBIE-EB."""

    spread: float
    largest: float
    reading: int


RULES = {RMax: RMAX, Mbie: MBIE, Ucrl2: UCRL2, RMaxBySSR: RMAX, MbieEbBySSR: MBIE}


def rule_of(options):
    """The rule of an agent: a constant for the compiler, which leaves the others out."""
    return RULES[type(options)]


@overload(rule_of, inline="always")
def _choose_rule(options):
    rule = RULES[options.instance_class]
    return lambda options: rule


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


@njit(error_model="numpy", cache=True)
def _improve(mdp, plan, gamma, count, samples, payoff, radius, known, unknown, tolerance, mass):
    """Policy iteration from where the plan stands; False if it does not converge."""
    width, depth = len(mdp.slots), len(mdp.outcomes)
    value, q = plan.value, plan.q
    n_slots, next_state, ends = mdp.n_slots, mdp.next_state, mdp.ends
    for _ in range(MOST_PASSES):
        best = value.argmax()
        converged = True
        for s in range(len(value)):
            high, choice = -math.inf, 0
            for slot in range(int(n_slots[s])):
                i = s * width + slot
                worth = unknown
                if known[i]:
                    future = 0.0
                    if radius[i] > 0.0:
                        future = _widened(
                            next_state,
                            ends,
                            count,
                            i * depth,
                            samples[i],
                            radius[i],
                            value,
                            best,
                            mass,
                        )
                    else:
                        for cell in range(i * depth, (i + 1) * depth):
                            if not ends[cell]:
                                future += count[cell] * value[next_state[cell]]
                        future /= samples[i]
                    worth = payoff[i] + gamma * future
                q[s, slot] = worth
                if worth > high:
                    high, choice = worth, slot
            if high > value[s] + tolerance:
                converged = False
                _follow(
                    mdp,
                    plan,
                    gamma,
                    s,
                    choice,
                    count,
                    samples,
                    payoff,
                    radius,
                    known,
                    unknown,
                    mass,
                )
        if converged:
            return True
    return False


@njit(error_model="numpy", cache=True)
def _follow(mdp, plan, gamma, s, slot, count, samples, payoff, radius, known, unknown, mass):
    """Let the plan's policy take `slot` in s."""
    i = s * len(mdp.slots) + slot
    if known[i]:
        best = plan.value.argmax()
        cell = i * len(mdp.outcomes)
        _fill_row(mdp, count, cell, samples[i], radius[i], plan.value, best, mass, plan.row)
        set_row(plan, gamma, s, slot, payoff[i])
    else:
        plan.row[:] = 0.0
        set_row(plan, gamma, s, slot, unknown)


@njit(error_model="numpy", cache=True)
def _widths(rule, setting, scale, states, actions, n, t):
    """Bonus and radius of a pair with n samples at time t."""
    if rule == MBIE:
        return setting[A] * scale / math.sqrt(n), setting[B] / math.sqrt(n)
    if rule == UCRL2:
        pairs = states * actions
        reward = math.sqrt(7.0 * math.log(2.0 * pairs * t / setting[DELTA]) / (2.0 * n))
        spread = math.sqrt(14.0 * states * math.log(2.0 * actions * t / setting[DELTA]) / n)
        return setting[A] * scale * reward, setting[B] * spread
    return 0.0, 0.0


@njit(error_model="numpy", cache=True)
def _apply_counts(
    rule, setting, scale, mdp, plan, i, estimate, count, samples, total, payoff, radius, known,
    unknown, least, mass,
):  # fmt: skip
    """Let the plan follow counts that were read off anew after a sample of pair i.

    Any count may have changed. True where that calls for better actions to be looked for.
    A function of its own on purpose: as part of `_run` the compiled loop lost writes to `payoff`,
    which the plain twins in the tests bring to light.
    """
    gamma, states, width = setting[GAMMA], len(mdp.n_slots), len(mdp.slots)
    replan = rule == MBIE
    for j in range(states * width):
        if rule == RMAX and known[j]:
            continue  # for good, and its model stays as it is
        enough = estimate[j] >= least * (1.0 - ROUNDING)
        changed = enough != known[j]
        known[j] = enough
        if enough:
            extra, _ = _widths(rule, setting, scale, states, width, estimate[j], 0.0)
            payoff[j] = total[j] / samples[j] + extra
        replan = replan or changed
        s, slot = j // width, j % width
        if plan.policy[s] == slot and (changed or j == i):
            _follow(mdp, plan, gamma, s, slot, count, samples, payoff, radius, known, unknown, mass)
    if rule == MBIE:
        for s in range(states):
            j = s * width + plan.policy[s]
            plan.reward[s] = payoff[j] if known[j] else unknown
        evaluate(plan, gamma)
    return replan


@runs_with(RMax)
@runs_with(Mbie)
@runs_with(Ucrl2)
@runs_with(RMaxBySSR)
@runs_with(MbieEbBySSR)
def _run(mdp, options, setting, steps, stream, trace):
    rule, scale, largest = rule_of(options), options.spread, options.largest
    reading = reading_of(options)
    states, width, depth = len(mdp.n_slots), len(mdp.slots), len(mdp.outcomes)
    gamma = setting[GAMMA]
    unknown = max(largest, 0.0) / (1.0 - gamma)
    least = setting[M] if rule == RMAX else 1.0
    tolerance = 1e-9 * max(unknown, scale)
    plan = new_plan(states, width, unknown)
    pairs = states * width
    count, mass = np.zeros(pairs * depth), np.zeros(depth)
    samples, total, payoff, radius = (
        np.zeros(pairs),
        np.zeros(pairs),
        np.zeros(pairs),
        np.zeros(pairs),
    )
    known = np.zeros(pairs, dtype=np.bool_)
    new_samples = np.zeros(pairs)  # UCRL2: samples of the current epoch
    ssr = new_ssr_counts(mdp, reading)
    s = reset(mdp, stream)
    age = 0
    result = 0.0
    for t in range(steps):
        slot = pick_best(plan.q[s], int(mdp.n_slots[s]), tolerance, uniform(stream))
        cell = sample_outcome(mdp, s, slot, stream)
        reward = mdp.reward[cell]
        result += reward
        i = s * width + slot
        norm = math.nan
        if reading != TRUE:
            norm = count_outcome(ssr, mdp, reading, setting[GAMMA_SSR], s, i, cell)
        record(trace, t, s, slot, reward, norm, plan.q[s, slot])
        replan = False
        if reading != TRUE:
            # Any pair's count may change, not only that of the pair just tried.
            if rule == MBIE or not known[i]:
                samples[i] += 1.0
                count[cell] += 1.0
                total[i] += reward
            replan = _apply_counts(
                rule, setting, scale, mdp, plan, i, ssr.estimate, count, samples, total, payoff,
                radius, known, unknown, least, mass,
            )  # fmt: skip
        elif rule == UCRL2:
            # Counts move at once, the mdp only when a pair's samples have doubled.
            new_samples[i] += 1.0
            count[cell] += 1.0
            total[i] += reward
            if new_samples[i] >= max(1.0, samples[i]):
                replan = True
                for j in range(pairs):
                    samples[j] += new_samples[j]
                    new_samples[j] = 0.0
                    if samples[j] > 0.0:
                        known[j] = True
                        extra, radius[j] = _widths(
                            rule, setting, scale, states, width, samples[j], t + 2.0
                        )
                        # The rewards of a plausible MDP are at most Rmax too.
                        payoff[j] = min(total[j] / samples[j] + extra, largest)
                for j in range(states):
                    _follow(
                        mdp, plan, gamma, j, plan.policy[j], count, samples, payoff, radius,
                        known, unknown, mass,
                    )  # fmt: skip
        elif samples[i] < least or rule == MBIE:
            samples[i] += 1.0
            count[cell] += 1.0
            total[i] += reward
            if samples[i] >= least:
                replan = True
                known[i] = True
                extra, radius[i] = _widths(rule, setting, scale, states, width, samples[i], t + 1.0)
                payoff[i] = total[i] / samples[i] + extra
                if plan.policy[s] == slot:
                    _follow(
                        mdp,
                        plan,
                        gamma,
                        s,
                        slot,
                        count,
                        samples,
                        payoff,
                        radius,
                        known,
                        unknown,
                        mass,
                    )
        if replan and not _improve(
            mdp, plan, gamma, count, samples, payoff, radius, known, unknown, tolerance, mass
        ):
            return result, False
        s, age = advance(mdp, cell, age, stream)
    return result, True
