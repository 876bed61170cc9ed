"""E3 as Strehl & Littman (2008, section 6) ran it: explore while an unknown pair is within reach.

Two plans over the pairs tried at least m times: *exploit* (their rewards as seen, unknown pairs
worth nothing) and *explore* (no reward but 1 for reaching an unknown pair). The probability of
escape to an unknown pair, which they leave open, is here either the chance to get there within
`horizon` steps of the explore policy, or the discounted value of the explore plan.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
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
from countless.agents.tabular.kernels.ssr_counts import (
    ROUNDING,
    TRUE,
    count_outcome,
    new_ssr_counts,
    reading_of,
)

# Columns of the table of settings.
GAMMA, M, THRESHOLD, HORIZON, GAMMA_SSR = 0, 1, 2, 3, 4


class Options(NamedTuple):
    """What the settings of one kernel call share."""

    spread: float  # of the rewards


class OptionsBySSR(NamedTuple):
    """The same, with counts that are read off the norms of the SSR."""

    spread: float
    reading: int


class Problem(NamedTuple):
    """What one of the two plans is for: known pairs pay `payoff`, unknown ones are worth `unknown`."""

    counts: Counts
    known: NDArray[np.bool_]  # (S * A,)
    payoff: NDArray[np.float64]  # (S * A,)
    unknown: float
    gamma: float


@njit(forceinline=True, error_model="numpy")
def _backup(mdp, problem, value, i):
    """Q of a pair."""
    if not problem.known[i]:
        return problem.unknown
    depth = len(mdp.outcomes)
    future = 0.0
    for cell in range(i * depth, (i + 1) * depth):
        if not mdp.ends[cell]:
            future += problem.counts.outcome[cell] * value[mdp.next_state[cell]]
    return problem.payoff[i] + problem.gamma * future / problem.counts.pair[i]


@njit(error_model="numpy", cache=True)
def _follow(mdp, plan, problem, s, slot):
    """Let the plan's policy take `slot` in s."""
    depth = len(mdp.outcomes)
    i = s * len(mdp.slots) + slot
    plan.row[:] = 0.0
    if not problem.known[i]:
        set_row(plan, problem.gamma, s, slot, problem.unknown)
        return
    for cell in range(i * depth, (i + 1) * depth):
        if not mdp.ends[cell]:
            share = problem.counts.outcome[cell] / problem.counts.pair[i]
            plan.row[np.int64(mdp.next_state[cell])] += share
    set_row(plan, problem.gamma, s, slot, problem.payoff[i])


_improve = policy_improvement(_backup, _follow)


@njit(error_model="numpy", cache=True)
def _know(mdp, exploit, explore, rewards, unknown, i):
    """Pair i is known from now on, in both plans."""
    counts, width = rewards.counts, len(mdp.slots)
    rewards.known[i] = True
    rewards.payoff[i] = counts.reward[i] / counts.pair[i]
    s, slot = i // width, i % width
    if exploit.policy[s] == slot:
        _follow(mdp, exploit, rewards, s, slot)
    if explore.policy[s] == slot:
        _follow(mdp, explore, unknown, s, slot)


@njit(error_model="numpy", cache=True)
def _escape(mdp, plan, counts, known, horizon, reach, before):
    """reach(s): the chance that the explore policy tries an unknown pair within `horizon` steps."""
    width, depth = len(mdp.slots), len(mdp.outcomes)
    reach[:] = 0.0
    for _ in range(horizon):
        before[:] = reach
        for s in range(len(reach)):
            i = s * width + plan.policy[s]
            reach[s] = 1.0
            if known[i]:
                reach[s] = 0.0
                for cell in range(i * depth, (i + 1) * depth):
                    if not mdp.ends[cell]:
                        reach[s] += counts.outcome[cell] * before[mdp.next_state[cell]]
                reach[s] /= counts.pair[i]


@runs_with(Options)
@runs_with(OptionsBySSR)
def _run(mdp, options, setting, steps, stream, trace):
    states, width = len(mdp.n_slots), len(mdp.slots)
    gamma, m, threshold = setting[GAMMA], setting[M], setting[THRESHOLD]
    horizon = int(setting[HORIZON])
    coarse, fine = 1e-9 * options.spread / (1.0 - gamma), 1e-9
    counts, known = new_counts(mdp), np.zeros(states * width, dtype=np.bool_)
    rewards = Problem(counts, known, np.zeros(states * width), 0.0, gamma)
    unknown = Problem(counts, known, np.zeros(states * width), 1.0, gamma)
    exploit, explore = new_plan(states, width, 0.0), new_plan(states, width, 1.0)
    reach, before = np.ones(states), np.zeros(states)
    reading = reading_of(options)
    ssr = new_ssr_counts(mdp, reading)
    s = reset(mdp, stream)
    age = 0
    result = 0.0
    for t in range(steps):
        n = int(mdp.n_slots[s])
        escape = reach[s] if horizon > 0 else explore.value[s]
        u = uniform(stream)
        exploring = escape > threshold + fine
        if exploring:
            slot = pick_best(explore.q[s], n, fine, u)
        else:
            slot = pick_best(exploit.q[s], n, coarse, u)
        cell = sample_outcome(mdp, s, slot, stream)
        reward = mdp.reward[cell]
        result += reward
        value = explore.q[s, slot] if exploring else exploit.q[s, slot]
        i = s * width + slot
        norm = math.nan
        if reading != TRUE:
            norm = count_outcome(ssr, mdp, reading, setting[GAMMA_SSR], s, i, cell)
        record(trace, t, s, slot, reward, norm, value)
        if not known[i]:
            count_sample(counts, i, cell, reward)
        replan = False
        if reading == TRUE:
            if not known[i] and counts.pair[i] >= m:
                replan = True
                _know(mdp, exploit, explore, rewards, unknown, i)
        else:  # a new norm may change any count that is read off
            for j in range(states * width):
                if not known[j] and ssr.estimate[j] >= m * (1.0 - ROUNDING):
                    replan = True
                    _know(mdp, exploit, explore, rewards, unknown, j)
        if replan:
            if not (
                _improve(mdp, exploit, rewards, coarse) and _improve(mdp, explore, unknown, fine)
            ):
                return result, False
            _escape(mdp, explore, counts, known, horizon, reach, before)
        s, age = advance(mdp, cell, age, stream)
    return result, True
